// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: order, times, waits, and how it is shared.
 */
#include "rig.h"

#define MS 1000000ULL

static struct fgpu_device *device;

static uint64_t jobs_of(struct program *program)
{
	return ctx_info(program).completions;
}

static void jobs_end_in_order_and_times_do_not_go_back(void)
{
	const struct fakegpu_completion *entry;
	struct program *program;
	struct ring rings[3];
	uint64_t seqno[32] = {0}, n, done = 0;
	int i, r;

	device = device_new(0, 1);
	fake_tick = 17;
	program = gpu_open(device);
	for (r = 0; r < 3; r++)
		rings[r] = ring_new(program, 8192);
	for (i = 1; i <= 150; i++)
		for (r = 0; r < 3; r++) {
			ring_delay(&rings[r], (uint64_t)(i % 7) * 300);
			ring_fence(&rings[r], (uint64_t)i * 2);
			ring_bell(&rings[r]);
			if (i % 5 == r)
				fgpu_engine_step(device);
		}
	settle(device);
	CHECK_EQ(completions(program), 450);
	for (n = 0; n < 450; n++) {
		entry = completion(program, n);
		CHECK(entry->queued_ns && entry->queued_ns <= entry->start_ns);
		CHECK(entry->start_ns <= entry->done_ns);
		CHECK(entry->done_ns >= done);
		CHECK_EQ(entry->seqno, seqno[entry->channel] + 2);
		seqno[entry->channel] = entry->seqno;
		done = entry->done_ns;
	}
	for (r = 0; r < 3; r++) {
		CHECK_EQ(rings[r].slot->seqno, 300);
		CHECK_EQ(rings[r].slot->jobs, 150);
		CHECK(rings[r].slot->done_ns <= done);
	}
	program_close(program);
	fgpu_device_destroy(device);
}

/* Jobs of two doorbells: each counts from its own. */
static void queued_is_when_the_doorbell_was_seen(void)
{
	struct program *program;
	struct ring ring;

	device = device_new(0, 1);
	program = gpu_open(device);
	ring = ring_new(program, 4096);
	ring_delay(&ring, 5 * MS);
	ring_fence(&ring, 1);
	ring_fence(&ring, 2);
	ring_bell(&ring);
	fake_now = 1 * MS;
	fgpu_engine_step(device);
	ring_fence(&ring, 3);
	ring_bell(&ring);
	fake_now = 2 * MS;
	fgpu_engine_step(device);
	settle(device);
	CHECK_EQ(completions(program), 3);
	CHECK_EQ(completion(program, 0)->queued_ns, 1 * MS);
	CHECK_EQ(completion(program, 1)->queued_ns, 1 * MS);
	CHECK_EQ(completion(program, 2)->queued_ns, 2 * MS);
	CHECK_EQ(completion(program, 2)->start_ns, 6 * MS);
	program_close(program);
	fgpu_device_destroy(device);
}

static void a_delay_holds_the_engine(void)
{
	struct program *program;
	struct ring ring;
	uint64_t begin;

	device = device_new(0, 1);
	program = gpu_open(device);
	ring = ring_new(program, 4096);
	begin = fake_now;
	ring_delay(&ring, 250 * MS);
	ring_fence(&ring, 1);
	ring_bell(&ring);
	CHECK_EQ(fgpu_engine_step(device), begin + 250 * MS);
	CHECK_EQ(fgpu_engine_step(device), begin + 250 * MS);
	fake_now = begin + 250 * MS - 1;
	CHECK_EQ(fgpu_engine_step(device), begin + 250 * MS);
	CHECK_EQ(ring.slot->seqno, 0);
	fake_now++;
	settle(device);
	CHECK_EQ(ring.slot->seqno, 1);
	CHECK_EQ(completion(program, 0)->done_ns - completion(program, 0)->start_ns, 250 * MS);
	program_close(program);
	fgpu_device_destroy(device);
}

static void a_long_delay_gives_way(void)
{
	struct program *a, *b;
	struct ring slow, fast;
	uint64_t begin;

	device = device_new(0, 1);
	a = gpu_open(device);
	b = gpu_open(device);
	slow = ring_new(a, 4096);
	fast = ring_new(b, 4096);
	begin = fake_now;
	ring_delay(&slow, 1000 * MS);
	ring_fence(&slow, 1);
	ring_bell(&slow);
	fgpu_engine_step(device);
	fake_now += 100 * MS;
	ring_fence(&fast, 1);
	ring_bell(&fast);
	run_until(device, begin + 103 * MS);
	CHECK_EQ(fast.slot->seqno, 1);
	CHECK_EQ(slow.slot->seqno, 0);
	settle(device);
	CHECK_EQ(slow.slot->seqno, 1);
	CHECK_EQ(fake_now, begin + 1000 * MS); /* the other job took no time */
	program_close(a);
	program_close(b);
	fgpu_device_destroy(device);
}

static void a_delay_is_cut_short_when_others_wait(void)
{
	struct program *program;
	struct ring a, b;
	uint64_t begin;

	device = device_new(0, 1);
	program = gpu_open(device);
	a = ring_new(program, 4096);
	b = ring_new(program, 4096);
	begin = fake_now;
	ring_delay(&a, 10 * MS);
	ring_delay(&b, 10 * MS);
	ring_bell(&a);
	ring_bell(&b);
	CHECK_EQ(fgpu_engine_step(device), begin + 1 * MS);
	fake_now = begin + 1 * MS;
	CHECK_EQ(fgpu_engine_step(device), begin + 2 * MS);
	program_close(program);
	fgpu_device_destroy(device);
}

/* Fill every ring up with jobs that take `delay_ns`. */
static void keep_busy(struct ring *rings, int count, uint64_t *seqno, uint64_t delay_ns)
{
	int i;

	for (i = 0; i < count; i++)
		while (rings[i].wptr - rings[i].slot->rptr < rings[i].size - 128) {
			ring_delay(&rings[i], delay_ns);
			ring_fence(&rings[i], ++seqno[i]);
			ring_bell(&rings[i]);
		}
}

static void check_share(uint64_t delay_ns)
{
	struct program *one, *many;
	struct ring single, ten[10];
	uint64_t a = 0, b[10] = {0}, wake;
	double share;
	int i;

	device = device_new(0, 1);
	one = gpu_open(device);
	many = gpu_open(device);
	single = ring_new(one, 4096);
	for (i = 0; i < 10; i++)
		ten[i] = ring_new(many, 4096);
	for (i = 0; i < 20000; i++) {
		keep_busy(&single, 1, &a, delay_ns);
		keep_busy(ten, 10, b, delay_ns);
		wake = fgpu_engine_step(device);
		if (wake > fake_now)
			fake_now = wake;
	}
	share = (double)jobs_of(one) / (double)(jobs_of(one) + jobs_of(many));
	if (share < 0.48 || share > 0.52)
		fail(__FILE__, __LINE__, "one channel against ten got %.3f of the engine", share);
	for (i = 1; i < 10; i++)
		if (ten[i].slot->jobs * 10 < ten[0].slot->jobs * 9 ||
		    ten[0].slot->jobs * 10 < ten[i].slot->jobs * 9)
			fail(__FILE__, __LINE__, "channel %d had %llu jobs, channel 0 %llu", i,
			     (unsigned long long)ten[i].slot->jobs,
			     (unsigned long long)ten[0].slot->jobs);
	program_close(one);
	program_close(many);
	fgpu_device_destroy(device);
}

static void contexts_share_small_jobs(void)
{
	check_share(0);
}

static void contexts_share_delays(void)
{
	check_share(50000);
}

/* One context runs short jobs, the other long ones: it is time that is shared. */
static void time_is_shared_not_jobs(void)
{
	struct program *a, *b;
	struct ring shorts, longs;
	uint64_t x = 0, y = 0;
	double ratio;

	device = device_new(0, 1);
	a = gpu_open(device);
	b = gpu_open(device);
	shorts = ring_new(a, 4096);
	longs = ring_new(b, 4096);
	while (fake_now < 2000 * MS) {
		keep_busy(&shorts, 1, &x, 100000);
		keep_busy(&longs, 1, &y, 7 * MS);
		run_until(device, fake_now + MS / 2);
	}
	ratio = (double)shorts.slot->jobs * 0.1 / ((double)longs.slot->jobs * 7);
	if (ratio < 0.95 || ratio > 1.05)
		fail(__FILE__, __LINE__, "time was shared %.3f to 1", ratio);
	program_close(a);
	program_close(b);
	fgpu_device_destroy(device);
}

/* Who slept does not come back with a claim on all the time it did not use. */
static void sleeping_earns_no_credit(void)
{
	struct program *busy, *sleeper;
	struct ring a, b;
	uint64_t x = 0, y = 0, before;

	device = device_new(0, 1);
	busy = gpu_open(device);
	sleeper = gpu_open(device);
	a = ring_new(busy, 4096);
	b = ring_new(sleeper, 4096);
	while (fake_now < 1000 * MS) {
		keep_busy(&a, 1, &x, 100000);
		run_until(device, fake_now + MS);
	}
	before = a.slot->jobs;
	while (fake_now < 1100 * MS) {
		keep_busy(&a, 1, &x, 100000);
		keep_busy(&b, 1, &y, 100000);
		run_until(device, fake_now + MS);
	}
	CHECK(a.slot->jobs - before > 450 && a.slot->jobs - before < 550);
	program_close(busy);
	program_close(sleeper);
	fgpu_device_destroy(device);
}

static void a_step_is_bounded(void)
{
	struct program *program;
	struct ring ring;
	uint32_t buffer;

	device = device_new(0, 1);
	program = gpu_open(device);
	ring = ring_new(program, 65536);
	buffer = buffer_new(program, 4 * MIB);
	ring_fill(&ring, buffer, 1, 0, 4 * MIB);
	ring_fence(&ring, 1);
	ring_bell(&ring);
	CHECK_EQ(fgpu_engine_step(device), 0);
	CHECK(((uint32_t *)buffer_memory(program, buffer))[0] == 1);
	CHECK(((uint32_t *)buffer_memory(program, buffer))[512 * 1024 / 4] == 0);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 1);
	program_close(program);
	fgpu_device_destroy(device);
}

static void waits_end_when_they_should(void)
{
	struct program *program;
	struct fakegpu_packet_delay delay = delay_packet(10 * MS);
	struct fakegpu_wait wait = {0};
	uint32_t channel;

	device = device_new(0, 1);
	program = gpu_open(device);
	channel = wait.channel = channel_new(program);
	CHECK_EQ(submit(program, channel, &delay, sizeof(delay), &wait.seqno), 0);
	CHECK(record.kicks);
	CHECK_EQ(wait_for(program, channel, 0, 0), 0);
	CHECK_EQ(wait_for(program, channel, 1, 0), -ETIME);
	CHECK_EQ(wait_for(program, channel, 1, fake_now), -ETIME);
	wait.deadline_ns = fake_now + 5 * MS;
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EINPROGRESS);
	fgpu_engine_step(device);
	fake_now += 5 * MS;
	fgpu_engine_step(device);
	wait.signalled = 99;
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -ETIME);
	CHECK_EQ(wait.signalled, 0);
	wait.deadline_ns = fake_now + 6 * MS;
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EINPROGRESS);
	settle(device);
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), 0);
	CHECK_EQ(wait.signalled, 1);
	program_close(program);
	fgpu_device_destroy(device);
}

static void destroying_a_channel_drops_its_work(void)
{
	struct program *program;
	struct fakegpu_channel_destroy destroy = {0};
	struct fakegpu_packet_delay delay = delay_packet(1000 * MS);
	struct fakegpu_wait wait = {.seqno = 1, .deadline_ns = UINT64_MAX};
	uint32_t other;
	uint64_t kicks;

	device = device_new(0, 1);
	program = gpu_open(device);
	destroy.handle = wait.channel = channel_new(program);
	other = channel_new(program);
	CHECK_EQ(submit(program, destroy.handle, &delay, sizeof(delay), NULL), 0);
	fgpu_engine_step(device);
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -EINPROGRESS);
	kicks = record.kicks;
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), 0);
	CHECK(record.kicks > kicks);
	CHECK_EQ(fgpu_wait_ready(program->context, &wait), -ENOENT);
	CHECK(fgpu_engine_step(device) == UINT64_MAX); /* the engine is free at once */
	delay.ns = 1;
	CHECK_EQ(submit(program, other, &delay, sizeof(delay), NULL), 0);
	settle(device);
	CHECK_EQ(jobs_of(program), 1);
	program_close(program);
	fgpu_device_destroy(device);
}

SUITE(test_engine, TEST(jobs_end_in_order_and_times_do_not_go_back),
      TEST(queued_is_when_the_doorbell_was_seen), TEST(a_delay_holds_the_engine),
      TEST(a_long_delay_gives_way), TEST(a_delay_is_cut_short_when_others_wait),
      TEST(contexts_share_small_jobs), TEST(contexts_share_delays), TEST(time_is_shared_not_jobs),
      TEST(sleeping_earns_no_credit), TEST(a_step_is_bounded), TEST(waits_end_when_they_should),
      TEST(destroying_a_channel_drops_its_work));
