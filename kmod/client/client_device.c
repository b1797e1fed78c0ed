// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The device's calls, wrapped just enough to be told apart in a check. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "client.h"
#include "common.h"

unsigned int device_index;

int call(int fd, unsigned long command, void *arg)
{
	return ioctl(fd, command, arg) < 0 ? errno : 0;
}

const char *error_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "success";

	return name ? name : "an errno without a name";
}

bool expect_errno(const char *what, int want, int got)
{
	EXPECT(got == want, "%s: got %s, want %s", what, error_name(got), error_name(want));
	return true;
}

int node_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int device_open(int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/fakegpu%u", device_index);
	return node_open(path, flags);
}

bool context_open(struct context *context)
{
	context->fd = device_open(O_RDWR);
	EXPECT(context->fd >= 0, "open: %s", error_name(-context->fd));
	return true;
}

bool map_object(struct context *context, uint32_t what, uint32_t handle, int prot, void **map,
		uint64_t *length)
{
	struct fakegpu_map where = {.what = what, .handle = handle};

	EXPECT_CALL(0, context->fd, MAP, &where);
	*map = mmap(NULL, where.length, prot, MAP_SHARED, context->fd, (off_t)where.offset);
	if (*map == MAP_FAILED) {
		*map = NULL;
		return fail("mmap at %#llx: %s", (unsigned long long)where.offset,
			    error_name(errno));
	}
	*length = where.length;
	return true;
}

bool context_map(struct context *context)
{
	void *doorbells, *fences, *completions;
	uint64_t length;

	TRY(map_object(context, FAKEGPU_MAP_DOORBELL, 0, PROT_READ | PROT_WRITE, &doorbells,
		       &length));
	context->doorbells = doorbells;
	EXPECT(length == FAKEGPU_PAGE, "doorbell page has %llu bytes", (unsigned long long)length);
	TRY(map_object(context, FAKEGPU_MAP_FENCE, 0, PROT_READ, &fences, &length));
	context->fences = fences;
	EXPECT(length == FAKEGPU_PAGE, "fence page has %llu bytes", (unsigned long long)length);
	TRY(map_object(context, FAKEGPU_MAP_COMPLETION, 0, PROT_READ, &completions, &length));
	context->completions = completions;
	EXPECT(length == FAKEGPU_COMPLETION_SIZE, "completion ring has %llu bytes",
	       (unsigned long long)length);
	return true;
}

void context_close(struct context *context)
{
	if (context->doorbells)
		munmap(context->doorbells, FAKEGPU_PAGE);
	if (context->fences)
		munmap((void *)context->fences, FAKEGPU_PAGE);
	if (context->completions)
		munmap((void *)context->completions, FAKEGPU_COMPLETION_SIZE);
	if (context->fd >= 0)
		close(context->fd);
	*context = (struct context){.fd = -1};
}

bool context_info(struct context *context, struct fakegpu_ctx_info *info)
{
	*info = (struct fakegpu_ctx_info){0};
	EXPECT_CALL(0, context->fd, CTX_INFO, info);
	return true;
}

bool buffer_make(struct context *context, uint64_t size, struct buffer *buffer)
{
	struct fakegpu_alloc alloc = {.size = size};

	EXPECT_CALL(0, context->fd, ALLOC, &alloc);
	EXPECT(alloc.handle, "ALLOC gave handle 0");
	buffer->handle = alloc.handle;
	buffer->size = size;
	TRY(map_object(context, FAKEGPU_MAP_BUFFER, alloc.handle, PROT_READ | PROT_WRITE,
		       &buffer->map, &buffer->length));
	EXPECT(buffer->length >= size, "a buffer of %llu bytes maps as %llu",
	       (unsigned long long)size, (unsigned long long)buffer->length);
	return true;
}

void buffer_unmap(struct buffer *buffer)
{
	if (buffer->map)
		munmap(buffer->map, buffer->length);
	buffer->map = NULL;
}

bool channel_make(struct context *context, uint32_t ring_size, struct channel *channel)
{
	struct fakegpu_channel_create create = {
		.flags = ring_size ? FAKEGPU_CHANNEL_RING : 0,
		.ring_size = ring_size,
	};
	uint64_t length;
	void *ring;

	EXPECT_CALL(0, context->fd, CHANNEL_CREATE, &create);
	EXPECT(create.handle, "CHANNEL_CREATE gave handle 0");
	EXPECT(create.index < FAKEGPU_MAX_CHANNELS, "CHANNEL_CREATE gave slot %u", create.index);
	*channel = (struct channel){.context = context,
				    .handle = create.handle,
				    .index = create.index,
				    .size = ring_size};
	if (!ring_size)
		return true;
	TRY(map_object(context, FAKEGPU_MAP_RING, create.handle, PROT_READ | PROT_WRITE, &ring,
		       &length));
	channel->ring = ring;
	EXPECT(length == ring_size, "a ring of %u bytes maps as %llu", ring_size,
	       (unsigned long long)length);
	return true;
}

void channel_unmap(struct channel *channel)
{
	if (channel->ring)
		munmap(channel->ring, channel->size);
	channel->ring = NULL;
}

bool submit(struct channel *channel, const void *packets, uint32_t length)
{
	struct fakegpu_submit job = {
		.channel = channel->handle, .packets = (uintptr_t)packets, .length = length};

	EXPECT_CALL(0, channel->context->fd, SUBMIT, &job);
	channel->seqno++;
	EXPECT(job.seqno == channel->seqno, "SUBMIT gave seqno %llu, want %llu",
	       (unsigned long long)job.seqno, (unsigned long long)channel->seqno);
	return true;
}

int wait_errno(struct channel *channel, uint64_t seqno, uint64_t deadline_ns)
{
	struct fakegpu_wait wait = {
		.channel = channel->handle, .seqno = seqno, .deadline_ns = deadline_ns};

	return call(channel->context->fd, FAKEGPU_IOC_WAIT, &wait);
}

bool wait_done(struct channel *channel)
{
	struct fakegpu_wait wait = {.channel = channel->handle,
				    .seqno = channel->seqno,
				    .deadline_ns = now_ns() + PATIENCE_NS};

	EXPECT_CALL(0, channel->context->fd, WAIT, &wait);
	EXPECT(wait.signalled >= channel->seqno, "WAIT for %llu succeeded at %llu",
	       (unsigned long long)channel->seqno, (unsigned long long)wait.signalled);
	return true;
}

void ring_put(struct channel *channel, const void *packet)
{
	uint16_t size = ((const struct fakegpu_packet *)packet)->size;
	uint32_t at = channel->wptr % channel->size, left = channel->size - at;
	struct fakegpu_packet pad = {.op = FAKEGPU_OP_NOP, .size = (uint16_t)left};

	if (left < size) {
		memcpy(channel->ring + at, &pad, sizeof(pad));
		channel->wptr += left;
		at = 0;
	}
	memcpy(channel->ring + at, packet, size);
	channel->wptr += size;
}

void ring_fence(struct channel *channel)
{
	struct fakegpu_packet_fence fence = FENCE(.seqno = ++channel->seqno);

	ring_put(channel, &fence);
}

void ring_publish(struct channel *channel)
{
	__atomic_store_n(&channel->context->doorbells[channel->index].wptr, channel->wptr,
			 __ATOMIC_RELEASE);
}

const struct fakegpu_fence_slot *fence_slot(const struct channel *channel)
{
	return &channel->context->fences[channel->index];
}

bool poll_seqno(const struct channel *channel, uint64_t seqno)
{
	uint64_t deadline = now_ns() + PATIENCE_NS;

	while (__atomic_load_n(&fence_slot(channel)->seqno, __ATOMIC_ACQUIRE) < seqno)
		EXPECT(now_ns() < deadline, "fence %llu was not signalled in %llu s",
		       (unsigned long long)seqno, PATIENCE_NS / SECOND_NS);
	return true;
}

bool poll_rptr(const struct channel *channel, uint32_t rptr)
{
	uint64_t deadline = now_ns() + PATIENCE_NS;

	while (__atomic_load_n(&fence_slot(channel)->rptr, __ATOMIC_ACQUIRE) != rptr)
		EXPECT(now_ns() < deadline, "rptr %#x was not reached in %llu s", rptr,
		       PATIENCE_NS / SECOND_NS);
	return true;
}
