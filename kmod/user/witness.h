/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The embedded device as a witness: what it answered and what it did, written
 * into a ring in shared memory that the reader made (memfd) and passed as a
 * descriptor. One writer (the device), one reader; all integers little-endian
 * as the machine has them; every record starts at a multiple of 8.
 *
 * The device never waits for the reader: a record that does not fit is
 * dropped and counted.
 */
#ifndef FGPU_WITNESS_H
#define FGPU_WITNESS_H

#include <stdint.h>

#define FGPU_WITNESS_MAGIC 0x31544957555047ULL /* "GPUWIT1" */
#define FGPU_WITNESS_VERSION 1
#define FGPU_WITNESS_DATA 4096 /* data area begins at this file offset */

/**
 * struct fgpu_witness_head - first page of the file
 * @magic: FGPU_WITNESS_MAGIC, set by the reader before it passes the file on
 * @version: FGPU_WITNESS_VERSION
 * @data_size: bytes of the data area, a power of two, set by the reader
 * @head: bytes ever written; position = head % data_size. Stored last.
 * @tail: bytes ever read, stored by the reader
 * @dropped: records that did not fit
 */
struct fgpu_witness_head {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t data_size;
	uint64_t head;
	uint8_t pad1[32];
	uint64_t tail;
	uint8_t pad2[56];
	uint64_t dropped;
};

enum fgpu_witness_type {
	FGPU_WITNESS_PAD = 0, /* skip `size` bytes: the next record is at the start */
	FGPU_WITNESS_CALL = 1,
	FGPU_WITNESS_CONTEXT = 2,
	FGPU_WITNESS_PROGRESS = 3,
	FGPU_WITNESS_LOG = 4,
};

struct fgpu_witness_record {
	uint32_t size; /* bytes with this header and padding, a multiple of 8 */
	uint16_t type;
	uint16_t device; /* minor; 255 = control node, 256 = fakegpu-uvm */
	uint64_t ts;	 /* CLOCK_MONOTONIC ns */
};

/**
 * struct fgpu_witness_call - a syscall the device answered
 * @head: ts = when it was received
 * @done_ns: when the answer was given
 * @pid: thread group, in the device's PID namespace
 * @tid: thread
 * @nr: syscall number of the architecture
 * @context: id, 0 = none
 * @ret: return value, or -errno
 * @args: the six arguments as in the registers
 * @in_size: bytes of @data before the call: the ioctl argument, or the path of an open/stat/…
 * @out_size: bytes after it: the ioctl argument as copied out, 0 = nothing
 * @payload_size: bytes of SUBMIT's packets kept (at most 1,024)
 * @data: in, out, payload; each padded to a multiple of 8
 */
struct fgpu_witness_call {
	struct fgpu_witness_record head;
	uint64_t done_ns;
	int32_t pid;
	int32_t tid;
	int32_t nr;
	uint32_t context;
	int64_t ret;
	uint64_t args[6];
	uint16_t in_size;
	uint16_t out_size;
	uint16_t payload_size;
	uint16_t reserved;
	uint8_t data[];
};

/**
 * struct fgpu_witness_context - a context was opened or freed
 * @head: ts
 * @pid: thread group that opened it
 * @context: id
 * @opened: 1 opened, 0 freed
 * @reserved: 0
 * @inode: of the file behind the descriptor (stat(2) st_ino)
 */
struct fgpu_witness_context {
	struct fgpu_witness_record head;
	int32_t pid;
	uint32_t context;
	uint32_t opened;
	uint32_t reserved;
	uint64_t inode;
};

/**
 * struct fgpu_witness_progress - a channel moved; at most every 50 ms each
 * @head: ts
 * @context: id
 * @channel: slot index
 * @wptr: last seen
 * @rptr: bytes consumed
 * @seqno: last signalled
 * @doorbells: changes seen
 * @jobs: jobs ended
 * @xid: 0 or what poisoned the context
 * @reserved: 0
 */
struct fgpu_witness_progress {
	struct fgpu_witness_record head;
	uint32_t context;
	uint32_t channel;
	uint32_t wptr;
	uint32_t rptr;
	uint64_t seqno;
	uint64_t doorbells;
	uint64_t jobs;
	uint32_t xid;
	uint32_t reserved;
};

/**
 * struct fgpu_witness_log - one line of the stand-in's kernel log
 * @head: ts
 * @level: as printk's
 * @length: bytes of @text, without NUL or newline
 * @text: the line
 */
struct fgpu_witness_log {
	struct fgpu_witness_record head;
	uint32_t level;
	uint32_t length;
	char text[];
};

#endif
