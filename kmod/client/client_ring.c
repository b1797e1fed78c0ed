// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Work through ring, doorbell and fence page. */
#include <string.h>
#include "client.h"
#include "common.h"

/* From the store to the sum in memory without a call. */
static bool doorbell(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packet;
	struct fakegpu_ctx_info info;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	packet = FILL(.handle = buffer.handle, .value = 7, .length = FAKEGPU_PAGE);
	ring_put(&channel, &packet);
	ring_fence(&channel);
	ring_publish(&channel);
	TRY(poll_seqno(&channel, 1));
	EXPECT(((uint32_t *)buffer.map)[FAKEGPU_PAGE / 4 - 1] == 7, "signalled, but not stored");
	EXPECT(fence_slot(&channel)->rptr == channel.wptr, "rptr is %u, wptr %u",
	       fence_slot(&channel)->rptr, channel.wptr);
	EXPECT(fence_slot(&channel)->doorbells == 1 && fence_slot(&channel)->jobs == 1,
	       "%llu doorbells, %llu jobs", (unsigned long long)fence_slot(&channel)->doorbells,
	       (unsigned long long)fence_slot(&channel)->jobs);
	TRY(context_info(&context, &info));
	EXPECT(info.doorbells == 1 && info.submits == 1 && info.completions == 1,
	       "CTX_INFO: %llu doorbells, %llu submits, %llu completions",
	       (unsigned long long)info.doorbells, (unsigned long long)info.submits,
	       (unsigned long long)info.completions);
	return true;
}

/* Packets without a fence run, too; they only can't be waited for. */
static bool unfenced(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packet;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	packet = FILL(.handle = buffer.handle, .value = 9, .length = 4);
	ring_put(&channel, &packet);
	ring_publish(&channel);
	TRY(poll_rptr(&channel, channel.wptr));
	EXPECT(*(uint32_t *)buffer.map == 9, "rptr moved, but nothing was stored");
	EXPECT(fence_slot(&channel)->seqno == 0, "seqno is %llu without a fence",
	       (unsigned long long)fence_slot(&channel)->seqno);
	return true;
}

/*
 * A thousand jobs of 48 bytes go round the smallest ring a dozen times, each
 * time with a NOP before the end, as 4096 is no multiple of 48.
 */
static bool ring_wrap(void)
{
	enum { JOBS = 1000, BATCH = 64, BATCHES = (JOBS + BATCH - 1) / BATCH };
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	const uint32_t *words;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, JOBS * 4, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	for (int batch = 0; batch < BATCHES; batch++) {
		for (uint32_t i = 0; i < BATCH && channel.seqno < JOBS; i++) {
			uint32_t job = (uint32_t)channel.seqno;
			struct fakegpu_packet_fill packet =
				FILL(.handle = buffer.handle, .value = job * job + 1,
				     .offset = job * 4, .length = 4);

			ring_put(&channel, &packet);
			ring_fence(&channel);
			ring_publish(&channel);
		}
		TRY(wait_done(&channel));
	}
	words = buffer.map;
	for (uint32_t i = 0; i < JOBS; i++)
		EXPECT(words[i] == i * i + 1, "job %u stored %u, want %u", i, words[i], i * i + 1);
	EXPECT(channel.wptr > 11 * channel.size, "the ring was not gone round");
	TRY(poll_rptr(&channel, channel.wptr));
	EXPECT(fence_slot(&channel)->jobs == JOBS, "%llu jobs ended, want %d",
	       (unsigned long long)fence_slot(&channel)->jobs, JOBS);
	return true;
}

/* A ring may be filled to the last byte: wptr is then one whole ring ahead. */
static bool ring_full(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packet;
	const uint32_t jobs = (FAKEGPU_RING_MIN - 16) / sizeof(packet);

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	for (uint32_t i = 0; i < jobs; i++) {
		packet = FILL(.handle = buffer.handle, .value = i, .offset = i * 4, .length = 4);
		ring_put(&channel, &packet);
	}
	ring_fence(&channel);
	while (channel.wptr < channel.size) {
		struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = sizeof(nop)};

		ring_put(&channel, &nop);
	}
	ring_publish(&channel);
	TRY(wait_done(&channel));
	TRY(poll_rptr(&channel, channel.size));
	EXPECT(((uint32_t *)buffer.map)[jobs - 1] == jobs - 1, "the last packet was not run");
	return true;
}

/* Long NOPs carry the counters past 2^32 in a few thousand rounds. */
static bool ring_modulo(void)
{
	const uint16_t step = UINT16_MAX & ~7u;
	const struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = step};
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	uint64_t total = 0;
	uint32_t before;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(channel_make(&context, FAKEGPU_RING_MAX, &channel));
	while (total < UINT64_C(1) << 32) {
		before = channel.wptr;
		for (int i = 0; i < 15; i++) {
			uint32_t at = channel.wptr % channel.size;
			struct fakegpu_packet packet = nop;

			if (channel.size - at < step)
				packet.size = (uint16_t)(channel.size - at);
			memcpy(channel.ring + at, &packet, sizeof(packet));
			channel.wptr += packet.size;
		}
		ring_publish(&channel);
		total += channel.wptr - before;
		TRY(poll_rptr(&channel, channel.wptr));
	}
	ring_fence(&channel);
	ring_publish(&channel);
	TRY(wait_done(&channel));
	EXPECT(channel.wptr < FAKEGPU_RING_MAX, "wptr %#x has not wrapped", channel.wptr);
	return true;
}

/* Channels of one context share nothing but the engine. */
static bool many_rings(void)
{
	enum { RINGS = 5, JOBS = 23 };
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel[RINGS] = {{0}};

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	for (uint32_t i = 0; i < RINGS; i++)
		TRY(channel_make(&context, FAKEGPU_RING_MIN << (i % 3), &channel[i]));
	for (uint32_t job = 1; job <= JOBS; job++) {
		for (uint32_t i = 0; i < RINGS; i++) {
			struct fakegpu_packet_fill packet =
				FILL(.handle = buffer.handle, .value = job * (i + 1),
				     .offset = i * 4, .length = 4);

			ring_put(&channel[i], &packet);
			ring_fence(&channel[i]);
			ring_publish(&channel[i]);
		}
	}
	for (uint32_t i = 0; i < RINGS; i++) {
		TRY(wait_done(&channel[i]));
		EXPECT(((uint32_t *)buffer.map)[i] == JOBS * (i + 1), "ring %u stored %u, want %u",
		       i, ((uint32_t *)buffer.map)[i], JOBS * (i + 1));
	}
	for (uint32_t i = 0; i < RINGS; i++)
		channel_unmap(&channel[i]);
	return true;
}

/* A new channel in an old one's slot starts from nothing. */
static bool slot_reuse(void)
{
	struct context context CONTEXT_CLEANUP;
	struct channel old CHANNEL_CLEANUP, fresh CHANNEL_CLEANUP;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &old));
	ring_fence(&old);
	ring_fence(&old);
	ring_publish(&old);
	TRY(wait_done(&old));
	ANSWER(0, context.fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = old.handle);
	EXPECT(fence_slot(&old)->seqno == 2, "its slot lost the last seqno");
	context.doorbells[old.index].wptr = 0;
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &fresh));
	EXPECT(fresh.index == old.index, "the free slot %u was not given again", old.index);
	EXPECT(fence_slot(&fresh)->rptr == 0 && fence_slot(&fresh)->seqno == 0,
	       "a new channel begins at rptr %u, seqno %llu", fence_slot(&fresh)->rptr,
	       (unsigned long long)fence_slot(&fresh)->seqno);
	ring_fence(&fresh);
	ring_publish(&fresh);
	TRY(wait_done(&fresh));
	return true;
}

const struct check checks_ring[] = {
	{"doorbell", doorbell},	      {"unfenced", unfenced},
	{"ring-wrap", ring_wrap},     {"ring-full", ring_full},
	{"ring-modulo", ring_modulo}, {"many-rings", many_rings},
	{"slot-reuse", slot_reuse},   {0},
};
