// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ioctls themselves. Arguments have been checked as far as they can be
 * without looking at the context. Out fields are set on success only, but for
 * CHECK_VERSION's answer and what WAIT has seen.
 */
#include "internal.h"

static const char device_name[FAKEGPU_NAME_LEN] = "Fakegpu F100";

static void driver_info(const struct fgpu_device *device, struct fakegpu_info *info)
{
	memset(info, 0, sizeof(*info));
	info->device_count = device->config.count;
	info->uapi_version = FAKEGPU_UAPI_VERSION;
	memcpy(info->version, device->config.version, sizeof(info->version));
}

static void device_info(const struct fgpu_device *device, struct fakegpu_info *info)
{
	static const uint8_t uuid[15] = {0xfa, 0x6e, 0x61, 0x7c, 0x51, 0x0d, 0x4f, 0x10,
					 0x8a, 0x3b, 0x67, 0x70, 0x75, 0x00, 0x00};

	info->device = device->config.index;
	info->pci_bus = device->config.index + 1;
	info->max_channels = FAKEGPU_MAX_CHANNELS;
	info->vram_total = device->config.vram;
	info->vram_used = device->vram_used;
	info->quota = device->config.quota;
	memcpy(info->uuid, uuid, sizeof(uuid));
	info->uuid[15] = (uint8_t)device->config.index;
	memcpy(info->name, device_name, sizeof(device_name));
}

int fgpu_call_info(struct fgpu_context *context, void *arg, const void *payload)
{
	const struct fgpu_device *device = context->device;
	struct fakegpu_info *info = arg;

	(void)payload;
	driver_info(device, info);
	if (context->node == FGPU_NODE_CTL)
		info->device = ~0U;
	else
		device_info(device, info);
	return 0;
}

void fgpu_device_info(struct fgpu_device *device, struct fakegpu_info *info)
{
	fgpu_device_lock(device);
	driver_info(device, info);
	device_info(device, info);
	fgpu_device_unlock(device);
}

int fgpu_call_check_version(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fgpu_device *device = context->device;
	struct fakegpu_check_version *check = arg;
	char theirs[FAKEGPU_VERSION_LEN];
	bool same = !strcmp(check->version, device->config.version);

	(void)payload;
	fgpu_log_copy(theirs, check->version, sizeof(theirs));
	check->reply = same;
	memcpy(check->version, device->config.version, sizeof(check->version));
	if (same || check->mode == FAKEGPU_VERSION_QUERY)
		return 0;
	fgpu_log(device,
		 "FGPU: API mismatch: the client '%s' (pid %d) has the version %s, "
		 "but this kernel module has the version %s.",
		 context->name, context->pid, theirs, device->config.version);
	return -EINVAL;
}

/* Under the fault "fw-timeout": what a call gets whose message to the firmware has no answer. */
static bool firmware_is_silent(struct fgpu_context *context, unsigned int nr, size_t size)
{
	char text[96];

	if (!context->device->fault_count || !fgpu_fault_firmware(context, true))
		return false;
	snprintf(text, sizeof(text), "%s Expected function 103 (GSP_RM_ALLOC) (0x%x 0x%x).",
		 fgpu_xid_text(FGPU_XID_FIRMWARE), nr, (unsigned int)size);
	fgpu_log_xid(context->device, context, NULL, FGPU_XID_FIRMWARE, text);
	return true;
}

int fgpu_call_alloc(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fakegpu_alloc *alloc = arg;

	(void)payload;
	if (firmware_is_silent(context, _IOC_NR(FAKEGPU_IOC_ALLOC), sizeof(*alloc)))
		return -EIO;
	return fgpu_buffer_alloc(context, alloc->size, &alloc->handle);
}

int fgpu_call_free(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fgpu_buffer *buffer = fgpu_buffer_get(context, ((struct fakegpu_free *)arg)->handle);

	(void)payload;
	if (!buffer)
		return -ENOENT;
	fgpu_buffer_free(context, buffer);
	return 0;
}

int fgpu_call_map(struct fgpu_context *context, void *arg, const void *payload)
{
	const struct fgpu_channel *channel;
	const struct fgpu_buffer *buffer;
	struct fakegpu_map *map = arg;

	(void)payload;
	switch (map->what) {
	case FAKEGPU_MAP_BUFFER:
		buffer = fgpu_buffer_get(context, map->handle);
		if (!buffer)
			return -ENOENT;
		map->offset = buffer->offset;
		map->length = buffer->size;
		return 0;
	case FAKEGPU_MAP_RING:
		channel = fgpu_channel_get(context, map->handle);
		if (!channel || !channel->ring)
			return -ENOENT;
		map->offset = FAKEGPU_OFF_RING + channel->index * FAKEGPU_RING_STRIDE;
		map->length = channel->ring_size;
		return 0;
	case FAKEGPU_MAP_DOORBELL:
		map->offset = FAKEGPU_OFF_DOORBELL;
		map->length = FAKEGPU_PAGE;
		return 0;
	case FAKEGPU_MAP_FENCE:
		map->offset = FAKEGPU_OFF_FENCE;
		map->length = FAKEGPU_PAGE;
		return 0;
	default:
		map->offset = FAKEGPU_OFF_COMPLETION;
		map->length = FAKEGPU_COMPLETION_SIZE;
		return 0;
	}
}

int fgpu_call_channel_create(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fakegpu_channel_create *create = arg;

	(void)payload;
	if (firmware_is_silent(context, _IOC_NR(FAKEGPU_IOC_CHANNEL_CREATE), sizeof(*create)))
		return -EIO;
	return fgpu_channel_create(context, create->ring_size, &create->handle, &create->index);
}

int fgpu_call_channel_destroy(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fgpu_channel *channel =
		fgpu_channel_get(context, ((struct fakegpu_channel_destroy *)arg)->handle);

	(void)payload;
	if (!channel)
		return -ENOENT;
	fgpu_channel_stop(channel);
	fgpu_channel_free(channel);
	fgpu_port_kick(context->device); /* whoever waits on it is told ENOENT */
	return 0;
}

int fgpu_call_submit(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fakegpu_submit *submit = arg;
	struct fgpu_channel *channel = fgpu_channel_get(context, submit->channel);
	uint64_t seqno;
	int error;

	if (!channel)
		return -ENOENT;
	if (channel->ring)
		return -EINVAL;
	error = fgpu_submit(channel, payload, submit->length, &seqno);
	if (!error)
		submit->seqno = seqno;
	return error;
}

int fgpu_call_wait(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fakegpu_wait *wait = arg;
	const struct fgpu_channel *channel = fgpu_channel_get(context, wait->channel);

	(void)payload;
	if (!channel)
		return -ENOENT;
	if (channel->signalled < wait->seqno && wait->deadline_ns &&
	    fgpu_port_now() < wait->deadline_ns)
		return -EINPROGRESS;
	wait->signalled = channel->signalled;
	return wait->signalled < wait->seqno ? -ETIME : 0;
}

int fgpu_call_ctx_info(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fakegpu_ctx_info *info = arg;

	(void)payload;
	*info = (struct fakegpu_ctx_info){
		.id = context->id,
		.buffers = context->buffer_count,
		.channels = context->channel_count,
		.bytes = context->bytes,
		.quota = context->device->config.quota,
		.submits = context->submits,
		.completions = context->jobs_done,
		.doorbells = context->doorbells_seen,
		.poisoned = context->xid != 0,
		.xid = context->xid,
	};
	return 0;
}

int fgpu_call_usage(struct fgpu_context *context, void *arg, const void *payload)
{
	const struct fgpu_device *device = context->device;
	struct fakegpu_usage *usage = arg;

	(void)payload;
	usage->now_ns = fgpu_port_now();
	usage->busy_ns = fgpu_engine_busy_ns(device, usage->now_ns);
	usage->jobs = device->jobs_done;
	return 0;
}

static void tell_process(const struct fgpu_context *context, uint64_t now,
			 struct fakegpu_process *process)
{
	process->context = context->id;
	process->pid = (uint32_t)context->pid;
	process->channels = context->channel_count;
	process->xid = context->xid;
	process->bytes = context->bytes;
	process->busy_ns = fgpu_engine_context_ns(context, now);
	fgpu_log_copy(process->name, context->name, sizeof(process->name));
}

/* The list is in the order of ids: they only grow. */
int fgpu_call_processes(struct fgpu_context *context, void *arg, const void *payload)
{
	struct fgpu_device *device = context->device;
	struct fakegpu_processes *list = arg;
	uint32_t after = list->after;
	const struct fgpu_context *one;
	struct fgpu_list *at;

	(void)payload;
	memset(list, 0, sizeof(*list));
	list->after = after;
	list->now_ns = fgpu_port_now();
	fgpu_list_for_each(at, &device->contexts)
	{
		one = fgpu_entry(at, struct fgpu_context, link);
		if (one->node != FGPU_NODE_GPU || one->id <= after)
			continue;
		if (list->count < FAKEGPU_PROCESSES_MAX)
			tell_process(one, list->now_ns, &list->entries[list->count++]);
		else
			list->more++;
	}
	return 0;
}

int fgpu_call_fence_eventfd(struct fgpu_context *context, void *arg, const void *payload)
{
	const struct fakegpu_fence_eventfd *bind = arg;
	const struct fgpu_eventfd *found = payload;
	struct fgpu_channel *channel = fgpu_channel_get(context, bind->channel);

	if (!channel)
		return -ENOENT;
	if (!found)
		return -EBADF;
	return found->error ? found->error : fgpu_eventfd_bind(channel, bind->seqno, found->object);
}

int fgpu_call_uvm_init(struct fgpu_context *context, void *arg, const void *payload)
{
	(void)context;
	(void)arg;
	(void)payload;
	return 0;
}
