/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The fakegpu UAPI: everything a program and the device must agree on.
 *
 * Append-only. Every structure is the same on 32 and 64 bit: fixed-width
 * types, natural alignment, explicit padding that must be zero. Fields marked
 * "out" are ignored on input. An unknown flag, non-zero padding or a wrong
 * size is refused with EINVAL, so that each of them can gain a meaning later.
 */
#ifndef _UAPI_FAKEGPU_H
#define _UAPI_FAKEGPU_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/ioctl.h>
#else
#include <linux/types.h>
#include <sys/ioctl.h>
#endif

#define FAKEGPU_UAPI_VERSION 1

/* Nodes. The GPU and control nodes share one fixed major out of the lower range
 * that is for local and experimental use (120-127): the upper one is where the
 * kernel takes dynamic majors from. fakegpu-uvm gets such a one (the embedded
 * device reports FAKEGPU_UVM_MAJOR). */
#define FAKEGPU_MAJOR 120
#define FAKEGPU_UVM_MAJOR 509
#define FAKEGPU_MAX_DEVICES 8
#define FAKEGPU_MINOR_CTL 255

#define FAKEGPU_VERSION_LEN 64
#define FAKEGPU_NAME_LEN 32

/* The mmap offsets of a context. They are fixed, so that a reader of
 * /proc/PID/maps can tell what each mapping is. */
#define FAKEGPU_PAGE 4096
#define FAKEGPU_OFF_DOORBELL 0x00000000ULL
#define FAKEGPU_OFF_FENCE 0x00001000ULL
#define FAKEGPU_OFF_COMPLETION 0x00010000ULL
#define FAKEGPU_COMPLETION_SIZE 0x00010000ULL
#define FAKEGPU_OFF_RING 0x00100000ULL
#define FAKEGPU_RING_STRIDE 0x00100000ULL
#define FAKEGPU_OFF_BUFFER 0x10000000ULL
#define FAKEGPU_OFF_END 0x1000000000ULL

/* There all contexts of a node of the kernel module have the node's inode: the
 * offset is FAKEGPU_OFF_END times the context's id (modulo FAKEGPU_MAPS_CONTEXTS)
 * above the one that mmap(2) was given. The embedded device's have inodes of their own. */
#define FAKEGPU_MAPS_CONTEXTS (1U << 27)

#define FAKEGPU_MAX_CHANNELS 32
#define FAKEGPU_RING_MIN 4096
#define FAKEGPU_RING_MAX FAKEGPU_RING_STRIDE
#define FAKEGPU_SUBMIT_MAX 65536
#define FAKEGPU_SLOT 64

/**
 * struct fakegpu_info - identity and capacity of a device (INFO)
 * @flags: in, must be 0
 * @device: out, index of the device; ~0 on the control node
 * @device_count: out, devices of this driver
 * @uapi_version: out, FAKEGPU_UAPI_VERSION of the driver
 * @pci_domain: out, PCI-like address, as it appears in the kernel log
 * @pci_bus: out
 * @pci_slot: out
 * @max_channels: out, channels one context may have
 * @vram_total: out, bytes of device memory
 * @vram_used: out, bytes of device memory held by all contexts
 * @quota: out, bytes one context may hold
 * @uuid: out, 16 raw bytes
 * @name: out, marketing name, NUL-terminated
 * @version: out, driver version, NUL-terminated
 */
struct fakegpu_info {
	__u32 flags;
	__u32 device;
	__u32 device_count;
	__u32 uapi_version;
	__u32 pci_domain;
	__u32 pci_bus;
	__u32 pci_slot;
	__u32 max_channels;
	__u64 vram_total;
	__u64 vram_used;
	__u64 quota;
	__u8 uuid[16];
	char name[FAKEGPU_NAME_LEN];
	char version[FAKEGPU_VERSION_LEN];
};

/* fakegpu_check_version.mode */
#define FAKEGPU_VERSION_STRICT 0 /* refuse (EINVAL, and a kernel log line) unless equal */
#define FAKEGPU_VERSION_QUERY 1	 /* only tell */

/**
 * struct fakegpu_check_version - compare user and kernel driver (CHECK_VERSION)
 * @mode: in, FAKEGPU_VERSION_*
 * @reply: out, 1 = the same version, 0 = another
 * @version: in: the library's version, NUL-terminated; out: the driver's
 */
struct fakegpu_check_version {
	__u32 mode;
	__u32 reply;
	char version[FAKEGPU_VERSION_LEN];
};

/**
 * struct fakegpu_alloc - make a buffer object (ALLOC)
 * @size: in, bytes, non-zero; rounded up to pages for the quota
 * @flags: in, must be 0
 * @handle: out, non-zero, valid in this context only
 */
struct fakegpu_alloc {
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct fakegpu_free - drop a buffer object (FREE)
 * @handle: in
 * @pad: in, must be 0
 *
 * A job that still uses the buffer faults (Xid 31), as on the real thing.
 */
struct fakegpu_free {
	__u32 handle;
	__u32 pad;
};

/* fakegpu_map.what */
#define FAKEGPU_MAP_BUFFER 0	 /* handle: a buffer */
#define FAKEGPU_MAP_RING 1	 /* handle: a channel with a ring */
#define FAKEGPU_MAP_DOORBELL 2	 /* handle: 0; one page for the whole context */
#define FAKEGPU_MAP_FENCE 3	 /* handle: 0; one page for the whole context */
#define FAKEGPU_MAP_COMPLETION 4 /* handle: 0; FAKEGPU_COMPLETION_SIZE bytes */

/**
 * struct fakegpu_map - where to mmap(2) something (MAP)
 * @what: in, FAKEGPU_MAP_*
 * @handle: in, 0 unless @what says otherwise
 * @flags: in, must be 0
 * @pad: in, must be 0
 * @offset: out, offset to pass to mmap(2)
 * @length: out, bytes
 */
struct fakegpu_map {
	__u32 what;
	__u32 handle;
	__u32 flags;
	__u32 pad;
	__u64 offset;
	__u64 length;
};

/* fakegpu_channel_create.flags */
#define FAKEGPU_CHANNEL_RING 0x1 /* driven by ring + doorbell; without it, by SUBMIT */

/**
 * struct fakegpu_channel_create - make a channel (CHANNEL_CREATE)
 * @flags: in, FAKEGPU_CHANNEL_*
 * @ring_size: in, bytes, a power of two in [RING_MIN, RING_MAX]; 0 without CHANNEL_RING
 * @handle: out, non-zero; buffers and channels share one handle space
 * @index: out, slot in the doorbell and fence pages, and of the ring
 */
struct fakegpu_channel_create {
	__u32 flags;
	__u32 ring_size;
	__u32 handle;
	__u32 index;
};

/**
 * struct fakegpu_channel_destroy - drop a channel (CHANNEL_DESTROY)
 * @handle: in
 * @pad: in, must be 0
 *
 * Work it still has is dropped; its fence slot keeps the last seqno.
 */
struct fakegpu_channel_destroy {
	__u32 handle;
	__u32 pad;
};

/**
 * struct fakegpu_submit - queue packets on a channel without a ring (SUBMIT)
 * @channel: in, handle
 * @flags: in, must be 0
 * @packets: in, user pointer to whole packets
 * @length: in, bytes, a multiple of 8, 8…FAKEGPU_SUBMIT_MAX
 * @pad: in, must be 0
 * @seqno: out, signalled on the channel's timeline when all of it is done
 *
 * FENCE packets are refused here: the driver owns this timeline.
 */
struct fakegpu_submit {
	__u32 channel;
	__u32 flags;
	__u64 packets;
	__u32 length;
	__u32 pad;
	__u64 seqno;
};

/**
 * struct fakegpu_wait - wait for a fence (WAIT)
 * @channel: in, handle
 * @flags: in, must be 0
 * @seqno: in, wait until the timeline has reached it
 * @deadline_ns: in, absolute CLOCK_MONOTONIC; 0 = only look
 * @signalled: out, the timeline's seqno at return
 *
 * ETIME: not reached by the deadline. EIO: the context is poisoned.
 * EINTR or a restart by the kernel: call again, the deadline is absolute.
 */
struct fakegpu_wait {
	__u32 channel;
	__u32 flags;
	__u64 seqno;
	__u64 deadline_ns;
	__u64 signalled;
};

/**
 * struct fakegpu_ctx_info - what the driver knows of this context (CTX_INFO)
 * @flags: in, must be 0
 * @id: out, unique while the driver lives
 * @buffers: out, buffer objects held
 * @channels: out, channels held
 * @bytes: out, device memory held
 * @quota: out, bytes it may hold
 * @submits: out, jobs accepted by SUBMIT or seen behind a doorbell
 * @completions: out, jobs ended, well or not
 * @doorbells: out, doorbell changes seen
 * @poisoned: out, 1 after a fault
 * @xid: out, Xid of that fault, else 0
 */
struct fakegpu_ctx_info {
	__u32 flags;
	__u32 id;
	__u32 buffers;
	__u32 channels;
	__u64 bytes;
	__u64 quota;
	__u64 submits;
	__u64 completions;
	__u64 doorbells;
	__u32 poisoned;
	__u32 xid;
};

/**
 * struct fakegpu_usage - how busy the device has been (USAGE)
 * @flags: in, must be 0
 * @pad: in, must be 0
 * @now_ns: out, CLOCK_MONOTONIC
 * @busy_ns: out, time since the driver was loaded in which some context had work
 * @jobs: out, jobs ended
 *
 * Counters only: utilisation is the growth of @busy_ns over that of @now_ns
 * between two looks.
 */
struct fakegpu_usage {
	__u32 flags;
	__u32 pad;
	__u64 now_ns;
	__u64 busy_ns;
	__u64 jobs;
};

#define FAKEGPU_PROCESSES_MAX 3

/**
 * struct fakegpu_process - one context, as others see it
 * @context: id
 * @pid: who opened it, as the driver knows it
 * @channels: channels held; 0 = not a compute context
 * @xid: of the fault that poisoned it, else 0
 * @bytes: device memory held
 * @busy_ns: engine time spent on it
 * @name: of the program, NUL-terminated
 */
struct fakegpu_process {
	__u32 context;
	__u32 pid;
	__u32 channels;
	__u32 xid;
	__u64 bytes;
	__u64 busy_ns;
	char name[FAKEGPU_NAME_LEN];
};

/**
 * struct fakegpu_processes - the contexts of a device, a few at a time (PROCESSES)
 * @flags: in, must be 0
 * @after: in, id of the last context already told, 0 at first
 * @count: out, entries that follow
 * @more: out, contexts after these
 * @now_ns: out, CLOCK_MONOTONIC
 * @entries: out, by ascending id
 */
struct fakegpu_processes {
	__u32 flags;
	__u32 after;
	__u32 count;
	__u32 more;
	__u64 now_ns;
	struct fakegpu_process entries[FAKEGPU_PROCESSES_MAX];
};

/**
 * struct fakegpu_fence_eventfd - have a fence signal an eventfd(2) (FENCE_EVENTFD)
 * @channel: in, handle
 * @flags: in, must be 0
 * @seqno: in, the eventfd's counter is raised by 1 when the timeline has reached it
 * @fd: in, the eventfd; may be closed afterwards
 * @pad: in, must be 0
 *
 * Raised exactly once, as soon as a WAIT for @seqno would not block any more:
 * when it is reached (at once if it is already), or when it will not be, for
 * the context is poisoned or closed, the channel destroyed, the device gone.
 * WAIT with a deadline of 0 tells which.
 */
struct fakegpu_fence_eventfd {
	__u32 channel;
	__u32 flags;
	__u64 seqno;
	__s32 fd;
	__u32 pad;
};

/**
 * struct fakegpu_uvm_init - announce a process to the memory manager (UVM_INIT)
 * @flags: in, must be 0
 * @pad: in, must be 0
 *
 * Only on the fakegpu-uvm node; the UMD calls it during initialisation.
 */
struct fakegpu_uvm_init {
	__u32 flags;
	__u32 pad;
};

#define FAKEGPU_IOC_TYPE 0xFA
#define FAKEGPU_IOC_INFO _IOWR(FAKEGPU_IOC_TYPE, 0x01, struct fakegpu_info)
#define FAKEGPU_IOC_CHECK_VERSION _IOWR(FAKEGPU_IOC_TYPE, 0x02, struct fakegpu_check_version)
#define FAKEGPU_IOC_ALLOC _IOWR(FAKEGPU_IOC_TYPE, 0x03, struct fakegpu_alloc)
#define FAKEGPU_IOC_FREE _IOW(FAKEGPU_IOC_TYPE, 0x04, struct fakegpu_free)
#define FAKEGPU_IOC_MAP _IOWR(FAKEGPU_IOC_TYPE, 0x05, struct fakegpu_map)
#define FAKEGPU_IOC_CHANNEL_CREATE _IOWR(FAKEGPU_IOC_TYPE, 0x06, struct fakegpu_channel_create)
#define FAKEGPU_IOC_CHANNEL_DESTROY _IOW(FAKEGPU_IOC_TYPE, 0x07, struct fakegpu_channel_destroy)
#define FAKEGPU_IOC_SUBMIT _IOWR(FAKEGPU_IOC_TYPE, 0x08, struct fakegpu_submit)
#define FAKEGPU_IOC_WAIT _IOWR(FAKEGPU_IOC_TYPE, 0x09, struct fakegpu_wait)
#define FAKEGPU_IOC_CTX_INFO _IOWR(FAKEGPU_IOC_TYPE, 0x0a, struct fakegpu_ctx_info)
#define FAKEGPU_IOC_USAGE _IOWR(FAKEGPU_IOC_TYPE, 0x0b, struct fakegpu_usage)
#define FAKEGPU_IOC_PROCESSES _IOWR(FAKEGPU_IOC_TYPE, 0x0c, struct fakegpu_processes)
#define FAKEGPU_IOC_FENCE_EVENTFD _IOW(FAKEGPU_IOC_TYPE, 0x0d, struct fakegpu_fence_eventfd)
#define FAKEGPU_IOC_UVM_INIT _IOW(FAKEGPU_IOC_TYPE, 0x40, struct fakegpu_uvm_init)

/* Packets: what a ring or a SUBMIT holds. */

#define FAKEGPU_OP_NOP 0 /* any size; pads the ring before it wraps */
#define FAKEGPU_OP_FILL 1
#define FAKEGPU_OP_COPY 2
#define FAKEGPU_OP_VECADD 3
#define FAKEGPU_OP_DELAY 4
#define FAKEGPU_OP_FENCE 5
#define FAKEGPU_OP_FAULT 6

/**
 * struct fakegpu_packet - header of every packet
 * @op: FAKEGPU_OP_*
 * @size: bytes with this header, a multiple of 8; a packet never straddles the ring's end
 * @flags: must be 0
 */
struct fakegpu_packet {
	__u16 op;
	__u16 size;
	__u32 flags;
};

/**
 * struct fakegpu_packet_fill - store a 32-bit value over a range
 * @head: op FILL
 * @handle: buffer
 * @value: what to store
 * @offset: bytes, a multiple of 4
 * @length: bytes, a multiple of 4
 */
struct fakegpu_packet_fill {
	struct fakegpu_packet head;
	__u32 handle;
	__u32 value;
	__u64 offset;
	__u64 length;
};

/**
 * struct fakegpu_packet_copy - copy bytes between buffers (ranges may overlap)
 * @head: op COPY
 * @src: buffer
 * @dst: buffer
 * @src_offset: bytes
 * @dst_offset: bytes
 * @length: bytes
 */
struct fakegpu_packet_copy {
	struct fakegpu_packet head;
	__u32 src;
	__u32 dst;
	__u64 src_offset;
	__u64 dst_offset;
	__u64 length;
};

/**
 * struct fakegpu_packet_vecadd - c[i] = a[i] + b[i] over 32-bit floats
 * @head: op VECADD
 * @a: buffer
 * @b: buffer
 * @c: buffer
 * @count: elements
 * @a_offset: bytes, a multiple of 4
 * @b_offset: bytes, a multiple of 4
 * @c_offset: bytes, a multiple of 4
 *
 * The sum is IEEE-754 binary32, round to nearest even. The kernel module has
 * no FPU to use, so the core computes it in integers; the results are equal
 * bit by bit for everything but the payload of a NaN.
 */
struct fakegpu_packet_vecadd {
	struct fakegpu_packet head;
	__u32 a;
	__u32 b;
	__u32 c;
	__u32 count;
	__u64 a_offset;
	__u64 b_offset;
	__u64 c_offset;
};

/**
 * struct fakegpu_packet_delay - keep the engine busy
 * @head: op DELAY
 * @ns: nanoseconds, at most 10 s
 */
struct fakegpu_packet_delay {
	struct fakegpu_packet head;
	__u64 ns;
};

/**
 * struct fakegpu_packet_fence - end of a job: signal the channel's timeline
 * @head: op FENCE
 * @seqno: greater than the last one of this channel
 */
struct fakegpu_packet_fence {
	struct fakegpu_packet head;
	__u64 seqno;
};

/**
 * struct fakegpu_packet_fault - a program's own mistake, on demand
 * @head: op FAULT
 * @xid: 13, 31 or 32; poisons this context
 * @pad: must be 0
 */
struct fakegpu_packet_fault {
	struct fakegpu_packet head;
	__u32 xid;
	__u32 pad;
};

/**
 * struct fakegpu_doorbell_slot - one channel's slot in the doorbell page
 * @wptr: bytes written to the ring since the channel was made, modulo 2^32
 * @reserved: must stay 0
 *
 * The program stores the packets, then @wptr with release order. Only the
 * program writes this page.
 */
struct fakegpu_doorbell_slot {
	__u32 wptr;
	__u32 reserved[15];
};

/**
 * struct fakegpu_fence_slot - one channel's slot in the fence page
 * @seqno: last signalled on this timeline; stored last, with release order
 * @rptr: bytes consumed from the ring, modulo 2^32
 * @error: Xid that poisoned the context, else 0
 * @doorbells: doorbell changes seen
 * @jobs: jobs ended
 * @done_ns: CLOCK_MONOTONIC time of the last end
 * @reserved: 0
 *
 * Only the device writes this page, and it never reads it back.
 */
struct fakegpu_fence_slot {
	__u64 seqno;
	__u32 rptr;
	__u32 error;
	__u64 doorbells;
	__u64 jobs;
	__u64 done_ns;
	__u64 reserved[3];
};

/**
 * struct fakegpu_completion_head - first 64 bytes of the completion ring
 * @entries: slots that follow
 * @entry_size: bytes of a slot
 * @written: entries ever written; entry n sits in slot n % @entries
 * @reserved: 0
 *
 * The device never waits for a reader: one that falls more than @entries
 * behind can tell how many it lost. @written is stored last.
 */
struct fakegpu_completion_head {
	__u32 entries;
	__u32 entry_size;
	__u64 written;
	__u64 reserved[6];
};

/**
 * struct fakegpu_completion - one ended job
 * @seqno: on the channel's timeline
 * @queued_ns: when the device saw the submit or doorbell; CLOCK_MONOTONIC
 * @start_ns: when the engine began it
 * @done_ns: when it ended
 * @channel: slot index
 * @status: 0 or the Xid that ended it
 * @bytes: memory written by it
 * @reserved: 0
 */
struct fakegpu_completion {
	__u64 seqno;
	__u64 queued_ns;
	__u64 start_ns;
	__u64 done_ns;
	__u32 channel;
	__u32 status;
	__u64 bytes;
	__u64 reserved[2];
};

#endif /* _UAPI_FAKEGPU_H */
