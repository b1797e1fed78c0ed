// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Poison and injected faults: who notices, who does not, what the log says.
 */
#include "rig.h"

#define SECOND 1000000000ULL

static struct fgpu_device *device;
static struct program *program;
static struct ring ring;
static char text[512];

static void set_up(void)
{
	device = device_new(0, 1);
	program = gpu_open(device);
	ring = ring_new(program, 4096);
}

static void tear_down(void)
{
	program_close(program);
	fgpu_device_destroy(device);
}

static void set(const char *spec)
{
	char why[128] = "";

	if (fgpu_fault_set(device, spec, why, sizeof(why)))
		fail(__FILE__, __LINE__, "%s refused: %s", spec, why);
}

static const char *list(void)
{
	fgpu_fault_list(device, text, sizeof(text));
	return text;
}

static void job(struct ring *at)
{
	ring_fence(at, at->wptr / 16 + 1);
	ring_bell(at);
	settle(device);
}

static void poison_stays_in_its_context(void)
{
	struct program *other = gpu_open((set_up(), device));
	struct ring neighbour = ring_new(other, 4096), sibling = ring_new(program, 4096);
	struct fakegpu_packet_fault fault = fault_packet(13);
	uint32_t channel = channel_new(program), buffer = buffer_new(program, 4096);
	struct fakegpu_wait wait = {.channel = channel, .seqno = 1, .deadline_ns = UINT64_MAX};
	struct fakegpu_packet_delay delay = delay_packet(SECOND);
	struct fakegpu_alloc alloc = {.size = 1};
	struct fakegpu_map map = {.handle = buffer};
	struct fakegpu_channel_create create = {0};
	struct fakegpu_channel_destroy destroy = {.handle = channel};
	struct fakegpu_info info = {0};
	struct fakegpu_free drop = {.handle = buffer};

	CHECK_EQ(submit(program, channel, &delay, sizeof(delay), NULL), 0);
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EINPROGRESS);
	ring_fence(&ring, 1);
	ring_put(&ring, &fault);
	ring_fence(&ring, 2);
	ring_bell(&ring);
	job(&neighbour);
	CHECK_EQ(ring.slot->error, 13);
	CHECK_EQ(sibling.slot->error, 13);
	CHECK_EQ(fence_slot(program, 2)->error, 13); /* the SUBMIT channel's */
	CHECK_EQ(fence_slot(program, 3)->error, 0);  /* no channel there */
	CHECK_EQ(ring.slot->seqno, 1);
	CHECK_EQ(completion(program, completions(program) - 1)->status, 13);
	CHECK_EQ(record.last[FGPU_EVENT_LOG].xid, 13);
	CHECK_EQ(record.last[FGPU_EVENT_LOG].level, 3);
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EIO);
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), -EIO);
	CHECK_EQ(call(program, FAKEGPU_IOC_MAP, &map), -EIO);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create), -EIO);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), -EIO);
	CHECK_EQ(submit(program, channel, &delay, sizeof(delay), NULL), -EIO);
	CHECK_EQ(call(program, FAKEGPU_IOC_INFO, &info), 0);
	CHECK_EQ(ctx_info(program).xid, 13);
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	job(&sibling); /* a doorbell nobody looks at */
	CHECK_EQ(sibling.slot->doorbells, 0);

	CHECK_EQ(neighbour.slot->seqno, 1);
	CHECK_EQ(neighbour.slot->error, 0);
	CHECK_EQ(ctx_info(other).poisoned, 0);
	CHECK_EQ(call(other, FAKEGPU_IOC_ALLOC, &alloc), 0);
	job(&neighbour);
	CHECK_EQ(neighbour.slot->seqno, 2);
	program_close(other);
	tear_down();
}

static void xid_hits_the_next_job(void)
{
	set_up();
	job(&ring);
	set("xid=43");
	CHECK(!strcmp(list(), "xid=43\n"));
	job(&ring);
	CHECK_EQ(ring.slot->error, 43);
	CHECK_EQ(ring.slot->seqno, 1);
	CHECK(!strcmp(last_log(), "FGPU: Xid (PCI:0000:01:00): 43, pid=4242, name=app, "
				  "Ch 00000000"));
	CHECK(!strcmp(list(), ""));
	CHECK_EQ(completion(program, 1)->seqno, 2);
	CHECK_EQ(completion(program, 1)->status, 43);
	tear_down();
}

static void ecc_is_contained(void)
{
	set_up();
	set("ecc");
	job(&ring);
	CHECK_EQ(ring.slot->error, 94);
	CHECK(strstr(last_log(), "): 94, pid=4242, name=app, Ch 00000000, Contained"));
	tear_down();
}

static void after_and_count_are_counted(void)
{
	struct program *others[3];
	struct ring rings[3];
	int i;

	set_up();
	set("xid=31,after=2,count=2");
	for (i = 0; i < 3; i++) {
		others[i] = gpu_open(device);
		rings[i] = ring_new(others[i], 4096);
	}
	job(&ring);
	CHECK(!strcmp(list(), "xid=31,after=1,count=2\n"));
	job(&ring);
	CHECK(!strcmp(list(), "xid=31,count=2\n"));
	CHECK_EQ(ring.slot->error, 0);
	for (i = 0; i < 3; i++)
		job(&rings[i]);
	CHECK_EQ(rings[0].slot->error, 31);
	CHECK_EQ(rings[1].slot->error, 31);
	CHECK_EQ(rings[2].slot->error, 0);
	CHECK_EQ(fgpu_fault_list(device, text, sizeof(text)), 0);
	for (i = 0; i < 3; i++)
		program_close(others[i]);
	tear_down();
}

static void ctx_names_the_victim(void)
{
	struct program *other;
	struct ring theirs;
	char spec[32];

	set_up();
	other = gpu_open(device);
	theirs = ring_new(other, 4096);
	snprintf(spec, sizeof(spec), "xid=31,ctx=%u", fgpu_context_id(other->context));
	set(spec);
	job(&ring);
	CHECK_EQ(ring.slot->error, 0);
	job(&theirs);
	CHECK_EQ(theirs.slot->error, 31);
	program_close(other);
	tear_down();
}

static void count_0_lasts_until_cleared(void)
{
	uint64_t begin;
	int i;

	set_up();
	set("slow=1000,count=0");
	for (i = 0; i < 5; i++) {
		begin = fake_now;
		job(&ring);
		CHECK_EQ(fake_now - begin, 1000);
	}
	CHECK(!strcmp(list(), "slow=1000,count=0\n"));
	fgpu_fault_clear(device);
	begin = fake_now;
	job(&ring);
	CHECK_EQ(fake_now, begin);
	tear_down();
}

static void slow_takes_longer_for_submits_too(void)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 8};
	uint32_t channel;
	uint64_t begin;

	set_up();
	channel = channel_new(program);
	set("slow=5000");
	begin = fake_now;
	CHECK_EQ(submit(program, channel, &nop, 8, NULL), 0);
	settle(device);
	CHECK_EQ(fake_now - begin, 5000);
	CHECK_EQ(wait_for(program, channel, 1, 0), 0);
	tear_down();
}

static void off_bus_takes_the_device_away(void)
{
	struct program ctl = {0}, late = {0};
	struct fakegpu_info info = {0};
	struct fakegpu_wait wait = {.seqno = 9, .deadline_ns = UINT64_MAX};
	uint64_t kicks;

	set_up();
	CHECK_EQ(program_open(device, FGPU_NODE_CTL, &ctl), 0);
	wait.channel = ring.handle;
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EINPROGRESS);
	kicks = record.kicks;
	set("off-bus");
	CHECK(record.kicks > kicks);
	CHECK(!strcmp(last_log(), "FGPU: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."));
	CHECK(!strcmp(list(), "off-bus\n"));
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 0);
	CHECK(fgpu_engine_step(device) == UINT64_MAX);
	CHECK(!fgpu_engine_polls(device));
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -ENODEV);
	CHECK_EQ(call(program, FAKEGPU_IOC_INFO, &info), -ENODEV);
	CHECK_EQ(program_open(device, FGPU_NODE_GPU, &late), -ENODEV);
	CHECK(!late.backing.ranges);
	CHECK_EQ(call(&ctl, FAKEGPU_IOC_INFO, &info), 0);
	fgpu_fault_clear(device);
	CHECK(!strcmp(list(), ""));
	CHECK_EQ(call(program, FAKEGPU_IOC_INFO, &info), 0);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 1);
	fgpu_context_close(ctl.context);
	tear_down();
}

static void off_bus_can_come_later(void)
{
	set_up();
	set("off-bus,after=1");
	CHECK_EQ(record.events[FGPU_EVENT_LOG], 0);
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 1);
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 1);
	CHECK(strstr(last_log(), "): 79,"));
	fgpu_fault_clear(device);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 2);
	CHECK_EQ(ctx_info(program).submits, 2);
	tear_down();
}

static void a_hang_ends_in_xid_109(void)
{
	struct program *other;
	struct ring theirs;
	uint64_t begin;

	set_up();
	other = gpu_open(device);
	theirs = ring_new(other, 4096);
	set("hang");
	begin = fake_now;
	ring_fence(&ring, 1);
	ring_bell(&ring);
	CHECK_EQ(fgpu_engine_step(device), begin + 5 * SECOND);
	fake_now = begin + 5 * SECOND - 1;
	ring_fence(&theirs, 1);
	ring_bell(&theirs);
	CHECK_EQ(fgpu_engine_step(device), begin + 5 * SECOND);
	CHECK_EQ(theirs.slot->doorbells, 1); /* seen, but the engine stands */
	CHECK_EQ(theirs.slot->seqno, 0);
	CHECK_EQ(record.events[FGPU_EVENT_LOG], 0);
	fake_now++;
	settle(device);
	CHECK_EQ(ring.slot->error, 109);
	CHECK(strstr(last_log(),
		     "): 109, pid=4242, name=app, Ch 00000000, errorString CTX SWITCH"));
	CHECK_EQ(theirs.slot->seqno, 1);
	CHECK_EQ(theirs.slot->error, 0);
	program_close(other);
	tear_down();
}

static void closing_or_clearing_ends_a_hang(void)
{
	struct program *other;
	struct ring theirs;

	set_up();
	other = gpu_open(device);
	theirs = ring_new(other, 4096);
	set("hang");
	ring_fence(&theirs, 1);
	ring_bell(&theirs);
	fgpu_engine_step(device);
	ring_fence(&ring, 1);
	ring_bell(&ring);
	fgpu_engine_step(device);
	CHECK_EQ(ring.slot->seqno, 0);
	program_close(other);
	CHECK(fgpu_engine_step(device) != fake_now + 5 * SECOND);
	CHECK_EQ(ring.slot->seqno, 1);
	set("hang");
	ring_fence(&ring, 2);
	ring_bell(&ring);
	fgpu_engine_step(device);
	CHECK_EQ(ring.slot->seqno, 1);
	fgpu_fault_clear(device);
	fgpu_engine_step(device);
	CHECK_EQ(ring.slot->seqno, 2); /* the job goes on */
	CHECK_EQ(record.events[FGPU_EVENT_LOG], 0);
	tear_down();
}

static void a_doorbell_can_be_lost(void)
{
	set_up();
	set("lost-doorbell");
	job(&ring);
	CHECK_EQ(ring.slot->doorbells, 0);
	CHECK_EQ(ring.slot->seqno, 0);
	CHECK_EQ(fgpu_fault_list(device, text, sizeof(text)), 0);
	job(&ring); /* the next one brings both */
	CHECK_EQ(ring.slot->doorbells, 1);
	CHECK_EQ(ring.slot->seqno, 2);
	tear_down();
}

static void a_fence_can_stay_silent(void)
{
	set_up();
	set("no-fence");
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 0);
	CHECK_EQ(ring.slot->rptr, ring.wptr);
	CHECK_EQ(ring.slot->jobs, 1);
	CHECK_EQ(completions(program), 1);
	CHECK_EQ(wait_for(program, ring.handle, 1, 0), -ETIME);
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 2);
	CHECK_EQ(wait_for(program, ring.handle, 1, 0), 0);
	tear_down();
}

static void the_firmware_can_be_silent(void)
{
	struct fakegpu_alloc alloc = {.size = 1}, bad = {.size = 0};
	struct fakegpu_channel_create create = {0};
	struct fgpu_context *context;

	set_up();
	context = program->context;
	CHECK_EQ(fgpu_ioctl_delay(context, FAKEGPU_IOC_ALLOC), 0);
	set("fw-timeout,count=2");
	CHECK_EQ(fgpu_ioctl_delay(context, FAKEGPU_IOC_INFO), 0);
	CHECK_EQ(fgpu_ioctl_delay(context, FAKEGPU_IOC_ALLOC), SECOND);
	CHECK_EQ(fgpu_ioctl_delay(context, FAKEGPU_IOC_CHANNEL_CREATE), SECOND);
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &bad), -EINVAL);
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), -EIO);
	CHECK(!strcmp(last_log(),
		      "FGPU: Xid (PCI:0000:01:00): 119, pid=4242, name=app, Timeout waiting for "
		      "RPC from GSP! Expected function 103 (GSP_RM_ALLOC) (0x3 0x10)."));
	job(&ring);
	CHECK_EQ(ring.slot->seqno, 1); /* no job is hit */
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create), -EIO);
	CHECK_EQ(ctx_info(program).channels, 1);
	CHECK_EQ(ctx_info(program).poisoned, 0);
	CHECK_EQ(fgpu_ioctl_delay(context, FAKEGPU_IOC_ALLOC), 0);
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), 0);
	tear_down();
}

/* Two at once: each is counted, one ends the job, the other waits for the next. */
static void faults_add_up(void)
{
	uint64_t begin;

	set_up();
	set("slow=100");
	set("slow=200");
	set("no-fence");
	begin = fake_now;
	job(&ring);
	CHECK_EQ(fake_now - begin, 300);
	CHECK_EQ(ring.slot->seqno, 0);
	set("xid=31,after=1");
	set("xid=13");
	job(&ring);
	CHECK_EQ(ring.slot->error, 13);
	CHECK(!strcmp(list(), "xid=31\n"));
	tear_down();
}

SUITE(test_faults, TEST(poison_stays_in_its_context), TEST(xid_hits_the_next_job),
      TEST(ecc_is_contained), TEST(after_and_count_are_counted), TEST(ctx_names_the_victim),
      TEST(count_0_lasts_until_cleared), TEST(slow_takes_longer_for_submits_too),
      TEST(off_bus_takes_the_device_away), TEST(off_bus_can_come_later),
      TEST(a_hang_ends_in_xid_109), TEST(closing_or_clearing_ends_a_hang),
      TEST(a_doorbell_can_be_lost), TEST(a_fence_can_stay_silent), TEST(the_firmware_can_be_silent),
      TEST(faults_add_up));
