// SPDX-License-Identifier: MIT
/* How calls.bpf.c says what it saw: as a record in the ring buffer, or as one more in a count. */
#define IOC_WRITE_BIT (1U << 30)
#define IOC_READ_BIT (1U << 31)

static __always_inline u32 argument_size(u32 request, u32 direction)
{
	return request & direction ? (request >> 16) & 0x3fff : 0;
}

/* What was not read before the call is read after it, whichever way the argument goes. */
static __always_inline u32 argument_after(u32 request, struct entry *entry)
{
	return argument_size(request, entry ? IOC_READ_BIT : IOC_READ_BIT | IOC_WRITE_BIT);
}

static __always_inline u32 copy_user(u8 *to, u32 size, u32 room, u64 from)
{
	if (size > room)
		size = room;
	if (!size || bpf_probe_read_user(to, size, (void *)from))
		return 0;
	return size;
}

#if COUNT
static __always_inline void report(u32 nr, u32 device, struct regs *r, s64 ret, struct entry *entry,
				   u64 id)
{
	struct what key = {.pid = id >> 32, .nr = nr, .device = device};
	u32 zero = 0, bucket;
	struct tally *tally;
	u64 took;

	if (nr == NR_ioctl) {
		struct place place = {.pid = key.pid, .fd = r->di};

		key.request = r->si;
		if (device == DEV_UNKNOWN || device == DEV_ASK)
			asked.update(&place, &zero);
	}
	tally = tallies.lookup(&key);
	if (!tally) {
		tally = no_tally.lookup(&zero);
		if (!tally)
			return;
		tallies.insert(&key, tally);
		tally = tallies.lookup(&key);
		if (!tally) {
			lose();
			return;
		}
	}
	__sync_fetch_and_add(&tally->calls, 1);
	if (ret < 0)
		__sync_fetch_and_add(&tally->errors, 1);
	if (!entry)
		return;
	took = bpf_ktime_get_ns() - entry->ts;
	__sync_fetch_and_add(&tally->timed, 1);
	__sync_fetch_and_add(&tally->total_ns, took);
	if (took > tally->max_ns)
		tally->max_ns = took;
	bucket = bpf_log2l(took);
	__sync_fetch_and_add(&tally->buckets[bucket & 31], 1);
}
#else
static __always_inline void fill(struct call *c, u32 word, struct regs *r, s64 ret,
				 struct entry *entry, u64 id)
{
	c->entered = entry ? entry->ts : 0;
	c->left = bpf_ktime_get_ns();
	c->ret = ret;
	c->cgroup = bpf_get_current_cgroup_id();
	c->pid = id >> 32;
	c->tid = id;
	c->word = word;
	c->fd = r->di;
	c->request = r->si;
	c->arg = r->dx;
	c->before_size = 0;
	c->after_size = 0;
	c->stack = r->stack;
}

static __always_inline void save_arguments(struct call *c, struct regs *r)
{
	u64 *args = (u64 *)c->data;

	args[0] = r->di;
	args[1] = r->si;
	args[2] = r->dx;
	args[3] = r->r10;
	args[4] = r->r8;
	args[5] = r->r9;
}

static __always_inline void report_wide(u32 word, struct regs *r, s64 ret, struct entry *entry,
					u64 id, u64 path)
{
	struct wide *w = ring.ringbuf_reserve(sizeof(struct wide));
	u32 size;

	if (!w) {
		lose();
		return;
	}
	fill(&w->first, word | F_WIDE, r, ret, entry, id);
	w->gap_before = 0;
	w->gap_after = 0;
	if (path) {
		save_arguments(&w->first, r);
		s64 length = bpf_probe_read_user_str(w->before, PART, (void *)path);
		w->first.before_size = length > 0 ? length : 0;
		if ((word & 0xffff) == NR_openat2)
			w->first.after_size = copy_user(w->after, 24, PART, r->dx);
	} else {
		size = entry ? entry->before_size : 0;
		if (size > PART)
			size = PART;
		if (entry && size && !bpf_probe_read_kernel(w->before, size, entry->before))
			w->first.before_size = size;
		w->first.after_size =
			copy_user(w->after, argument_after(r->si, entry), PART, r->dx);
	}
	ring.ringbuf_submit(w, BPF_RB_NO_WAKEUP);
}

/* An ioctl whose argument fits the first record. */
static __always_inline void fill_short(struct call *c, u32 word, struct regs *r, s64 ret,
				       struct entry *entry, u64 id)
{
	u32 size;

	fill(c, word, r, ret, entry, id);
	size = entry ? entry->before_size : 0;
	if (size > SHORT)
		size = SHORT;
	if (entry && size && !bpf_probe_read_kernel(c->data, size, entry->before))
		c->before_size = size;
	c->after_size = copy_user(c->data + SHORT, argument_after(r->si, entry), SHORT, r->dx);
}

static __always_inline void fill_part(struct part *part, u32 index, u64 from, u32 length)
{
	u32 begin = index * PART, size = length > begin ? length - begin : 0;

	part->gap = (u64)copy_user(part->data, size, PART, from + begin) << 32;
}

/* A SUBMIT, with its packets: read at its return, when they are still the caller's. */
static __always_inline void report_submit(u32 word, struct regs *r, s64 ret, struct entry *entry,
					  u64 id)
{
	struct {
		u32 channel, flags;
		u64 packets;
		u32 length, pad;
	} submit = {};
	struct many_packets *many;
	struct few_packets *few;

	bpf_probe_read_user(&submit, sizeof(submit), (void *)r->dx);
	if (submit.length > PACKETS_KEPT)
		submit.length = PACKETS_KEPT;
	if (submit.length <= FEW_PARTS * PART) {
		few = ring.ringbuf_reserve(sizeof(struct few_packets));
		if (!few) {
			lose();
			return;
		}
		fill_short(&few->first, word | F_PACKETS, r, ret, entry, id);
		fill_part(&few->part[0], 0, submit.packets, submit.length);
		ring.ringbuf_submit(few, BPF_RB_NO_WAKEUP);
		return;
	}
	many = ring.ringbuf_reserve(sizeof(struct many_packets));
	if (!many) {
		lose();
		return;
	}
	fill_short(&many->first, word | F_PACKETS, r, ret, entry, id);
#pragma clang loop unroll(full)
	for (u32 i = 0; i < MANY_PARTS; i++)
		fill_part(&many->part[i], i, submit.packets, submit.length);
	ring.ringbuf_submit(many, BPF_RB_NO_WAKEUP);
}

static __always_inline void report(u32 nr, u32 device, struct regs *r, s64 ret, struct entry *entry,
				   u64 id)
{
	u32 word = nr | device << 16;
	struct call *c;

	if (nr == NR_mmap || (device >= DEV_ASK && device != DEV_OTHER))
		word |= F_LOOK;
	if (nr == NR_ioctl && ((u32)r->si >> 16 & 0x3fff) > SHORT && device != DEV_OTHER) {
		report_wide(word, r, ret, entry, id, 0);
		return;
	}
	if (nr == NR_ioctl && (u32)r->si == SUBMIT && device != DEV_OTHER) {
		report_submit(word, r, ret, entry, id);
		return;
	}
	c = ring.ringbuf_reserve(sizeof(struct call));
	if (!c) {
		lose();
		return;
	}
	if (nr != NR_ioctl) {
		fill(c, word, r, ret, entry, id);
		save_arguments(c, r);
	} else {
		fill_short(c, word, r, ret, entry, id);
	}
	ring.ringbuf_submit(c, BPF_RB_NO_WAKEUP);
}
#endif

/* A process or thread was born, runs another program, has ended. */
static __always_inline void report_life(u32 nr, u64 id, u32 parent)
{
#if !COUNT
	struct regs none = {.di = parent};
	struct call *c = ring.ringbuf_reserve(sizeof(struct call));

	if (!c) {
		lose();
		return;
	}
	fill(c, nr | F_LOOK, &none, 0, NULL, id);
	ring.ringbuf_submit(c, BPF_RB_NO_WAKEUP);
#endif
}
