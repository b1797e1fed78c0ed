// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Channels: a slot in the doorbell and fence pages, and a ring unless work
 * comes by SUBMIT.
 */
#include "internal.h"

static int map_ring(struct fgpu_channel *channel, uint32_t ring_size)
{
	struct fgpu_context *context = channel->context;
	uint64_t offset = FAKEGPU_OFF_RING + channel->index * FAKEGPU_RING_STRIDE;

	channel->ring = fgpu_port_backing_get(context->backing, offset, ring_size);
	if (!channel->ring)
		return -ENOMEM;
	channel->ring_size = ring_size;
	return 0;
}

static void unmap_ring(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;
	uint64_t offset = FAKEGPU_OFF_RING + channel->index * FAKEGPU_RING_STRIDE;

	if (channel->ring)
		fgpu_port_backing_put(context->backing, offset, channel->ring_size);
}

/* Both counters of a ring start at 0, whatever an earlier channel left in the slot. */
static void enlist(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_device *device = context->device;

	channel->slot = &context->fences[channel->index];
	channel->doorbell = &context->doorbells[channel->index];
	memset(channel->slot, 0, sizeof(*channel->slot));
	memset(channel->doorbell, 0, sizeof(*channel->doorbell));
	context->channels[channel->index] = channel;
	context->channel_count++;
	if (channel->ring) {
		fgpu_list_append(&device->rings, &channel->ring_link);
		fgpu_store(&device->ring_count, device->ring_count + 1);
		fgpu_port_kick(device);
	}
}

/* `ring_size` 0: by SUBMIT. */
int fgpu_channel_create(struct fgpu_context *context, uint32_t ring_size, uint32_t *handle,
			uint32_t *index)
{
	struct fgpu_channel *channel;
	uint32_t i = 0;
	int error;

	while (i < FAKEGPU_MAX_CHANNELS && context->channels[i])
		i++;
	if (i == FAKEGPU_MAX_CHANNELS)
		return -ENOSPC;
	channel = fgpu_port_alloc(sizeof(*channel));
	if (!channel)
		return -ENOMEM;
	channel->context = context;
	channel->index = i;
	fgpu_list_init(&channel->sharer.link);
	fgpu_list_init(&channel->ring_link);
	fgpu_list_init(&channel->queue);
	fgpu_list_init(&channel->bindings);
	error = ring_size ? map_ring(channel, ring_size) : 0;
	if (error)
		goto free;
	error = fgpu_handle_new(&context->handles, FGPU_OBJECT_CHANNEL, channel, &channel->handle);
	if (error)
		goto unmap;
	enlist(channel);
	*handle = channel->handle;
	*index = i;
	return 0;

unmap:
	unmap_ring(channel);
free:
	fgpu_port_free(channel);
	return error;
}

void fgpu_channel_stop(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;

	fgpu_engine_forget(channel);
	fgpu_submit_drop_all(channel);
	fgpu_eventfd_signal(channel, UINT64_MAX);
	channel->job.active = false;
	channel->loaded = false;
	channel->delay_left = 0;
	if (!fgpu_list_empty(&channel->ring_link)) {
		fgpu_list_remove(&channel->ring_link);
		fgpu_store(&device->ring_count, device->ring_count - 1);
	}
}

/* The channel is stopped. Touches nothing but its context. */
void fgpu_channel_free(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;

	fgpu_handle_drop(&context->handles, channel->handle);
	context->channels[channel->index] = NULL;
	context->channel_count--;
	unmap_ring(channel);
	fgpu_port_free(channel);
}

struct fgpu_channel *fgpu_channel_get(const struct fgpu_context *context, uint32_t handle)
{
	return fgpu_handle_get(&context->handles, FGPU_OBJECT_CHANNEL, handle);
}
