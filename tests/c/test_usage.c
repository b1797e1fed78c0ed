// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How busy a device has been and who uses it: USAGE and PROCESSES.
 */
#include "rig.h"

#define MS 1000000ULL
#define MORE 3 /* contexts than one answer holds */

static struct fgpu_device *device;

static struct fakegpu_usage usage_of(struct program *program)
{
	struct fakegpu_usage usage = {0};

	if (call(program, FAKEGPU_IOC_USAGE, &usage))
		fail(__FILE__, __LINE__, "USAGE");
	return usage;
}

static struct fakegpu_processes processes_of(struct program *program, uint32_t after)
{
	struct fakegpu_processes list = {.after = after};

	if (call(program, FAKEGPU_IOC_PROCESSES, &list))
		fail(__FILE__, __LINE__, "PROCESSES");
	return list;
}

static void start_delay(struct ring *ring, uint64_t ns, uint64_t seqno)
{
	ring_delay(ring, ns);
	ring_fence(ring, seqno);
	ring_bell(ring);
	fgpu_engine_step(device);
}

static void busy_is_the_time_with_work(void)
{
	struct fakegpu_usage before, after;
	struct program *program;
	struct ring ring;

	device = device_new(0, 1);
	program = gpu_open(device);
	ring = ring_new(program, 4096);
	before = usage_of(program);
	fake_now += 100 * MS; /* at rest */
	CHECK_EQ(usage_of(program).busy_ns, before.busy_ns);
	start_delay(&ring, 40 * MS, 1);
	fake_now += 10 * MS;
	CHECK_EQ(usage_of(program).busy_ns - before.busy_ns, 10 * MS); /* under way */
	CHECK_EQ(processes_of(program, 0).entries[0].busy_ns, 10 * MS);
	settle(device);
	fake_now += 60 * MS;
	after = usage_of(program);
	CHECK_EQ(after.busy_ns - before.busy_ns, 40 * MS);
	CHECK_EQ(after.now_ns - before.now_ns, 200 * MS);
	CHECK_EQ(after.jobs - before.jobs, 1);
	CHECK_EQ(processes_of(program, 0).entries[0].busy_ns, 40 * MS);
	program_close(program);
	fgpu_device_destroy(device);
}

/* Both had work all the time, and the engine's time was the one's or the other's. */
static void contexts_share_the_time(void)
{
	struct fakegpu_processes list;
	struct program *a, *b;
	struct ring ra, rb;
	uint64_t sum;

	device = device_new(0, 1);
	a = gpu_open(device);
	b = gpu_open(device);
	ra = ring_new(a, 4096);
	rb = ring_new(b, 4096);
	start_delay(&ra, 60 * MS, 1);
	start_delay(&rb, 30 * MS, 1);
	settle(device);
	list = processes_of(a, 0);
	CHECK_EQ(list.count, 2);
	CHECK_EQ(list.entries[0].busy_ns, 60 * MS);
	CHECK_EQ(list.entries[1].busy_ns, 30 * MS);
	sum = list.entries[0].busy_ns + list.entries[1].busy_ns;
	CHECK_EQ(usage_of(a).busy_ns, sum);
	program_close(a);
	program_close(b);
	fgpu_device_destroy(device);
}

/* Work that is dropped ends the busy time, and counts up to then. */
static void closing_ends_it(void)
{
	struct program *program, *other;
	struct ring ring;

	device = device_new(0, 1);
	other = gpu_open(device);
	program = gpu_open(device);
	ring = ring_new(program, 4096);
	start_delay(&ring, 40 * MS, 1);
	fake_now += 15 * MS;
	program_close(program);
	fake_now += 50 * MS;
	CHECK_EQ(usage_of(other).busy_ns, 15 * MS);
	program_close(other);
	fgpu_device_destroy(device);
}

static void a_hang_is_busy(void)
{
	struct fakegpu_packet_delay delay = delay_packet(1);
	struct program *program;
	uint32_t channel;
	char why[128];

	device = device_new(0, 1);
	program = gpu_open(device);
	channel = channel_new(program);
	CHECK_EQ(fgpu_fault_set(device, "hang", why, sizeof(why)), 0);
	CHECK_EQ(submit(program, channel, &delay, sizeof(delay), NULL), 0);
	fgpu_engine_step(device);
	fake_now += 1000 * MS;
	CHECK_EQ(usage_of(program).busy_ns, 1000 * MS);
	settle(device);
	CHECK_EQ(ctx_info(program).xid, 109);
	CHECK_EQ(usage_of(program).busy_ns, 5000 * MS); /* poisoned: still answers */
	CHECK_EQ(processes_of(program, 0).entries[0].xid, 109);
	program_close(program);
	fgpu_device_destroy(device);
}

static void processes_are_told_a_few_at_a_time(void)
{
	struct program *programs[FAKEGPU_PROCESSES_MAX + MORE], ctl = {0};
	struct fakegpu_processes list;
	uint32_t i, seen = 0, last = 0;

	device = device_new(0, 1);
	CHECK_EQ(program_open(device, FGPU_NODE_CTL, &ctl), 0); /* no context of the GPU */
	for (i = 0; i < FAKEGPU_PROCESSES_MAX + MORE; i++)
		programs[i] = gpu_open(device);
	buffer_new(programs[1], 8192);
	channel_new(programs[1]);
	do {
		list = processes_of(programs[0], last);
		CHECK_EQ(list.after, last);
		CHECK_EQ(list.more, FAKEGPU_PROCESSES_MAX + MORE - seen - list.count);
		for (i = 0; i < list.count; i++, seen++) {
			CHECK(list.entries[i].context > last);
			last = list.entries[i].context;
			CHECK_EQ(last, ctx_info(programs[seen]).id);
			CHECK_EQ(list.entries[i].pid, PID);
			CHECK_EQ(list.entries[i].bytes, seen == 1 ? 8192 : 0);
			CHECK_EQ(list.entries[i].channels, seen == 1 ? 1 : 0);
			CHECK(!strcmp(list.entries[i].name, "app"));
		}
	} while (list.more);
	CHECK_EQ(seen, FAKEGPU_PROCESSES_MAX + MORE);
	CHECK_EQ(processes_of(programs[0], last).count, 0);
	CHECK_EQ(call(&ctl, FAKEGPU_IOC_PROCESSES, &list), -ENOTTY);
	for (i = 0; i < FAKEGPU_PROCESSES_MAX + MORE; i++)
		program_close(programs[i]);
	fgpu_context_close(ctl.context);
	fgpu_device_destroy(device);
}

SUITE(test_usage, TEST(busy_is_the_time_with_work), TEST(contexts_share_the_time),
      TEST(closing_ends_it), TEST(a_hang_is_busy), TEST(processes_are_told_a_few_at_a_time));
