// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Channels: how packets reach the device and how their end is noticed.
 *
 * With a ring, the program writes packets into mapped memory, tells their end
 * through the mapped doorbell page, and reads progress from the mapped fence
 * page: no syscall while the device keeps up. Without, each packet is a SUBMIT
 * and each wait a WAIT.
 *
 * A wait never depends on the device being alive. It polls the fence page only
 * as long as something moves there; then it sleeps in WAIT, whose deadline and
 * errors are the kernel's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "umd.h"

#define WAIT_SLICE_NS 1000000000
#define SPINS_PER_LOOK 64
#define SUBMIT_BACKLOG 512 /* jobs left queued when SUBMIT had no room */

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

static bool reached(const struct fcu_channel *channel, uint64_t seqno)
{
	return __atomic_load_n(&channel->fence->seqno, __ATOMIC_ACQUIRE) >= seqno;
}

/* Changes whenever the channel gets on. */
static uint64_t progress(const struct fcu_channel *channel)
{
	return (__atomic_load_n(&channel->fence->seqno, __ATOMIC_RELAXED) << 32) ^
	       __atomic_load_n(&channel->fence->rptr, __ATOMIC_RELAXED);
}

static fcuResult slot_error(struct fcu_channel *channel)
{
	uint32_t xid = __atomic_load_n(&channel->fence->error, __ATOMIC_RELAXED);

	return xid ? fcu_context_fault(channel->context, xid) : FCU_SUCCESS;
}

/* Sleeps in the kernel until @seqno, at most until @deadline_ns; ETIME is no error. */
static fcuResult channel_sleep(struct fcu_channel *channel, uint64_t seqno, uint64_t deadline_ns,
			       bool *done)
{
	struct fakegpu_wait wait = {
		.channel = channel->handle, .seqno = seqno, .deadline_ns = deadline_ns};
	int error = fcu_ioctl(channel->context->fd, FAKEGPU_IOC_WAIT, &wait);

	*done = !error;
	return error && error != ETIME ? fcu_context_error(channel->context, error) : FCU_SUCCESS;
}

static fcuResult wait_by_ioctl(struct fcu_channel *channel, uint64_t seqno)
{
	fcuResult result;
	bool done;

	do
		result = channel_sleep(channel, seqno, fcu_now() + WAIT_SLICE_NS, &done);
	while (!result && !done);
	return result;
}

/* Until the ring has @room bytes or, with @room 0, until @seqno is signalled. */
static bool ring_ready(struct fcu_channel *channel, uint64_t seqno, uint32_t room)
{
	if (!room)
		return reached(channel, seqno);
	channel->rptr = __atomic_load_n(&channel->fence->rptr, __ATOMIC_ACQUIRE);
	return FCU_RING_SIZE - (channel->wptr - channel->rptr) >= room;
}

static fcuResult wait_by_fence_page(struct fcu_channel *channel, uint64_t seqno, uint32_t room)
{
	uint64_t seen = progress(channel), since = 0, now;
	fcuResult result;
	bool done;

	for (unsigned int spins = 1; !ring_ready(channel, seqno, room); spins++) {
		cpu_relax();
		if (spins % SPINS_PER_LOOK)
			continue;
		result = slot_error(channel);
		if (result)
			return result;
		now = fcu_now();
		if (!since || seen != progress(channel)) {
			seen = progress(channel);
			since = now;
		} else if (now - since >= fcu_spin_ns()) {
			result = channel_sleep(channel, seqno, now + WAIT_SLICE_NS, &done);
			if (result)
				return result;
		}
	}
	return slot_error(channel);
}

/* Copies a packet to the ring's next free place. The device may not look at it
 * before ring_publish(). A NOP fills what is left before the ring's end. */
static fcuResult ring_put(struct fcu_channel *channel, const void *packet, uint32_t size)
{
	uint32_t at = channel->wptr % FCU_RING_SIZE;
	uint32_t pad = FCU_RING_SIZE - at < size ? FCU_RING_SIZE - at : 0;
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = (uint16_t)pad};
	fcuResult result;

	if (FCU_RING_SIZE - (channel->wptr - channel->rptr) < pad + size) {
		result = wait_by_fence_page(channel, channel->seqno, pad + size);
		if (result)
			return result;
	}
	if (pad) {
		memcpy(channel->ring + at, &nop, sizeof(nop));
		channel->wptr += pad;
		at = 0;
	}
	memcpy(channel->ring + at, packet, size);
	channel->wptr += size;
	return FCU_SUCCESS;
}

static void ring_publish(struct fcu_channel *channel)
{
	__atomic_store_n(&channel->doorbell->wptr, channel->wptr, __ATOMIC_RELEASE);
}

/* Ends the job, so that there is a seqno to wait for. */
static fcuResult ring_fence(struct fcu_channel *channel)
{
	struct fakegpu_packet_fence fence = {
		.head = {.op = FAKEGPU_OP_FENCE, .size = sizeof(fence)},
		.seqno = channel->seqno + 1,
	};
	fcuResult result;

	if (channel->wptr == channel->fenced)
		return FCU_SUCCESS;
	result = ring_put(channel, &fence, sizeof(fence));
	if (result)
		return result;
	channel->seqno++;
	channel->fenced = channel->wptr;
	ring_publish(channel);
	return FCU_SUCCESS;
}

/* A fence every quarter of the ring: whoever finds it full has one to sleep on. */
static fcuResult ring_push(struct fcu_channel *channel, const void *packet, uint32_t size)
{
	fcuResult result = ring_put(channel, packet, size);

	if (result)
		return result;
	ring_publish(channel);
	if (channel->wptr - channel->fenced < FCU_RING_SIZE / 4)
		return FCU_SUCCESS;
	return ring_fence(channel);
}

static fcuResult submit(struct fcu_channel *channel, const void *packet, uint32_t size)
{
	struct fakegpu_submit job = {
		.channel = channel->handle, .packets = (uintptr_t)packet, .length = size};
	uint64_t earlier;
	fcuResult result;
	int error;

	while ((error = fcu_ioctl(channel->context->fd, FAKEGPU_IOC_SUBMIT, &job)) == EAGAIN) {
		earlier = channel->seqno > SUBMIT_BACKLOG ? channel->seqno - SUBMIT_BACKLOG
							  : channel->seqno;
		result = wait_by_ioctl(channel, earlier);
		if (result)
			return result;
	}
	if (error)
		return fcu_context_error(channel->context, error);
	channel->seqno = job.seqno;
	return FCU_SUCCESS;
}

fcuResult fcu_channel_push(struct fcu_channel *channel, const void *packet, uint32_t size)
{
	fcuResult result;

	pthread_mutex_lock(&channel->lock);
	if (channel->ring)
		result = ring_push(channel, packet, size);
	else
		result = submit(channel, packet, size);
	pthread_mutex_unlock(&channel->lock);
	return result;
}

/* The seqno that stands for all work pushed so far. */
static fcuResult channel_target(struct fcu_channel *channel, uint64_t *seqno)
{
	fcuResult result = FCU_SUCCESS;

	pthread_mutex_lock(&channel->lock);
	if (channel->ring)
		result = ring_fence(channel);
	*seqno = channel->seqno;
	pthread_mutex_unlock(&channel->lock);
	return result;
}

fcuResult fcu_channel_sync(struct fcu_channel *channel)
{
	uint64_t seqno;
	fcuResult result = channel_target(channel, &seqno);

	if (result)
		return result;
	if (channel->ring)
		return wait_by_fence_page(channel, seqno, 0);
	return seqno ? wait_by_ioctl(channel, seqno) : FCU_SUCCESS;
}

/* True when the fence page has not moved for as long as a wait would poll it;
 * then only the kernel can tell whether the device is still there. */
static bool looks_dead(struct fcu_channel *channel)
{
	uint64_t now = fcu_now();
	bool dead = false;

	pthread_mutex_lock(&channel->lock);
	if (channel->seen != progress(channel) || !channel->seen_ns) {
		channel->seen = progress(channel);
		channel->seen_ns = now;
	} else if (now - channel->seen_ns >= fcu_spin_ns()) {
		channel->seen_ns = now;
		dead = true;
	}
	pthread_mutex_unlock(&channel->lock);
	return dead;
}

fcuResult fcu_channel_query(struct fcu_channel *channel)
{
	uint64_t seqno;
	fcuResult result = channel_target(channel, &seqno);
	bool done = false;

	if (result || !seqno)
		return result;
	if (channel->ring) {
		done = reached(channel, seqno);
		result = slot_error(channel);
		if (!done && !result && looks_dead(channel))
			result = channel_sleep(channel, seqno, 0, &done);
	} else {
		result = channel_sleep(channel, seqno, 0, &done);
	}
	if (result)
		return result;
	return done ? FCU_SUCCESS : FCU_ERROR_NOT_READY;
}

static int channel_drop(struct fcu_context *context, uint32_t handle)
{
	struct fakegpu_channel_destroy destroy = {.handle = handle};

	return fcu_ioctl(context->fd, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy);
}

/* The next channel in this slot starts to count at 0, and so must its doorbell. */
fcuResult fcu_channel_destroy(struct fcu_channel *channel)
{
	int error = channel_drop(channel->context, channel->handle);

	if (channel->doorbell)
		__atomic_store_n(&channel->doorbell->wptr, 0, __ATOMIC_RELEASE);
	return error ? fcu_context_error(channel->context, error) : FCU_SUCCESS;
}

fcuResult fcu_channel_create(struct fcu_context *context, struct fcu_channel **ret)
{
	struct fakegpu_channel_create create = {
		.flags = context->use_ring ? FAKEGPU_CHANNEL_RING : 0,
		.ring_size = context->use_ring ? FCU_RING_SIZE : 0,
	};
	struct fcu_channel *channel = calloc(1, sizeof(*channel));
	fcuResult result = FCU_SUCCESS;
	void *ring = NULL;
	int error;

	if (!channel)
		return FCU_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&channel->lock, NULL);
	channel->context = context;
	error = fcu_ioctl(context->fd, FAKEGPU_IOC_CHANNEL_CREATE, &create);
	if (error)
		result = fcu_context_error(context, error);
	else if (context->use_ring)
		result = fcu_context_map(context, FAKEGPU_MAP_RING, create.handle,
					 PROT_READ | PROT_WRITE, &ring, NULL);
	if (result) {
		if (!error)
			channel_drop(context, create.handle);
		fcu_channel_free(channel);
		return result;
	}
	channel->handle = create.handle;
	channel->ring = ring;
	if (ring) {
		channel->doorbell = &context->doorbells[create.index];
		channel->fence = &context->fences[create.index];
		channel->seqno = channel->fence->seqno;
	}
	pthread_mutex_lock(&context->lock);
	channel->next = context->channels;
	context->channels = channel;
	pthread_mutex_unlock(&context->lock);
	*ret = channel;
	return FCU_SUCCESS;
}

void fcu_channel_free(struct fcu_channel *channel)
{
	if (channel->ring)
		munmap(channel->ring, FCU_RING_SIZE);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}
