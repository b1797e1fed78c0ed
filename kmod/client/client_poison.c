// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Faults: what each mistake is called, and that it stays where it was made. */
#include <stdio.h>
#include <string.h>
#include "client.h"
#include "common.h"

#define EIO_ANSWER(fd, name, type, ...) ANSWER(EIO, fd, name, type, __VA_ARGS__)

/* The context has ended with @xid and says so everywhere. */
static bool poisoned_with(struct context *context, struct channel *channel, uint32_t xid)
{
	struct fakegpu_ctx_info info;

	TRY(expect_errno("WAIT on a poisoned context", EIO,
			 wait_errno(channel, UINT64_MAX, now_ns() + PATIENCE_NS)));
	TRY(context_info(context, &info));
	EXPECT(info.poisoned == 1 && info.xid == xid, "CTX_INFO: poisoned %u, Xid %u, want %u",
	       info.poisoned, info.xid, xid);
	EXPECT(fence_slot(channel)->error == xid, "the fence slot's error is %u, want %u",
	       fence_slot(channel)->error, xid);
	return true;
}

static bool still_computes(struct context *context)
{
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packet;

	TRY(buffer_make(context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(context, 0, &channel));
	packet = FILL(.handle = buffer.handle, .value = 5, .length = 4);
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(wait_done(&channel));
	EXPECT(*(uint32_t *)buffer.map == 5, "nothing was stored");
	return true;
}

/* FREE, INFO, CTX_INFO, USAGE and PROCESSES go on; all else is over. */
static bool poison_answers(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fault fault = FAULT(.xid = 31);
	uint64_t packets = (uintptr_t)&fault;
	int fd;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel));
	TRY(submit(&channel, &fault, sizeof(fault)));
	TRY(poisoned_with(&context, &channel, 31));
	fd = context.fd;
	EIO_ANSWER(fd, ALLOC, fakegpu_alloc, .size = FAKEGPU_PAGE);
	EIO_ANSWER(fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_BUFFER, .handle = buffer.handle);
	EIO_ANSWER(fd, CHANNEL_CREATE, fakegpu_channel_create, .flags = 0);
	EIO_ANSWER(fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = channel.handle);
	EIO_ANSWER(fd, SUBMIT, fakegpu_submit, .channel = channel.handle, .packets = packets,
		   .length = sizeof(fault));
	EIO_ANSWER(fd, WAIT, fakegpu_wait, .channel = channel.handle, .seqno = 1);
	ANSWER(0, fd, INFO, fakegpu_info, .flags = 0);
	ANSWER(0, fd, USAGE, fakegpu_usage, .flags = 0);
	ANSWER(0, fd, PROCESSES, fakegpu_processes, .flags = 0);
	ANSWER(0, fd, FREE, fakegpu_free, .handle = buffer.handle);
	return true;
}

/* Neighbours, of the same process and device, notice nothing; closing heals. */
static bool poison_stays(void)
{
	static const uint32_t xids[] = {13, 31, 32};
	struct context neighbour CONTEXT_CLEANUP;

	TRY(context_open(&neighbour));
	for (size_t i = 0; i < sizeof(xids) / sizeof(*xids); i++) {
		struct context context CONTEXT_CLEANUP, again CONTEXT_CLEANUP;
		struct channel channel CHANNEL_CLEANUP;
		struct fakegpu_packet_fault fault = FAULT(.xid = xids[i]);

		TRY(context_open(&context));
		TRY(context_map(&context));
		TRY(channel_make(&context, 0, &channel));
		TRY(submit(&channel, &fault, sizeof(fault)));
		TRY(poisoned_with(&context, &channel, xids[i]));
		TRY(still_computes(&neighbour));
		context_close(&context);
		TRY(context_open(&again));
		TRY(still_computes(&again));
	}
	return true;
}

/* The faulting job is told apart from those before it, and those after are dropped. */
static bool poison_order(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill fill;
	struct fakegpu_packet_fault fault = FAULT(.xid = 13);
	const struct fakegpu_completion *entries;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	for (uint32_t job = 0; job < 3; job++) {
		fill = FILL(.handle = buffer.handle, .value = 1, .offset = 4 * job, .length = 4);
		ring_put(&channel, &fill);
		if (job == 1)
			ring_put(&channel, &fault);
		ring_fence(&channel);
	}
	ring_publish(&channel);
	TRY(poisoned_with(&context, &channel, 13));
	EXPECT(((uint32_t *)buffer.map)[0] == 1 && ((uint32_t *)buffer.map)[1] == 1,
	       "work before the fault was not done");
	EXPECT(((uint32_t *)buffer.map)[2] == 0, "work after the fault was done");
	EXPECT(context.completions->written == 2, "%llu completions, want 2",
	       (unsigned long long)context.completions->written);
	entries = (const struct fakegpu_completion *)(context.completions + 1);
	EXPECT(entries[0].status == 0 && entries[0].seqno == 1, "the first job has status %u",
	       entries[0].status);
	EXPECT(entries[1].status == 13, "the second job has status %u", entries[1].status);
	return true;
}

/* One thing wrong in a ring, all else right: the Xid it leads to. */
struct mistake {
	const char *what;
	uint32_t xid;
	union {
		struct fakegpu_packet head;
		struct fakegpu_packet_fill fill;
		struct fakegpu_packet_copy copy;
		struct fakegpu_packet_vecadd vecadd;
		struct fakegpu_packet_delay delay;
		struct fakegpu_packet_fence fence;
		struct fakegpu_packet_fault fault;
	} packet;
};

#define GOOD 1 /* stands for a buffer of one page, until it is made */
#define BAD UINT32_MAX

static const struct mistake mistakes[] = {
	{"an unknown op", 32, {.head = {.op = 99, .size = 8}}},
	{"a packet of no size", 32, {.head = {.op = FAKEGPU_OP_NOP, .size = 0}}},
	{"a size that is no multiple of 8", 32, {.head = {.op = FAKEGPU_OP_NOP, .size = 12}}},
	{"a size that is not its op's", 32, {.head = {.op = FAKEGPU_OP_FILL, .size = 40}}},
	{"a size past wptr", 32, {.head = {.op = FAKEGPU_OP_NOP, .size = 1024}}},
	{"a packet flag", 32, {.head = {.op = FAKEGPU_OP_NOP, .size = 8, .flags = 1}}},
	{"a fence that does not rise", 32, {.fence = FENCE(.seqno = 1)}},
	{"a fence of 0", 32, {.fence = FENCE(.seqno = 0)}},
	{"a delay over 10 s", 32, {.delay = DELAY(.ns = 10 * SECOND_NS + 1)}},
	{"a fault that is none", 32, {.fault = FAULT(.xid = 79)}},
	{"a fault with padding", 32, {.fault = FAULT(.xid = 13, .pad = 1)}},
	{"an odd fill offset", 32, {.fill = FILL(.handle = GOOD, .offset = 2, .length = 4)}},
	{"an odd fill length", 32, {.fill = FILL(.handle = GOOD, .length = 6)}},
	{"a fill of no buffer", 31, {.fill = FILL(.handle = BAD, .length = 4)}},
	{"a fill past the end", 31, {.fill = FILL(.handle = GOOD, .offset = 4092, .length = 8)}},
	{"a fill that wraps", 31, {.fill = FILL(.handle = GOOD, .offset = -4ULL, .length = 8)}},
	{"a copy to no buffer", 31, {.copy = COPY(.src = GOOD, .dst = BAD, .length = 1)}},
	{"a copy from past the end",
	 31,
	 {.copy = COPY(.src = GOOD, .dst = GOOD, .src_offset = 4096, .length = 1)}},
	{"a sum of no buffer", 31, {.vecadd = VECADD(.a = GOOD, .b = BAD, .c = GOOD, .count = 1)}},
	{"a sum past the end",
	 31,
	 {.vecadd = VECADD(.a = GOOD, .b = GOOD, .c = GOOD, .count = 1, .c_offset = 4096)}},
};

static void put_handle(uint32_t *handle, uint32_t made)
{
	if (*handle == GOOD)
		*handle = made;
}

static void put_handles(struct mistake *mistake, uint32_t made)
{
	switch (mistake->packet.head.op) {
	case FAKEGPU_OP_FILL:
		put_handle(&mistake->packet.fill.handle, made);
		break;
	case FAKEGPU_OP_COPY:
		put_handle(&mistake->packet.copy.src, made);
		put_handle(&mistake->packet.copy.dst, made);
		break;
	case FAKEGPU_OP_VECADD:
		put_handle(&mistake->packet.vecadd.a, made);
		put_handle(&mistake->packet.vecadd.b, made);
		put_handle(&mistake->packet.vecadd.c, made);
		break;
	}
}

static bool make_mistake(const struct mistake *mistake)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct mistake made = *mistake;
	uint32_t at, size;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	put_handles(&made, buffer.handle);
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	ring_fence(&channel);
	ring_publish(&channel);
	TRY(wait_done(&channel));
	at = channel.wptr;
	size = made.packet.head.size >= 8 && made.packet.head.size % 8 == 0 ? made.packet.head.size
									    : 16;
	if (size > sizeof(made.packet))
		size = sizeof(made.packet);
	memcpy(channel.ring + at, &made.packet, sizeof(made.packet));
	channel.wptr += size;
	ring_publish(&channel);
	return poisoned_with(&context, &channel, made.xid);
}

static bool ring_mistakes(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		char why[200];

		if (make_mistake(&mistakes[i]))
			continue;
		snprintf(why, sizeof(why), "%s", fail_reason());
		return fail("%s: %s", mistakes[i].what, why);
	}
	return true;
}

static void fill_with_nops(struct channel *channel)
{
	const struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = sizeof(nop)};

	for (uint32_t at = 0; at < channel->size; at += sizeof(nop))
		memcpy(channel->ring + at, &nop, sizeof(nop));
}

/* Doorbell values that can't be, over a ring that has nothing else wrong. */
static bool doorbell_mistakes(void)
{
	static const uint32_t values[] = {4, FAKEGPU_RING_MIN + 8, UINT32_MAX - 7};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct context context CONTEXT_CLEANUP;
		struct channel channel CHANNEL_CLEANUP;

		TRY(context_open(&context));
		TRY(context_map(&context));
		TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
		fill_with_nops(&channel);
		channel.wptr = values[i];
		ring_publish(&channel);
		TRY(poisoned_with(&context, &channel, 32));
	}
	return true;
}

/* A packet that is whole but for the ring's end in its middle. */
static bool straddle(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill fill;
	const uint32_t before = sizeof(fill) / 2;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	fill_with_nops(&channel);
	channel.wptr = channel.size - before;
	ring_publish(&channel);
	TRY(poll_rptr(&channel, channel.wptr));
	fill = FILL(.handle = buffer.handle, .value = 1, .length = 4);
	memcpy(channel.ring + channel.size - before, &fill, before);
	memcpy(channel.ring, (uint8_t *)&fill + before, sizeof(fill) - before);
	channel.wptr += sizeof(fill);
	ring_publish(&channel);
	TRY(poisoned_with(&context, &channel, 32));
	EXPECT(*(uint32_t *)buffer.map == 0, "it was run");
	return true;
}

/* A buffer that is dropped while work waits to use it. */
static bool use_after_free(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct {
		struct fakegpu_packet_delay delay;
		struct fakegpu_packet_fill fill;
	} job;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel));
	job.delay = DELAY(.ns = SECOND_NS / 10);
	job.fill = FILL(.handle = buffer.handle, .length = 4);
	TRY(submit(&channel, &job, sizeof(job)));
	ANSWER(0, context.fd, FREE, fakegpu_free, .handle = buffer.handle);
	return poisoned_with(&context, &channel, 31);
}

const struct check checks_poison[] = {
	{"poison-answers", poison_answers},	  {"poison-stays", poison_stays},
	{"poison-order", poison_order},		  {"ring-mistakes", ring_mistakes},
	{"doorbell-mistakes", doorbell_mistakes}, {"straddle", straddle},
	{"use-after-free", use_after_free},	  {0},
};
