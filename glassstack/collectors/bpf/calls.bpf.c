// SPDX-License-Identifier: MIT
/*
 * Calls on devices, seen at sys_enter and sys_exit: for some processes with
 * their children, one cgroup or the whole system.
 *
 * Only helpers, tracepoint arguments and the registers (struct pt_regs, part
 * of the architecture's ABI) are used, never a structure of the kernel: the
 * headers this is compiled with may be those of another kernel.
 *
 * A call that a seccomp listener answers (the embedded device) never fires
 * sys_enter. Its sys_exit has the arguments still in the registers, so it is
 * reported from there, with `entered` 0: when it began is not known.
 *
 * One program in four files, which the loader joins in this order: tables,
 * files, report, this one (bcc looks for maps in the main file only).
 *
 * Given by the loader: SCOPE with CGROUP_ID and CGROUP_LEVEL, FOLLOW, ANY_NODE,
 * COUNT, STACK, PAGES of the ring buffer, THREADS and PROCESSES to keep track of,
 * IOC_TYPE of the embedded device, SUBMIT's number, and NR_name of each system
 * call.
 */
/* The device that a call is about; DEV_NONE: it does not matter to us. */
static __always_inline u32 subject(u32 nr, struct regs *r, struct files *known, u32 pid)
{
	u32 device;

	if (nr == NR_ioctl) {
		device = device_of(known, (u32)r->di);
		if (device == DEV_ASK || (device == DEV_NONE && ((r->si >> 8) & 0xff) == IOC_TYPE))
			device = take_given(pid, (u32)r->di, device);
		if (device != DEV_NONE && device != DEV_NOT)
			return device;
		if (device == DEV_NONE && ((r->si >> 8) & 0xff) == IOC_TYPE)
			return DEV_UNKNOWN;
		return ANY_NODE ? DEV_OTHER : DEV_NONE;
	}
	if (is_open(nr))
		return DEV_OPENING;
	if (!known)
		return DEV_NONE;
	if (nr == NR_mmap) /* MAP_ANONYMOUS takes no descriptor */
		return r->r10 & 0x20 ? DEV_NONE : node_of(known, (u32)r->r8);
	if (nr == NR_munmap)
		return known->mapped ? DEV_MAPPED : DEV_NONE;
	if (nr == NR_close_range)
		return DEV_RANGE;
	if (nr == NR_fcntl && r->si != 0 && r->si != 1030 &&
	    r->si != 2) /* F_DUPFD, …_CLOEXEC, F_SETFD */
		return DEV_NONE;
	device = node_of(known, (u32)r->di);
	if (!device && (nr == NR_dup2 || nr == NR_dup3))
		device = node_of(known, (u32)r->si);
	return device;
}

static __always_inline void read_registers(struct regs *r, u64 at)
{
	bpf_probe_read_kernel(r, offsetof(struct regs, stack), (void *)(at + REGS_OFFSET));
	r->stack = 0;
}

RAW_TRACEPOINT_PROBE(sys_enter)
{
	u32 nr = ctx->args[1], zero = 0;
	u64 id = bpf_get_current_pid_tgid();
	u32 pid = id >> 32, tid = id;
	struct files *known;
	struct entry *entry;
	struct regs r;
	u32 device;

	if (!is_followed(nr) || !wanted(pid))
		return 0;
	read_registers(&r, ctx->args[0]);
	if (r.cs != USER_CS)
		return 0;
	known = files.lookup(&pid);
	device = subject(nr, &r, known, pid);
	if (device == DEV_NONE)
		return 0;
	entry = running.lookup(&tid);
	if (!entry) {
		entry = no_entry.lookup(&zero);
		if (!entry || running.update(&tid, entry))
			return 0; /* no room: reported at its return, without its beginning */
		entry = running.lookup(&tid);
		if (!entry)
			return 0;
	}
	entry->pid = pid;
	entry->nr = nr;
	entry->device = device;
	entry->args[0] = r.di;
	entry->args[1] = r.si;
	entry->args[2] = r.dx;
	entry->before_size = 0;
	if (nr == NR_ioctl && !COUNT)
		entry->before_size =
			copy_user(entry->before, argument_size(r.si, IOC_WRITE_BIT), PART, r.dx);
	else if (nr == NR_close)
		set_fd(known, r.di, DEV_NONE); /* now: at its return the number may be another's */
	entry->active = 1;
	entry->ts = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void opened(u32 nr, struct regs *r, s64 ret, struct entry *entry, u64 id,
				   struct files *known)
{
	u64 path = nr == NR_openat || nr == NR_openat2 ? r->si : r->di, flags = 0;
	u32 device = path_device(path), pid = id >> 32;
	struct place place = {.pid = pid, .fd = ret};

	if (ret >= 0 && known)
		set_fd(known, ret, device); /* whatever it was before */
	if (device == DEV_NONE)
		return;
	if (ret >= 0) {
		given.delete(&place);
		known = files_of(pid);
		if (!known)
			lose(); /* its calls will not be told from others */
		if (nr == NR_openat)
			flags = r->dx;
		else if (nr == NR_open)
			flags = r->si;
		else if (nr == NR_openat2)
			bpf_probe_read_user(&flags, sizeof(flags), (void *)r->dx);
		set_fd(known, ret, device | (flags & 02000000 ? CLOEXEC : 0));
	}
#if COUNT
	report(nr, device, r, ret, entry, id);
#else
	report_wide(nr | device << 16 | F_LOOK, r, ret, entry, id, path);
#endif
}

/* The first return of a new task: what its creator could not tell us of it. */
static __always_inline void born(u32 nr, s64 ret, u64 id)
{
	u32 pid = id >> 32, tid = id, *parent;

	if (ret || (nr != NR_clone && nr != NR_clone3 && nr != NR_fork && nr != NR_vfork))
		return;
	if (pid != tid) { /* a thread: the entries made at the fork were for a process */
		targets.delete(&tid);
		files.delete(&tid);
	}
	if (!wanted(pid))
		return;
	parent = targets.lookup(&pid);
	if (parent || files.lookup(&pid))
		report_life(NR_BIRTH, id, parent ? *parent : 0);
}

static __always_inline void note_stack(void *ctx, struct regs *r)
{
#if STACK
	s64 stack = stacks.get_stackid(ctx, BPF_F_USER_STACK);

	r->stack = stack < 0 ? NO_STACK : stack + 1;
#endif
}

/* Early and by itself: its loop is long, and the verifier walks it for every way that leads there. */
static __always_inline void closed_range(void *ctx, struct regs *r, s64 ret, struct entry *entry,
					 u64 id, struct files *known)
{
	u32 device = DEV_NONE;

	if (known && !ret)
		device = close_range(known, (u32)r->di, (u32)r->si, r->dx & 4);
	if (device == DEV_NONE)
		return;
	note_stack(ctx, r);
	report(NR_close_range, device, r, ret, entry, id);
}

RAW_TRACEPOINT_PROBE(sys_exit)
{
	s64 ret = ctx->args[1];
	u64 id = bpf_get_current_pid_tgid();
	u32 pid = id >> 32, tid = id, nr, device;
	struct entry *entry;
	struct files *known;
	struct regs r;

	read_registers(&r, ctx->args[0]);
	nr = r.nr;
	if (!is_followed(nr)) {
		born(nr, ret, id);
		return 0;
	}
	if (r.cs != USER_CS || !wanted(pid))
		return 0;
	known = files.lookup(&pid);
	entry = running.lookup(&tid);
	if (entry && !(entry->active && entry->nr == nr))
		entry = NULL;
	if (entry)
		entry->active = 0;
	if (nr == NR_close_range) {
		closed_range(ctx, &r, ret, entry, id, known);
		return 0;
	}
	device = entry ? entry->device : subject(nr, &r, known, pid);
	if (device == DEV_NONE)
		return 0;
	note_stack(ctx, &r);
	if (device == DEV_OPENING) {
		opened(nr, &r, ret, entry, id, known);
		return 0;
	}
	learn(nr, &r, ret, known);
	if (!entry && nr == NR_close)
		set_fd(known, r.di, DEV_NONE);
	if (nr == NR_fcntl && r.si == 2)
		return 0;
	report(nr, device, &r, ret, entry, id);
	return 0;
}

/* In the parent, before the child runs. For a thread child_pid is its tid: born() takes it back. */
TRACEPOINT_PROBE(sched, sched_process_fork)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32, child = args->child_pid;
	struct files *known = files.lookup(&pid);

	if (known)
		files.update(&child, known);
#if SCOPE == SCOPE_PIDS && FOLLOW
	if (targets.lookup(&pid))
		targets.update(&child, &pid);
#endif
	return 0;
}

/* The descriptors marked close-on-exec are gone, and all mappings. */
TRACEPOINT_PROBE(sched, sched_process_exec)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 pid = id >> 32;
	struct files *known = files.lookup(&pid);

	if (known) {
		u64 *words = (u64 *)known->fd;

#pragma clang loop unroll(disable)
		for (u32 at = 0; at < FDS / 8; at++) {
			u64 gone = (words[at] >> 7 & 0x0101010101010101ULL) * 0xff;

			words[at] &= ~gone;
		}
		known->mapped = 0;
	}
	if (wanted(pid) && (known || SCOPE == SCOPE_PIDS))
		report_life(NR_EXEC, id, 0);
	return 0;
}

TRACEPOINT_PROBE(sched, sched_process_exit)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 pid = id >> 32, tid = id;

	running.delete(&tid);
	if (wanted(pid) && (SCOPE == SCOPE_PIDS || files.lookup(&pid)))
		report_life(NR_EXIT, id, 0);
	/* The end of a first thread need not be the process's, nor its last one (an exec by
	 * another thread): so the loader clears the tables, who can ask. */
	return 0;
}
