// SPDX-License-Identifier: MIT
/*
 * Functions of the GPU libraries: how often they are called and how long they
 * take, by process. Counted here, so that a launch costs no event.
 *
 * The loader attaches enter_N and leave_N to function N, of up to 24, and gives
 * THREADS to keep track of, PAGES of the ring buffer, and DRIVER, 1 where the
 * driver's tracepoints can be read.
 *
 * Functions below LAUNCHES, given too, are the UMD's launch. Of these the first
 * FULL in each WINDOW_NS of a process are told one by one: which channel's
 * doorbell moved in between is read from the pages that the program has mapped,
 * whose addresses the loader gives. While such a launch is young, what the driver's tracepoints
 * say is told too, so that it can be followed to its fence.
 */
#define FULL 10
#define WINDOW_NS 100000000ULL
#define YOUNG_NS 50000000ULL
#define SLOTS 8

#define SAID_LAUNCH 1
#define SAID_SUBMIT 2
#define SAID_DOORBELL 3
#define SAID_START 4
#define SAID_FENCE 5
#define SAID_FAULT 6

struct where {
	u32 tid;
	u32 function;
};

struct what {
	u32 pid;
	u32 function;
};

struct tally {
	u64 calls;
	u64 timed;
	u64 total_ns;
	u64 max_ns;
	u64 buckets[32]; /* by the logarithm of the duration in ns */
};

BPF_HASH(began, struct where, u64, THREADS);
BPF_HASH(tallies, struct what, struct tally, 16384);
BPF_ARRAY(no_tally, struct tally, 1);
BPF_PERCPU_ARRAY(lost, u64, 1); /* calls that found no room to be counted */

/* Where a channel of a process is found in its memory. */
struct slot {
	u64 doorbell;
	u64 fence;
};

struct slots {
	u32 version; /* of the loader's list, which knows what they are */
	u32 count;
	struct slot at[SLOTS];
};

struct seen {
	u64 seqno;
	u32 rptr;
	u32 wptr;
};

/* A launch between its beginning and its end. */
struct follow {
	u64 called;
	struct slots slots;
	struct seen before[SLOTS];
};

struct window {
	u64 since;
	u32 used;
	u32 pad;
};

/* One thing said. Of a launch `device` is the function, `context` the version of
 * the list and `channel` the place in it; `moved` is how many doorbells did. */
struct said {
	u64 ts;
	u64 until;
	u64 seqno;
	u32 type;
	u32 pid;
	u32 tid;
	u32 device;
	u32 context;
	u32 channel;
	u32 moved;
	u32 before;
	u32 wptr;
	u32 rptr;
};

BPF_HASH(places, u32, struct slots, 4096);
BPF_HASH(windows, u32, struct window, 4096);
BPF_HASH(follows, u32, struct follow, 1024);
BPF_ARRAY(no_follow, struct follow, 1);
BPF_ARRAY(young, u64, 1); /* until when the driver's tracepoints are told */
BPF_RINGBUF_OUTPUT(told, PAGES);

static __always_inline void lose(void)
{
	u32 zero = 0;
	u64 *count = lost.lookup(&zero);

	if (count)
		*count += 1;
}

static __always_inline struct tally *tally_of(u32 pid, u32 function)
{
	struct what key = {.pid = pid, .function = function};
	struct tally *tally = tallies.lookup(&key);
	u32 zero = 0;

	if (tally)
		return tally;
	tally = no_tally.lookup(&zero);
	if (tally)
		tallies.insert(&key, tally);
	return tallies.lookup(&key);
}

/* Whether this launch is one of those that are told in full. */
static __always_inline bool chosen(u32 pid, u64 now)
{
	struct window fresh = {.since = now}, *window = windows.lookup(&pid);

	if (!window) {
		windows.update(&pid, &fresh);
		return true;
	}
	if (now - window->since >= WINDOW_NS) {
		window->since = now;
		window->used = 0;
	}
	if (window->used >= FULL)
		return false;
	window->used++; /* two threads at once may make it one more */
	return true;
}

static __always_inline void look(struct seen *seen, struct slot *slot)
{
	struct fence_slot {
		u64 seqno;
		u32 rptr;
		u32 error;
	} fence = {};

	bpf_probe_read_user(&fence, sizeof(fence), (void *)slot->fence);
	seen->seqno = fence.seqno;
	seen->rptr = fence.rptr;
	/* A device at rest has taken the doorbell page away: then it has seen all there was. */
	if (bpf_probe_read_user(&seen->wptr, sizeof(seen->wptr), (void *)slot->doorbell))
		seen->wptr = fence.rptr;
}

static __always_inline void follow(u64 id, u64 now)
{
	u32 pid = id >> 32, tid = id, zero = 0;
	struct slots *known = places.lookup(&pid);
	struct follow *follow;
	u64 *until;

	if (!chosen(pid, now))
		return;
	follow = no_follow.lookup(&zero);
	if (!follow || follows.update(&tid, follow)) {
		lose();
		return;
	}
	follow = follows.lookup(&tid);
	if (!follow)
		return;
	follow->called = now;
	until = young.lookup(&zero);
	if (until)
		*until = now + YOUNG_NS;
	if (!known)
		return;
	follow->slots = *known;
#pragma clang loop unroll(full)
	for (u32 i = 0; i < SLOTS; i++)
		if (i < known->count)
			look(&follow->before[i], &follow->slots.at[i]);
}

/* Its end: the channel is the one whose doorbell has moved. */
static __always_inline void tell_launch(u32 function, u64 id, u64 now)
{
	u32 tid = id, wptr;
	struct follow *follow = follows.lookup(&tid);
	struct said *said;

	if (!follow)
		return;
	said = told.ringbuf_reserve(sizeof(*said));
	if (!said) {
		lose();
		follows.delete(&tid);
		return;
	}
	said->ts = follow->called;
	said->until = now;
	said->seqno = 0;
	said->type = SAID_LAUNCH;
	said->pid = id >> 32;
	said->tid = tid;
	said->device = function;
	said->context = follow->slots.version;
	said->channel = 0;
	said->moved = 0;
	said->before = said->wptr = said->rptr = 0;
#pragma clang loop unroll(full)
	for (u32 i = 0; i < SLOTS; i++) {
		wptr = follow->before[i].wptr;
		if (i < follow->slots.count)
			bpf_probe_read_user(&wptr, sizeof(wptr),
					    (void *)follow->slots.at[i].doorbell);
		if (wptr == follow->before[i].wptr)
			continue;
		said->moved++;
		said->channel = i;
		said->before = follow->before[i].wptr;
		said->wptr = wptr;
		said->rptr = follow->before[i].rptr;
		said->seqno = follow->before[i].seqno;
	}
	told.ringbuf_submit(said, BPF_RB_NO_WAKEUP);
	follows.delete(&tid);
}

static __always_inline int enter(u32 function)
{
	u64 id = bpf_get_current_pid_tgid(), now;
	struct where key = {.tid = id, .function = function};
	struct tally *tally = tally_of(id >> 32, function);

	if (!tally) {
		lose();
		return 0;
	}
	__sync_fetch_and_add(&tally->calls, 1);
	now = bpf_ktime_get_ns();
	began.update(&key, &now);
	if (function < LAUNCHES)
		follow(id, now);
	return 0;
}

static __always_inline int leave(u32 function)
{
	u64 id = bpf_get_current_pid_tgid(), *start, took, now = bpf_ktime_get_ns();
	struct where key = {.tid = id, .function = function};
	struct tally *tally;

	start = began.lookup(&key);
	if (!start)
		return 0;
	took = now - *start;
	began.delete(&key);
	if (function < LAUNCHES)
		tell_launch(function, id, now);
	tally = tally_of(id >> 32, function);
	if (!tally)
		return 0;
	__sync_fetch_and_add(&tally->timed, 1);
	__sync_fetch_and_add(&tally->total_ns, took);
	if (took > tally->max_ns)
		tally->max_ns = took;
	__sync_fetch_and_add(&tally->buckets[bpf_log2l(took) & 31], 1);
	return 0;
}

#if DRIVER
/* What the driver says of its jobs, while a launch that is followed is young. */
static __always_inline int tell(u32 type, u32 device, u32 context, u32 channel, u64 seqno, u32 wptr)
{
	u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns(), *until;
	struct said *said;
	u32 zero = 0;

	until = young.lookup(&zero);
	if (!until || now > *until)
		return 0;
	said = told.ringbuf_reserve(sizeof(*said));
	if (!said) {
		lose();
		return 0;
	}
	said->ts = said->until = now;
	said->seqno = seqno;
	said->type = type;
	said->pid = id >> 32;
	said->tid = id;
	said->device = device;
	said->context = context;
	said->channel = channel;
	said->moved = said->before = said->rptr = 0;
	said->wptr = wptr;
	told.ringbuf_submit(said, BPF_RB_NO_WAKEUP);
	return 0;
}

TRACEPOINT_PROBE(fakegpu, fakegpu_submit)
{
	return tell(SAID_SUBMIT, args->device, args->context, args->channel, args->seqno, 0);
}

TRACEPOINT_PROBE(fakegpu, fakegpu_doorbell)
{
	return tell(SAID_DOORBELL, args->device, args->context, args->channel, 0, args->wptr);
}

TRACEPOINT_PROBE(fakegpu, fakegpu_job_start)
{
	return tell(SAID_START, args->device, args->context, args->channel, args->seqno, 0);
}

TRACEPOINT_PROBE(fakegpu, fakegpu_fence_signalled)
{
	return tell(SAID_FENCE, args->device, args->context, args->channel, args->seqno, 0);
}

TRACEPOINT_PROBE(fakegpu, fakegpu_fault)
{
	return tell(SAID_FAULT, args->device, args->context, args->channel, args->xid, 0);
}
#endif

#define PROBE(n)                                                                                   \
	int enter_##n(void *ctx)                                                                   \
	{                                                                                          \
		return enter(n);                                                                   \
	}                                                                                          \
	int leave_##n(void *ctx)                                                                   \
	{                                                                                          \
		return leave(n);                                                                   \
	}

// clang-format off
PROBE(0) PROBE(1) PROBE(2) PROBE(3) PROBE(4) PROBE(5) PROBE(6) PROBE(7)
PROBE(8) PROBE(9) PROBE(10) PROBE(11) PROBE(12) PROBE(13) PROBE(14) PROBE(15)
PROBE(16) PROBE(17) PROBE(18) PROBE(19) PROBE(20) PROBE(21) PROBE(22) PROBE(23)
