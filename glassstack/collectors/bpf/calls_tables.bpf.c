// SPDX-License-Identifier: MIT
/* What calls.bpf.c keeps and what it says: devices by number, records, maps. */
#define SCOPE_PIDS 0
#define SCOPE_CGROUP 1
#define SCOPE_SYSTEM 2

#define FDS 1024 /* descriptors from here on are not followed; their ioctls still are */
#define PART 192 /* bytes of a record without the ring buffer's own 8 */
#define SHORT 64 /* arguments up to here fit one record */
#define FEW_PARTS 1
#define MANY_PARTS 6
#define PACKETS_KEPT 1024 /* bytes, as much as the tracer and the embedded device keep */

/* What a descriptor is. 1-15 are fakegpu nodes, 16-119 were named by the loader. */
#define DEV_NONE 0
#define DEV_GPU 1	/* /dev/fakegpu0, and so on */
#define DEV_CTL 9	/* /dev/fakegpuctl */
#define DEV_UVM 10	/* /dev/fakegpu-uvm */
#define DEV_ASK 120	/* a device: the path in the record of its open says which */
#define DEV_UNKNOWN 121 /* an ioctl of the embedded type on a descriptor not seen before */
#define DEV_OTHER 122	/* no device; reported because every ioctl is */
#define DEV_MAPPED 123	/* munmap in a process that maps devices */
#define DEV_OPENING 124
#define DEV_RANGE 125 /* close_range in a process that has devices open */
#define DEV_NOT 126   /* looked at: no device */
#define DEV_BITS 0x7f
#define CLOEXEC 0x80

/* Records that are no calls. */
#define NR_BIRTH 0xfff0
#define NR_EXEC 0xfff1
#define NR_EXIT 0xfff2

#define F_WIDE (1U << 24)
#define F_PACKETS (1U << 25) /* the parts hold the packets of a SUBMIT */
#define F_LOOK (1U << 31)    /* the reader must look at it before it hands it on */

struct regs {
	u64 r10, r9, r8, ax, cx, dx, si, di, nr, ip, cs;
	u64 stack; /* none of the registers: of the program's stack */
};
#define REGS_OFFSET (7 * 8) /* of r10 in struct pt_regs */
#define NO_STACK 0xffff
#define STACKS 16384
#define USER_CS 0x33 /* 64-bit code; a 32-bit call has other numbers */

struct call {
	u64 entered; /* CLOCK_MONOTONIC ns, 0: not seen */
	u64 left;
	s64 ret;
	u64 cgroup;
	u32 pid;
	u32 tid;
	u32 word; /* nr, device << 16, flags */
	s32 fd;
	u32 request;
	u8 before_size;
	u8 after_size;
	u16 stack; /* 0: none, else its number and 1; NO_STACK: there was no room for it */
	u64 arg;
	u8 data[2 * SHORT]; /* before and after; of other calls the six arguments */
};

/* Three records in one reservation. Where the ring buffer's header of the
 * second and third would be is a gap of zeroes: so it can be read at one stride. */
struct wide {
	struct call first;
	u64 gap_before;
	u8 before[PART];
	u64 gap_after;
	u8 after[PART];
};

/* The packets that a SUBMIT points to: of each part the upper half of the gap says how much it holds. */
struct part {
	u64 gap;
	u8 data[PART];
};

struct few_packets {
	struct call first;
	struct part part[FEW_PARTS];
};

struct many_packets {
	struct call first;
	struct part part[MANY_PARTS];
};

struct entry {
	u64 ts;
	u64 args[3];
	u32 pid;
	u32 nr;
	u32 device;
	u32 active;
	u32 before_size;
	u8 before[PART];
};

struct files {
	u8 fd[FDS];
	u32 mapped; /* it has had devices mapped */
};

struct place {
	u32 pid;
	u32 fd;
};

BPF_HASH(running, u32, struct entry, THREADS); /* tid: the call it is in */
BPF_HASH(files, u32, struct files, PROCESSES); /* pid: its descriptors of devices */
BPF_HASH(targets, u32, u32, PROCESSES);	       /* pid: parent */
BPF_HASH(given, struct place, u32, PROCESSES); /* what the loader has found a descriptor to be */
BPF_ARRAY(no_entry, struct entry, 1);
BPF_ARRAY(no_files, struct files, 1);

#if COUNT
struct what {
	u32 pid;
	u32 nr;
	u32 request;
	u32 device;
};

struct tally {
	u64 calls;
	u64 errors;
	u64 timed; /* of these the duration is known */
	u64 total_ns;
	u64 max_ns;
	u64 buckets[32]; /* by the logarithm of the duration in ns */
};

BPF_HASH(tallies, struct what, struct tally, 8192);
BPF_HASH(asked, struct place, u32, 1024); /* descriptors that the loader is to look at */
BPF_ARRAY(no_tally, struct tally, 1);
#else
BPF_RINGBUF_OUTPUT(ring, PAGES);
#endif
#if STACK
BPF_STACK_TRACE(stacks, STACKS);
#endif
BPF_PERCPU_ARRAY(lost, u64, 1); /* what found no room */

static __always_inline void lose(void)
{
	u32 zero = 0;
	u64 *count = lost.lookup(&zero);

	if (count)
		*count += 1;
}

static __always_inline bool wanted(u32 pid)
{
#if SCOPE == SCOPE_PIDS
	return targets.lookup(&pid) != NULL;
#elif SCOPE == SCOPE_CGROUP
	return bpf_get_current_ancestor_cgroup_id(CGROUP_LEVEL) == CGROUP_ID;
#else
	return true;
#endif
}

static __always_inline bool is_open(u32 nr)
{
	return nr == NR_open || nr == NR_openat || nr == NR_openat2 || nr == NR_creat;
}

static __always_inline bool is_followed(u32 nr)
{
	return nr == NR_ioctl || nr == NR_mmap || nr == NR_munmap || nr == NR_close ||
	       nr == NR_dup || nr == NR_dup2 || nr == NR_dup3 || nr == NR_fcntl ||
	       nr == NR_close_range || is_open(nr);
}
