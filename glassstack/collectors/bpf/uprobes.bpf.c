// SPDX-License-Identifier: MIT
/*
 * Functions of the GPU libraries: how often they are called and how long they
 * take, by process. Counted here, so that a launch costs no event.
 *
 * The loader attaches enter_N and leave_N to function N, of up to 24, and gives
 * THREADS to keep track of.
 */
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

static __always_inline int enter(u32 function)
{
	u64 id = bpf_get_current_pid_tgid(), now, *count;
	struct where key = {.tid = id, .function = function};
	struct tally *tally = tally_of(id >> 32, function);
	u32 zero = 0;

	if (!tally) {
		count = lost.lookup(&zero);
		if (count)
			*count += 1;
		return 0;
	}
	__sync_fetch_and_add(&tally->calls, 1);
	now = bpf_ktime_get_ns();
	began.update(&key, &now);
	return 0;
}

static __always_inline int leave(u32 function)
{
	u64 id = bpf_get_current_pid_tgid(), *start, took;
	struct where key = {.tid = id, .function = function};
	struct tally *tally;

	start = began.lookup(&key);
	if (!start)
		return 0;
	took = bpf_ktime_get_ns() - *start;
	began.delete(&key);
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
