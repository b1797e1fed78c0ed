// SPDX-License-Identifier: MIT
/* Which descriptors of a process are devices: asked and kept up to date by calls.bpf.c. */
/* The compiler drops a mask that a check before it makes needless; the verifier needs the mask. */
#define KEEP(value) asm volatile("" : "+r"(value))

static __always_inline u32 device_of(struct files *known, u64 fd)
{
	if (!known || fd >= FDS)
		return DEV_NONE;
	KEEP(fd);
	return known->fd[fd & (FDS - 1)] & DEV_BITS;
}

static __always_inline u32 node_of(struct files *known, u32 fd)
{
	u32 device = device_of(known, fd);

	return device == DEV_NOT ? DEV_NONE : device;
}

static __always_inline void set_fd(struct files *known, u64 fd, u32 value)
{
	if (!known || fd >= FDS)
		return;
	KEEP(fd);
	known->fd[fd & (FDS - 1)] = value;
}

static __always_inline struct files *files_of(u32 pid)
{
	struct files *known = files.lookup(&pid);
	u32 zero = 0;

	if (known)
		return known;
	known = no_files.lookup(&zero);
	if (known)
		files.insert(&pid, known);
	return files.lookup(&pid);
}

/* Takes over, once, what the loader has found out. */
static __always_inline u32 take_given(u32 pid, u32 fd, u32 device)
{
	struct place place = {.pid = pid, .fd = fd};
	u32 *found = given.lookup(&place);

	if (!found)
		return device;
	device = *found;
	set_fd(files_of(pid), fd, device);
	given.delete(&place);
	return device & DEV_BITS;
}

/*
 * close_range: forgets descriptors, or marks them close-on-exec; gives a device
 * among them. Without a branch in the loop, as the verifier follows each side of
 * each: `in` and `out` are masks.
 */
static __always_inline u32 close_range(struct files *known, u64 first, u64 last, bool mark)
{
	u64 found = DEV_NONE, set = mark ? CLOEXEC : 0, keep = mark ? 0xff : 0;

#pragma clang loop unroll(disable)
	for (u64 fd = 0; fd < FDS; fd++) {
		u64 value = known->fd[fd];
		u64 out = 0 - (((fd - first) | (last - fd) | (value - 1)) >> 63);

		known->fd[fd] = (value & out) | (((value & keep) | set) & ~out);
		found = (found & out) | (value & DEV_BITS & ~out);
	}
	return found == DEV_NOT ? DEV_NONE : found;
}

/* What an opened path is: its beginning decides. */
static __always_inline u32 path_device(u64 path)
{
	union {
		u64 word[3];
		char text[24];
	} start = {};
	char next;

	if (bpf_probe_read_user_str(start.text, sizeof(start.text), (void *)path) < 6)
		return DEV_NONE;
	if (start.word[0] == 0x6b61662f7665642fULL &&
	    (u32)start.word[1] == 0x75706765) { /* "/dev/fak" "egpu" */
		next = start.text[12];
		if (next >= '0' && next <= '7' && !start.text[13])
			return DEV_GPU + next - '0';
		if ((start.word[1] >> 32) == 0x006c7463) /* "ctl" */
			return DEV_CTL;
		if ((start.word[1] >> 32) == 0x6d76752d && !start.text[16]) /* "-uvm" */
			return DEV_UVM;
		return DEV_ASK;
	}
	if (ANY_NODE)
		return (start.word[0] & 0xffffffffffULL) == 0x2f7665642fULL
			       ? DEV_ASK
			       : DEV_NONE;	      /* "/dev/" */
	if (start.word[0] == 0x69766e2f7665642fULL || /* "/dev/nvi" */
	    start.word[0] == 0x6972642f7665642fULL || /* "/dev/dri" */
	    start.word[0] == 0x64666b2f7665642fULL)   /* "/dev/kfd" */
		return DEV_ASK;
	return DEV_NONE;
}

/* Brings the table of descriptors up to date with a call that succeeded. */
static __always_inline void learn(u32 nr, struct regs *r, s64 ret, struct files *known)
{
	u32 source = node_of(known, (u32)r->di);

	if (!known || ret < 0)
		return;
	if (nr == NR_mmap)
		known->mapped = 1;
	else if (nr == NR_dup || nr == NR_dup2)
		set_fd(known, ret, source);
	else if (nr == NR_dup3)
		set_fd(known, ret, source | (r->dx ? CLOEXEC : 0));
	else if (nr == NR_fcntl && r->si == 2)
		set_fd(known, (u32)r->di, source | (r->dx & 1 ? CLOEXEC : 0));
	else if (nr == NR_fcntl)
		set_fd(known, ret, source | (r->si == 1030 ? CLOEXEC : 0));
}
