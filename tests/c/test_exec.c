// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What packets compute, also where they are bigger than a chunk.
 */
#include "rig.h"

static struct fgpu_device *device;
static struct program *program;
static struct ring ring;

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

static void run(const void *packet)
{
	ring_put(&ring, packet);
	ring_fence(&ring, ring.slot->seqno + 1);
	ring_bell(&ring);
	settle(device);
	if (ring.slot->error)
		fail(__FILE__, __LINE__, "%s", last_log());
}

static void fill_stores_every_word(void)
{
	const uint64_t words = MIB / 4;
	struct fakegpu_packet_fill fill;
	uint32_t buffer, *memory;
	uint64_t i;

	set_up();
	buffer = buffer_new(program, MIB);
	memory = buffer_memory(program, buffer);
	fill = fill_packet(buffer, 0xdeadbeef, 4, MIB - 8);
	run(&fill);
	CHECK_OK();
	CHECK(memory[0] == 0 && memory[words - 1] == 0);
	for (i = 1; i < words - 1; i++)
		CHECK_EQ(memory[i], 0xdeadbeef);
	CHECK_EQ(completion(program, 0)->bytes, MIB - 8);
	tear_down();
}

static void nothing_is_a_length_too(void)
{
	struct fakegpu_packet_fill fill;
	struct fakegpu_packet_copy copy;
	struct fakegpu_packet_vecadd add;
	uint32_t buffer;

	set_up();
	buffer = buffer_new(program, 4096);
	fill = fill_packet(buffer, 1, 4096, 0);
	copy = copy_packet(buffer, 4096, buffer, 4096, 0);
	add = vecadd_packet(buffer, buffer, buffer, 0);
	add.a_offset = add.b_offset = add.c_offset = 4096;
	run(&fill);
	run(&copy);
	run(&add);
	CHECK_OK();
	CHECK_EQ(ring.slot->seqno, 3);
	CHECK_EQ(completion(program, 2)->bytes, 0);
	tear_down();
}

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16));
}

/* A copy inside one buffer gives what memmove() gives, whatever the overlap. */
static void check_overlap(uint64_t from, uint64_t to, uint64_t length)
{
	struct fakegpu_packet_copy copy;
	uint32_t buffer = buffer_new(program, MIB);
	uint8_t *memory = buffer_memory(program, buffer);
	struct fakegpu_free drop = {.handle = buffer};
	uint64_t i;

	for (i = 0; i < MIB; i++)
		memory[i] = pattern(i);
	copy = copy_packet(buffer, from, buffer, to, length);
	run(&copy);
	CHECK_OK();
	for (i = 0; i < MIB; i++)
		if (memory[i] != pattern(i >= to && i < to + length ? i - to + from : i)) {
			fail(__FILE__, __LINE__, "byte %llu of a copy %llu -> %llu",
			     (unsigned long long)i, (unsigned long long)from,
			     (unsigned long long)to);
			return;
		}
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
}

static void copy_may_overlap(void)
{
	set_up();
	check_overlap(0, 1, MIB - 1);
	check_overlap(1, 0, MIB - 1);
	check_overlap(3, 65539, 500000);
	check_overlap(65539, 3, 500000);
	check_overlap(10, 100000, 800001);
	check_overlap(100000, 10, 800001);
	check_overlap(7, 7, 300000);
	check_overlap(0, MIB / 2, MIB / 2);
	tear_down();
}

static void copy_goes_between_buffers(void)
{
	struct fakegpu_packet_copy copy;
	uint32_t a, b;
	uint8_t *from, *to;

	set_up();
	a = buffer_new(program, 200000);
	b = buffer_new(program, 200000);
	from = buffer_memory(program, a);
	to = buffer_memory(program, b);
	memset(from, 0x11, 200000);
	copy = copy_packet(a, 1, b, 3, 150001);
	run(&copy);
	CHECK_OK();
	CHECK(to[2] == 0 && to[3] == 0x11 && to[150003] == 0x11 && to[150004] == 0);
	CHECK_EQ(completion(program, 0)->bytes, 150001);
	tear_down();
}

static void vecadd_adds(void)
{
	const uint32_t count = 100003;
	struct fakegpu_packet_vecadd add;
	uint32_t handles[3], i;
	float *a, *b, *c;

	set_up();
	for (i = 0; i < 3; i++)
		handles[i] = buffer_new(program, (count + 2) * 4);
	a = buffer_memory(program, handles[0]);
	b = buffer_memory(program, handles[1]);
	c = buffer_memory(program, handles[2]);
	for (i = 0; i < count + 2; i++) {
		a[i] = (float)i * 0.37f;
		b[i] = 1e5f / (float)(i + 1);
	}
	add = vecadd_packet(handles[0], handles[1], handles[2], count);
	add.a_offset = 4;
	add.c_offset = 8;
	run(&add);
	CHECK_OK();
	CHECK(c[1] == 0.0f);
	for (i = 0; i < count; i++)
		CHECK(c[i + 2] == a[i + 1] + b[i]);
	CHECK_EQ(completion(program, 0)->bytes, count * 4);
	tear_down();
}

static void a_submit_computes_as_well(void)
{
	struct {
		struct fakegpu_packet_fill fill;
		struct fakegpu_packet_copy copy;
	} packets;
	uint32_t channel, a, b;
	__u64 seqno;

	set_up();
	channel = channel_new(program);
	a = buffer_new(program, 4096);
	b = buffer_new(program, 4096);
	packets.fill = fill_packet(a, 77, 0, 4096);
	packets.copy = copy_packet(a, 0, b, 0, 4096);
	CHECK_EQ(submit(program, channel, &packets, sizeof(packets), &seqno), 0);
	memset(&packets, 0xff, sizeof(packets)); /* they were copied */
	CHECK_EQ(wait_for(program, channel, seqno, UINT64_MAX), -EINPROGRESS);
	settle(device);
	CHECK_EQ(wait_for(program, channel, seqno, UINT64_MAX), 0);
	CHECK_EQ(((uint32_t *)buffer_memory(program, b))[1023], 77);
	CHECK_EQ(completion(program, 0)->bytes, 8192);
	CHECK_EQ(fence_slot(program, 1)->seqno, 1);
	tear_down();
}

SUITE(test_exec, TEST(fill_stores_every_word), TEST(nothing_is_a_length_too),
      TEST(copy_may_overlap), TEST(copy_goes_between_buffers), TEST(vecadd_adds),
      TEST(a_submit_computes_as_well));
