// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rings and doorbells: wrapping, partial jobs, and every way in which what is
 * in a ring can be wrong.
 */
#include "rig.h"

static struct fgpu_device *device;
static struct program *program;
static struct ring ring;
static uint32_t buffer;

static void set_up(uint32_t size)
{
	device = device_new(0, 1);
	program = gpu_open(device);
	buffer = buffer_new(program, 8192);
	ring = ring_new(program, size);
}

static void tear_down(void)
{
	program_close(program);
	fgpu_device_destroy(device);
}

static void a_job_runs_from_a_doorbell(void)
{
	uint32_t *memory;

	set_up(4096);
	memory = buffer_memory(program, buffer);
	ring_fill(&ring, buffer, 0xabcd, 4, 8);
	ring_fence(&ring, 5);
	settle(device);
	CHECK_EQ(ring.slot->rptr, 0); /* nothing happens before the doorbell */
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 5);
	CHECK_EQ(ring.slot->rptr, ring.wptr);
	CHECK_EQ(ring.slot->doorbells, 1);
	CHECK_EQ(ring.slot->jobs, 1);
	CHECK_EQ(ring.slot->error, 0);
	CHECK(memory[0] == 0 && memory[1] == 0xabcd && memory[2] == 0xabcd && memory[3] == 0);
	CHECK_EQ(completions(program), 1);
	CHECK_EQ(completion(program, 0)->seqno, 5);
	CHECK_EQ(completion(program, 0)->status, 0);
	CHECK_EQ(completion(program, 0)->bytes, 8);
	CHECK_EQ(ctx_info(program).submits, 1);
	CHECK_EQ(ctx_info(program).doorbells, 1);
	CHECK_EQ(record.events[FGPU_EVENT_DOORBELL], 1);
	CHECK_EQ(record.last[FGPU_EVENT_DOORBELL].value, ring.wptr);
	CHECK_EQ(record.last[FGPU_EVENT_JOB_DONE].value, 5);
	tear_down();
}

static void a_ring_wraps(void)
{
	uint32_t *memory;
	uint64_t n;

	set_up(4096);
	memory = buffer_memory(program, buffer);
	for (n = 1; n <= 2000; n++) {
		ring_fill(&ring, buffer, (uint32_t)n, 0, 4);
		ring_fence(&ring, n);
		ring_bell(&ring);
		settle(device);
		CHECK_EQ(ring.slot->seqno, n);
		CHECK_EQ(memory[0], n);
		CHECK_EQ(ring.slot->rptr, ring.wptr);
	}
	CHECK_EQ(ctx_info(program).submits, 2000);
	CHECK_EQ(ctx_info(program).completions, 2000);
	CHECK_EQ(completions(program), 2000);
	CHECK_EQ(completion(program, 1999)->seqno, 2000);
	CHECK_EQ(completion(program, 1999 - 1022)->seqno, 2000 - 1022);
	tear_down();
}

/* Counters are modulo 2^32: run them over the edge in big NOPs. */
static void counters_wrap(void)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 32768};
	uint64_t bytes, seqno = 0;
	uint32_t at;

	set_up(FAKEGPU_RING_MAX);
	for (at = 0; at < ring.size; at += nop.size)
		memcpy(ring.memory + at, &nop, sizeof(nop));
	for (bytes = 0; bytes < (1ULL << 32); bytes += ring.size) {
		ring.wptr += ring.size;
		ring_bell(&ring);
		settle(device);
		CHECK_EQ(ring.slot->rptr, ring.wptr);
	}
	CHECK_EQ(ring.wptr, 0);
	ring.wptr -= ring.size / 2; /* no: the count never goes back */
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->error, 32);
	(void)seqno;
	tear_down();
}

static void work_goes_on_over_the_counters_edge(void)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 32768};
	uint64_t n;
	uint32_t at;

	set_up(FAKEGPU_RING_MAX);
	for (at = 0; at < ring.size; at += nop.size)
		memcpy(ring.memory + at, &nop, sizeof(nop));
	do {
		ring.wptr += ring.size;
		ring_bell(&ring);
		settle(device);
	} while (ring.wptr != 0U - ring.size);
	for (n = 1; n <= 50000; n++) { /* 1.5 times round: 2.4 MB in 48-byte jobs */
		ring_fill(&ring, buffer, (uint32_t)n, 0, 4);
		ring_fence(&ring, n);
		ring_bell(&ring);
		if (n % 64 == 0)
			settle(device);
	}
	settle(device);
	CHECK_EQ(ring.slot->error, 0);
	CHECK_EQ(ring.slot->seqno, 50000);
	CHECK(ring.wptr < 0U - ring.size);
	tear_down();
}

static void a_job_may_come_in_pieces(void)
{
	set_up(4096);
	ring_fill(&ring, buffer, 1, 0, 4);
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->rptr, 32);
	CHECK_EQ(ring.slot->seqno, 0);
	CHECK_EQ(ctx_info(program).submits, 1);
	CHECK_EQ(ctx_info(program).completions, 0);
	ring_fence(&ring, 1);
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 1);
	CHECK_EQ(completion(program, 0)->bytes, 4);
	CHECK_EQ(ring.slot->doorbells, 2);
	tear_down();
}

static void a_full_ring_is_not_too_full(void)
{
	uint64_t n;

	set_up(4096);
	for (n = 1; n <= 4096 / 16; n++)
		ring_fence(&ring, n);
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->seqno, 256);
	CHECK_EQ(ring.slot->error, 0);
	tear_down();
}

static void padding_is_no_job(void)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 64};

	set_up(4096);
	ring_fence(&ring, 1);
	ring_put_raw(&ring, &nop, sizeof(nop));
	ring.wptr += 56;
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->rptr, 80);
	CHECK_EQ(ctx_info(program).submits, 1);
	CHECK_EQ(ctx_info(program).completions, 1);
	tear_down();
}

static void many_doorbells_before_a_look_are_one(void)
{
	set_up(4096);
	ring_fence(&ring, 1);
	ring_bell(&ring);
	ring_fence(&ring, 2);
	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->doorbells, 1);
	CHECK_EQ(ring.slot->seqno, 2);
	tear_down();
}

/* The ring is what `poke` made of it; the context must end with `xid` and `text` in the log. */
static void expect_fault(uint32_t xid, const char *text)
{
	struct fakegpu_alloc alloc = {.size = 1};

	ring_bell(&ring);
	settle(device);
	CHECK_EQ(ring.slot->error, xid);
	CHECK_EQ(ctx_info(program).xid, xid);
	CHECK_EQ(ctx_info(program).poisoned, 1);
	CHECK_EQ(record.events[FGPU_EVENT_LOG], 1);
	if (!strstr(last_log(), text))
		fail(__FILE__, __LINE__, "'%s' is not in '%s'", text, last_log());
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), -EIO);
	CHECK(!fgpu_engine_polls(device));
}

#define FAULTS(xid, text, ...)                                                                     \
	do {                                                                                       \
		set_up(4096);                                                                      \
		__VA_ARGS__;                                                                       \
		expect_fault(xid, text);                                                           \
		tear_down();                                                                       \
		CHECK_OK();                                                                        \
	} while (0)

static void raw_head(uint16_t op, uint16_t size, uint32_t flags)
{
	struct fakegpu_packet head = {.op = op, .size = size, .flags = flags};

	memset(ring.memory + ring.wptr, 0, 64);
	ring_put_raw(&ring, &head, sizeof(head));
	ring.wptr += 56;
}

static void bad_packets_are_xid_32(void)
{
	FAULTS(32, "unknown op", raw_head(7, 16, 0));
	FAULTS(32, "unknown op", raw_head(0xffff, 16, 0));
	FAULTS(32, "bad size", raw_head(FAKEGPU_OP_NOP, 0, 0));
	FAULTS(32, "bad size", raw_head(FAKEGPU_OP_NOP, 4, 0));
	FAULTS(32, "bad size", raw_head(FAKEGPU_OP_NOP, 12, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_FILL, 40, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_COPY, 32, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_VECADD, 56, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_DELAY, 8, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_FENCE, 24, 0));
	FAULTS(32, "wrong size", raw_head(FAKEGPU_OP_FAULT, 24, 0));
	FAULTS(32, "unknown flag", raw_head(FAKEGPU_OP_NOP, 8, 0x80000000));
	FAULTS(32, "behind wptr", raw_head(FAKEGPU_OP_NOP, 72, 0));
	FAULTS(32, "misaligned", ring_fill(&ring, buffer, 0, 2, 4));
	FAULTS(32, "misaligned", ring_fill(&ring, buffer, 0, 0, 2));
	FAULTS(32, "delay too long", ring_delay(&ring, 10000000001ULL));
	FAULTS(32, "fence 0 after 0", ring_fence(&ring, 0));
	FAULTS(32, "fence 3 after 3", ring_fence(&ring, 3); ring_fence(&ring, 3));
	FAULTS(32, "fence 2 after 3", ring_fence(&ring, 3); ring_fence(&ring, 2));
}

static void a_packet_across_the_end_is_xid_32(void)
{
	set_up(4096);
	while (ring.wptr < 4096 - 16)
		ring_fence(&ring, ring.wptr / 16 + 1);
	ring_bell(&ring);
	settle(device);
	((struct fakegpu_packet *)(ring.memory + ring.wptr))->op = FAKEGPU_OP_FILL;
	((struct fakegpu_packet *)(ring.memory + ring.wptr))->size = 32;
	ring.wptr += 32;
	expect_fault(32, "across the end");
	tear_down();
}

static void bad_wptrs_are_xid_32(void)
{
	FAULTS(32, "bad wptr", ring.wptr = 4);
	FAULTS(32, "bad wptr", ring.wptr = 4096 + 8);
	FAULTS(32, "bad wptr", ring.wptr = 0xfffffff8U);
	FAULTS(32, "bad wptr 0x00000010, was 0x00000020", {
		ring_fence(&ring, 1);
		ring_fence(&ring, 2);
		ring_bell(&ring);
		settle(device);
		ring.wptr -= 16;
	});
}

static void put_copy(uint64_t src_offset, uint64_t dst_offset, uint64_t length)
{
	struct fakegpu_packet_copy copy =
		copy_packet(buffer, src_offset, buffer, dst_offset, length);

	ring_put(&ring, &copy);
}

static void put_add(uint32_t a, uint32_t b, uint32_t c, uint32_t count)
{
	struct fakegpu_packet_vecadd add = vecadd_packet(a, b, c, count);

	ring_put(&ring, &add);
}

static void put_fault(uint32_t xid, uint32_t pad)
{
	struct fakegpu_packet_fault fault = fault_packet(xid);

	fault.pad = pad;
	ring_put(&ring, &fault);
}

static void addresses_outside_are_xid_31(void)
{
	const uint64_t top = UINT64_MAX - 3;

	FAULTS(31, "FAULT_PDE ACCESS_TYPE_VIRT_WRITE", ring_fill(&ring, 0, 1, 0, 4));
	FAULTS(31, "FAULT_PDE ACCESS_TYPE_VIRT_WRITE", ring_fill(&ring, ring.handle, 1, 0, 4));
	FAULTS(31, "0x0_10002000. Fault is of type FAULT_PTE",
	       ring_fill(&ring, buffer, 1, 8192, 4));
	FAULTS(31, "0x0_10002000. Fault is of type FAULT_PTE",
	       ring_fill(&ring, buffer, 1, 8188, 8));
	FAULTS(31, "FAULT_PTE", ring_fill(&ring, buffer, 1, top, 4));
	FAULTS(31, "FAULT_PTE", ring_fill(&ring, buffer, 1, 4, top));
	FAULTS(31, "FAULT_PTE", ring_fill(&ring, buffer, 1, top, 8));
	FAULTS(31, "VIRT_READ", put_copy(8192, 0, 1));
	FAULTS(31, "VIRT_READ", put_copy(top, 0, 8));
	FAULTS(31, "VIRT_WRITE", put_copy(0, 8192, 1));
	FAULTS(31, "VIRT_WRITE", put_copy(0, 1, 8192));
	FAULTS(31, "VIRT_READ", put_add(0, buffer, buffer, 1));
	FAULTS(31, "VIRT_READ", put_add(buffer, 99, buffer, 1));
	FAULTS(31, "VIRT_WRITE", put_add(buffer, buffer, ring.handle, 1));
	FAULTS(31, "VIRT_READ", put_add(buffer, buffer, buffer, 2049));
	FAULTS(31, "VIRT_READ", put_add(buffer, buffer, buffer, UINT32_MAX));
	FAULTS(31, ": 31, pid=4242, name=app, Ch 00000000, MMU Fault", put_fault(31, 0));
	FAULTS(13, ": 13, pid=4242, name=app, Ch 00000000, Graphics", put_fault(13, 0));
	FAULTS(32, "FGPU: Xid (PCI:0000:01:00): 32, pid=4242", put_fault(32, 0));
	FAULTS(32, "no such fault", put_fault(79, 0));
	FAULTS(32, "padding not zero", put_fault(31, 1));
}

static void a_freed_buffer_is_xid_31(void)
{
	struct fakegpu_free drop = {0};

	set_up(4096);
	ring_fill(&ring, buffer, 1, 0, 4);
	ring_fence(&ring, 1);
	ring_fill(&ring, buffer, 1, 0, 4);
	ring_fence(&ring, 2);
	drop.handle = buffer;
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	expect_fault(31, "FAULT_PDE");
	CHECK_EQ(ring.slot->seqno, 0);
	CHECK_EQ(completions(program), 1); /* the first job; the second was dropped */
	CHECK_EQ(completion(program, 0)->status, 31);
	CHECK_EQ(completion(program, 0)->seqno, 1);
	tear_down();
}

static void a_buffer_freed_in_the_middle_is_xid_31(void)
{
	struct fakegpu_free drop = {0};

	set_up(4096);
	drop.handle = buffer_new(program, 3 * MIB);
	ring_fill(&ring, drop.handle, 1, 0, 3 * MIB);
	ring_bell(&ring);
	CHECK_EQ(fgpu_engine_step(device), 0); /* there is more to do */
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	expect_fault(31, "FAULT_PDE ACCESS_TYPE_VIRT_WRITE");
	tear_down();
}

SUITE(test_ring, TEST(a_job_runs_from_a_doorbell), TEST(a_ring_wraps), TEST(counters_wrap),
      TEST(work_goes_on_over_the_counters_edge), TEST(a_job_may_come_in_pieces),
      TEST(a_full_ring_is_not_too_full), TEST(padding_is_no_job),
      TEST(many_doorbells_before_a_look_are_one), TEST(bad_packets_are_xid_32),
      TEST(a_packet_across_the_end_is_xid_32), TEST(bad_wptrs_are_xid_32),
      TEST(addresses_outside_are_xid_31), TEST(a_freed_buffer_is_xid_31),
      TEST(a_buffer_freed_in_the_middle_is_xid_31));
