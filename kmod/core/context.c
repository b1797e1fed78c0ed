// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Contexts: what an open file owns, from open to the last close, and the
 * poison that a fault leaves in exactly one of them.
 */
#include "internal.h"

/* The pages every GPU context has, whether it makes a channel or not. */
static int map_pages(struct fgpu_context *context)
{
	void *backing = context->backing;

	context->doorbells = fgpu_port_backing_get(backing, FAKEGPU_OFF_DOORBELL, FAKEGPU_PAGE);
	if (!context->doorbells)
		return -ENOMEM;
	context->fences = fgpu_port_backing_get(backing, FAKEGPU_OFF_FENCE, FAKEGPU_PAGE);
	if (!context->fences)
		goto doorbells;
	context->completions =
		fgpu_port_backing_get(backing, FAKEGPU_OFF_COMPLETION, FAKEGPU_COMPLETION_SIZE);
	if (!context->completions)
		goto fences;
	context->completions->entries = FAKEGPU_COMPLETION_SIZE / FAKEGPU_SLOT - 1;
	context->completions->entry_size = FAKEGPU_SLOT;
	return 0;

fences:
	fgpu_port_backing_put(backing, FAKEGPU_OFF_FENCE, FAKEGPU_PAGE);
doorbells:
	fgpu_port_backing_put(backing, FAKEGPU_OFF_DOORBELL, FAKEGPU_PAGE);
	return -ENOMEM;
}

static void unmap_pages(struct fgpu_context *context)
{
	void *backing = context->backing;

	fgpu_port_backing_put(backing, FAKEGPU_OFF_COMPLETION, FAKEGPU_COMPLETION_SIZE);
	fgpu_port_backing_put(backing, FAKEGPU_OFF_FENCE, FAKEGPU_PAGE);
	fgpu_port_backing_put(backing, FAKEGPU_OFF_DOORBELL, FAKEGPU_PAGE);
}

static void context_event(struct fgpu_context *context, enum fgpu_event_type type)
{
	struct fgpu_event event = {
		.type = type,
		.context = context->id,
		.xid = context->xid,
		.now = fgpu_port_now(),
	};

	fgpu_port_event(context->device, &event);
}

static void enlist(struct fgpu_context *context)
{
	struct fgpu_device *device = context->device;

	context->id = device->next_id;
	device->next_id += device->config.count;
	fgpu_list_append(&device->contexts, &context->link);
	context_event(context, FGPU_EVENT_CONTEXT_OPEN);
}

int fgpu_context_open(struct fgpu_device *device, enum fgpu_node node, int pid, const char *name,
		      void *backing, struct fgpu_context **ret)
{
	struct fgpu_context *context = fgpu_port_alloc(sizeof(*context));
	int error = 0;

	if (!context)
		return -ENOMEM;
	context->device = device;
	context->node = node;
	context->pid = pid;
	context->backing = backing;
	fgpu_log_copy(context->name, name, sizeof(context->name));
	fgpu_list_init(&context->link);
	fgpu_list_init(&context->sharer.link);
	fgpu_list_init(&context->buffers);
	fgpu_sharing_init(&context->sharing);
	context->place = &context->buffers;
	if (node == FGPU_NODE_GPU)
		error = map_pages(context);
	if (error) {
		fgpu_port_free(context);
		return error;
	}

	fgpu_device_lock(device);
	if (node == FGPU_NODE_GPU && device->lost)
		error = -ENODEV;
	else
		enlist(context);
	fgpu_device_unlock(device);
	if (error) {
		unmap_pages(context);
		fgpu_port_free(context);
		return error;
	}
	*ret = context;
	return 0;
}

/* Unlocked: the engine knows nothing of it any more, and big buffers take time. */
static void release(struct fgpu_context *context)
{
	uint32_t i;

	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++)
		if (context->channels[i])
			fgpu_channel_free(context->channels[i]);
	while (!fgpu_list_empty(&context->buffers))
		fgpu_buffer_release(context,
				    fgpu_entry(context->buffers.next, struct fgpu_buffer, link));
	if (context->node == FGPU_NODE_GPU)
		unmap_pages(context);
	fgpu_port_free(context->handles.entries);
}

void fgpu_context_close(struct fgpu_context *context)
{
	struct fgpu_device *device = context->device;
	uint32_t i;

	fgpu_device_lock(device);
	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++)
		if (context->channels[i])
			fgpu_channel_stop(context->channels[i]);
	fgpu_list_remove(&context->link);
	fgpu_device_unlock(device);

	release(context);

	fgpu_device_lock(device);
	device->vram_used -= context->bytes;
	context_event(context, FGPU_EVENT_CONTEXT_CLOSE);
	fgpu_device_unlock(device);
	fgpu_port_free(context);
}

uint32_t fgpu_context_id(const struct fgpu_context *context)
{
	return context->id;
}

/* device->trouble says why; `channel` is the one whose job, if any, ends with it. */
void fgpu_context_poison(struct fgpu_context *context, struct fgpu_channel *channel)
{
	struct fgpu_device *device = context->device;
	const struct fgpu_trouble *trouble = &device->trouble;
	uint32_t i;

	context->xid = trouble->xid;
	fgpu_log_xid(device, context, channel, trouble->xid, trouble->text);
	if (channel->job.active)
		fgpu_fence_complete(channel, trouble->xid);
	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++) {
		if (!context->channels[i])
			continue;
		fgpu_fence_error(context->channels[i], trouble->xid);
		fgpu_channel_stop(context->channels[i]);
	}
}
