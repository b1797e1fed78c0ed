/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inside the UMD. umd_init.c owns the driver and its devices, umd_context.c
 * the contexts, umd_channel.c the two ways to submit and wait, umd_memory.c
 * the buffers; the others are API on top.
 */
#ifndef FAKECUDA_UMD_H
#define FAKECUDA_UMD_H

#include <pthread.h>
#include <stdbool.h>
#include "../uapi/fakegpu.h"
#include "fakecuda.h"

#ifndef FAKECUDA_VERSION
#error "build with -DFAKECUDA_VERSION='\"550.54.14\"'"
#endif

#define FCU_RING_SIZE 65536
#define FCU_BUFFER_BUCKETS 256

/* A device pointer is a buffer's handle and an offset into it: the device
 * checks bounds, as an MMU would, so the launch path need not. */
#define FCU_OFFSET_BITS 40
#define FCU_HANDLE_MAX (UINT32_C(1) << (64 - FCU_OFFSET_BITS))

static inline uint32_t fcu_pointer_handle(fcuDevicePtr pointer)
{
	return (uint32_t)(pointer >> FCU_OFFSET_BITS);
}

static inline uint64_t fcu_pointer_offset(fcuDevicePtr pointer)
{
	return pointer & ((UINT64_C(1) << FCU_OFFSET_BITS) - 1);
}

/**
 * struct fcu_buffer - device memory, mapped for host copies
 * @next: in its bucket
 * @handle: the driver's
 * @map: where the process sees it
 * @size: bytes asked for
 * @length: bytes mapped
 */
struct fcu_buffer {
	struct fcu_buffer *next;
	uint32_t handle;
	void *map;
	uint64_t size;
	uint64_t length;
};

/**
 * struct fcu_channel - a stream
 * @context: owner
 * @next: among the owner's channels
 * @lock: all below but @doorbell and @fence, which are the device's seam
 * @handle: the driver's
 * @ring: mapped command ring; NULL: work goes through SUBMIT
 * @doorbell: this channel's slot
 * @fence: this channel's slot
 * @wptr: bytes written, modulo 2^32
 * @rptr: bytes the device was last seen to have consumed
 * @fenced: @wptr after the last FENCE packet
 * @seqno: of the last FENCE packet or SUBMIT
 * @seen: rptr and seqno at the last look by fcu_channel_query()
 * @seen_ns: when that changed last
 */
struct fcu_channel {
	struct fcu_context *context;
	struct fcu_channel *next;
	pthread_mutex_t lock;
	uint32_t handle;
	uint8_t *ring;
	struct fakegpu_doorbell_slot *doorbell;
	const struct fakegpu_fence_slot *fence;
	uint32_t wptr;
	uint32_t rptr;
	uint32_t fenced;
	uint64_t seqno;
	uint64_t seen;
	uint64_t seen_ns;
};

/**
 * struct fcu_context - an open device file
 * @fd: of /dev/fakegpuN
 * @use_ring: how its channels submit
 * @sticky: first fault's error; every call returns it from then on
 * @lock: @channels and @buffers
 * @channels: all of them, the default stream last
 * @stream0: the default stream
 * @buffers: by handle
 * @doorbells: page, NULL without rings
 * @fences: page, NULL without rings
 * @completions: ring of ended jobs, mapped for profilers; NULL without rings
 */
struct fcu_context {
	int fd;
	bool use_ring;
	int sticky;
	pthread_mutex_t lock;
	struct fcu_channel *channels;
	struct fcu_channel *stream0;
	struct fcu_buffer *buffers[FCU_BUFFER_BUCKETS];
	struct fakegpu_doorbell_slot *doorbells;
	const struct fakegpu_fence_slot *fences;
	void *completions;
};

/* umd_init.c */
int fcu_ioctl(int fd, unsigned long command, void *arg); /* 0 or errno; restarts on EINTR */
fcuResult fcu_device_open(fcuDevice device, int *fd);
uint64_t fcu_spin_ns(void);
uint64_t fcu_now(void); /* CLOCK_MONOTONIC ns, without a syscall */

/* umd_errors.c */
fcuResult fcu_from_errno(int error); /* what a failed ioctl means where nothing is poisoned */
fcuResult fcu_from_xid(uint32_t xid);

/* umd_context.c */
fcuResult fcu_current(struct fcu_context **context);		     /* and its sticky error */
fcuResult fcu_context_error(struct fcu_context *context, int error); /* of a failed ioctl */
fcuResult fcu_context_fault(struct fcu_context *context, uint32_t xid);
fcuResult fcu_context_map(struct fcu_context *context, uint32_t what, uint32_t handle, int prot,
			  void **map, uint64_t *length);
fcuResult fcu_context_sync(struct fcu_context *context);

/* umd_channel.c */
fcuResult fcu_channel_create(struct fcu_context *context, struct fcu_channel **channel);
fcuResult fcu_channel_destroy(struct fcu_channel *channel); /* the driver's side of it */
void fcu_channel_free(struct fcu_channel *channel);	    /* this process's side */
fcuResult fcu_channel_push(struct fcu_channel *channel, const void *packet, uint32_t size);
fcuResult fcu_channel_sync(struct fcu_channel *channel);
fcuResult fcu_channel_query(struct fcu_channel *channel);

/* umd_memory.c */
void fcu_buffers_unmap(struct fcu_context *context);

#endif
