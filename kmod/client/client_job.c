// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Jobs through SUBMIT: what they compute, in which order they end, how to wait. */
#include <math.h>
#include <string.h>
#include "client.h"
#include "common.h"

#define JOBS 23

static bool fill(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packet;
	const uint32_t *words;

	TRY(context_open(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel));
	packet = FILL(.handle = buffer.handle, .value = 0xdeadbeef, .offset = 8, .length = 400);
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(wait_done(&channel));
	words = buffer.map;
	for (uint32_t i = 0; i < FAKEGPU_PAGE / 4; i++) {
		uint32_t want = i >= 2 && i < 102 ? 0xdeadbeef : 0;

		EXPECT(words[i] == want, "word %u is %#x, want %#x", i, words[i], want);
	}
	return true;
}

/* Overlapping ranges, forwards and backwards, against memmove(3). */
static bool copy(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	uint8_t want[FAKEGPU_PAGE];
	static const uint32_t moves[][3] = {{0, 7, 1000}, {507, 500, 999}, {64, 2048, 3}};

	TRY(context_open(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel));
	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = (uint8_t)(i * 7);
	memcpy(buffer.map, want, sizeof(want));
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		struct fakegpu_packet_copy packet =
			COPY(.src = buffer.handle, .dst = buffer.handle, .src_offset = moves[i][0],
			     .dst_offset = moves[i][1], .length = moves[i][2]);

		TRY(submit(&channel, &packet, sizeof(packet)));
		memmove(want + moves[i][1], want + moves[i][0], moves[i][2]);
	}
	TRY(wait_done(&channel));
	EXPECT(memcmp(buffer.map, want, sizeof(want)) == 0, "copied bytes differ from memmove's");
	return true;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Every pair out of the awkward values, then pairs of pseudo-random bits. */
static void make_operands(float *a, float *b, uint32_t count)
{
	static const uint32_t awkward[] = {
		0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
		0x3f800000, 0xbf800000, 0x3f800001, 0x33800000, 0x33800001, 0x4b800000, 0x4b7fffff,
		0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x73000000,
	};
	const uint32_t n = sizeof(awkward) / sizeof(*awkward);
	uint32_t state = 1;

	for (uint32_t i = 0; i < count; i++) {
		if (i < n * n) {
			a[i] = float_of(awkward[i / n]);
			b[i] = float_of(awkward[i % n]);
			continue;
		}
		state = state * 1664525 + 1013904223;
		a[i] = float_of(state);
		state = state * 1664525 + 1013904223;
		/* near in magnitude, or else most sums are just the larger one */
		b[i] = float_of((state & 0x807fffff) | ((state >> 8 & 3) << 23) |
				(0x3e800000 & (state << 3)));
	}
}

static bool vecadd(void)
{
	enum { COUNT = 4096 };
	struct context context CONTEXT_CLEANUP;
	struct buffer a BUFFER_CLEANUP, b BUFFER_CLEANUP, c BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_vecadd packet;
	const float *x, *y, *sums;

	TRY(context_open(&context));
	TRY(buffer_make(&context, COUNT * sizeof(float), &a));
	TRY(buffer_make(&context, COUNT * sizeof(float), &b));
	TRY(buffer_make(&context, COUNT * sizeof(float), &c));
	TRY(channel_make(&context, 0, &channel));
	make_operands(a.map, b.map, COUNT);
	packet = VECADD(.a = a.handle, .b = b.handle, .c = c.handle, .count = COUNT);
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(wait_done(&channel));
	x = a.map;
	y = b.map;
	sums = c.map;
	for (uint32_t i = 0; i < COUNT; i++) {
		float want = x[i] + y[i];

		EXPECT(isnan(want) ? isnan(sums[i]) : !memcmp(&sums[i], &want, sizeof(want)),
		       "%a + %a = %a, want %a", (double)x[i], (double)y[i], (double)sums[i],
		       (double)want);
	}
	return true;
}

/* Several packets make one job, with one end. */
static bool one_job(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_fill packets[3];
	struct fakegpu_ctx_info info;

	TRY(context_open(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel));
	for (uint32_t i = 0; i < 3; i++)
		packets[i] =
			FILL(.handle = buffer.handle, .value = i + 1, .offset = 4 * i, .length = 4);
	TRY(submit(&channel, packets, sizeof(packets)));
	TRY(wait_done(&channel));
	for (uint32_t i = 0; i < 3; i++)
		EXPECT(((uint32_t *)buffer.map)[i] == i + 1, "packet %u was not run", i);
	TRY(context_info(&context, &info));
	EXPECT(info.submits == 1 && info.completions == 1, "%llu submits, %llu completions",
	       (unsigned long long)info.submits, (unsigned long long)info.completions);
	return true;
}

static bool entry_is_sane(const struct fakegpu_completion *entry)
{
	EXPECT(entry->status == 0, "job %llu has status %u", (unsigned long long)entry->seqno,
	       entry->status);
	EXPECT(entry->bytes == 4, "job %llu wrote %llu bytes", (unsigned long long)entry->seqno,
	       (unsigned long long)entry->bytes);
	EXPECT(entry->queued_ns && entry->queued_ns <= entry->start_ns &&
		       entry->start_ns <= entry->done_ns,
	       "job %llu: queued %llu, start %llu, done %llu", (unsigned long long)entry->seqno,
	       (unsigned long long)entry->queued_ns, (unsigned long long)entry->start_ns,
	       (unsigned long long)entry->done_ns);
	return true;
}

/* Two channels, in turn: each timeline rises by one, in order of time. */
static bool completion_order(void)
{
	struct context context CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct channel channel[2] = {{0}, {0}};
	struct fakegpu_packet_fill packet;
	const struct fakegpu_completion_head *head;
	const struct fakegpu_completion *entries;
	uint64_t seqno[FAKEGPU_MAX_CHANNELS] = {0}, before = 0;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	TRY(channel_make(&context, 0, &channel[0]));
	TRY(channel_make(&context, 0, &channel[1]));
	packet = FILL(.handle = buffer.handle, .length = 4);
	for (int i = 0; i < 2 * JOBS; i++)
		TRY(submit(&channel[i % 2], &packet, sizeof(packet)));
	TRY(wait_done(&channel[0]));
	TRY(wait_done(&channel[1]));
	head = context.completions;
	EXPECT(head->entry_size == sizeof(*entries) && head->entries >= 2 * JOBS &&
		       head->entries * sizeof(*entries) + sizeof(*head) <= FAKEGPU_COMPLETION_SIZE,
	       "%u entries of %u bytes", head->entries, head->entry_size);
	EXPECT(__atomic_load_n(&head->written, __ATOMIC_ACQUIRE) == 2 * JOBS, "%llu were written",
	       (unsigned long long)head->written);
	entries = (const struct fakegpu_completion *)(head + 1);
	for (int i = 0; i < 2 * JOBS; i++) {
		TRY(entry_is_sane(&entries[i]));
		EXPECT(entries[i].channel == channel[0].index ||
			       entries[i].channel == channel[1].index,
		       "entry %d is of slot %u", i, entries[i].channel);
		EXPECT(entries[i].seqno == ++seqno[entries[i].channel],
		       "entry %d of slot %u is job %llu", i, entries[i].channel,
		       (unsigned long long)entries[i].seqno);
		EXPECT(entries[i].done_ns >= before, "entry %d ended before the one before it", i);
		before = entries[i].done_ns;
	}
	EXPECT(fence_slot(&channel[0])->seqno == JOBS && fence_slot(&channel[0])->jobs == JOBS,
	       "the fence page says seqno %llu, jobs %llu",
	       (unsigned long long)fence_slot(&channel[0])->seqno,
	       (unsigned long long)fence_slot(&channel[0])->jobs);
	return true;
}

static bool wait_deadline(void)
{
	const uint64_t busy_ns = SECOND_NS / 10, soon_ns = SECOND_NS / 50;
	struct fakegpu_packet_delay packet = DELAY(.ns = busy_ns);
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_wait wait;
	uint64_t submitted, deadline, now;

	TRY(context_open(&context));
	TRY(channel_make(&context, 0, &channel));
	submitted = now_ns();
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(expect_errno("WAIT that only looks", ETIME, wait_errno(&channel, 1, 0)));
	deadline = now_ns() + soon_ns;
	wait = (struct fakegpu_wait){
		.channel = channel.handle, .seqno = 1, .deadline_ns = deadline};
	EXPECT_CALL(ETIME, context.fd, WAIT, &wait);
	now = now_ns();
	EXPECT(now >= deadline, "WAIT ended %llu ns before its deadline",
	       (unsigned long long)(deadline - now));
	EXPECT(wait.signalled == 0, "ETIME, though %llu was signalled",
	       (unsigned long long)wait.signalled);
	TRY(wait_done(&channel));
	now = now_ns();
	EXPECT(now >= submitted + busy_ns, "a delay of %llu ns took %llu",
	       (unsigned long long)busy_ns, (unsigned long long)(now - submitted));
	TRY(expect_errno("WAIT that looks at the past", 0, wait_errno(&channel, 1, 0)));
	TRY(expect_errno("WAIT past its deadline", 0, wait_errno(&channel, 1, 1)));
	TRY(expect_errno("WAIT for what was not submitted", ETIME, wait_errno(&channel, 2, 0)));
	return true;
}

/* A context with little to do must not wait until one with much is through. */
static bool turns(void)
{
	struct context busy CONTEXT_CLEANUP, quick CONTEXT_CLEANUP;
	struct channel long_jobs CHANNEL_CLEANUP, short_job CHANNEL_CLEANUP;
	struct fakegpu_packet_delay delay = DELAY(.ns = SECOND_NS / 50), blink = DELAY(.ns = 1000);

	TRY(context_open(&busy));
	TRY(context_open(&quick));
	TRY(context_map(&busy));
	TRY(context_map(&quick));
	TRY(channel_make(&busy, 0, &long_jobs));
	TRY(channel_make(&quick, 0, &short_job));
	for (int i = 0; i < 5; i++)
		TRY(submit(&long_jobs, &delay, sizeof(delay)));
	TRY(submit(&short_job, &blink, sizeof(blink)));
	TRY(wait_done(&short_job));
	TRY(wait_done(&long_jobs));
	EXPECT(fence_slot(&short_job)->done_ns < fence_slot(&long_jobs)->done_ns,
	       "a short job had to wait for five long ones of another context");
	return true;
}

const struct check checks_job[] = {
	{"fill", fill},
	{"copy", copy},
	{"vecadd", vecadd},
	{"one-job", one_job},
	{"completion-order", completion_order},
	{"wait-deadline", wait_deadline},
	{"turns", turns},
	{0},
};
