// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Buffers: made by the driver, mapped here so that host copies need no syscall. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "umd.h"

static struct fcu_buffer **bucket(struct fcu_context *context, uint32_t handle)
{
	return &context->buffers[handle % FCU_BUFFER_BUCKETS];
}

/* The caller holds the context's lock. */
static struct fcu_buffer *find(struct fcu_context *context, uint32_t handle)
{
	struct fcu_buffer *buffer = *bucket(context, handle);

	while (buffer && buffer->handle != handle)
		buffer = buffer->next;
	return buffer;
}

static void drop(struct fcu_context *context, uint32_t handle)
{
	struct fakegpu_free release = {.handle = handle};

	fcu_ioctl(context->fd, FAKEGPU_IOC_FREE, &release);
}

void fcu_buffers_unmap(struct fcu_context *context)
{
	for (int i = 0; i < FCU_BUFFER_BUCKETS; i++) {
		while (context->buffers[i]) {
			struct fcu_buffer *buffer = context->buffers[i];

			context->buffers[i] = buffer->next;
			munmap(buffer->map, buffer->length);
			free(buffer);
		}
	}
}

static fcuResult allocate(struct fcu_context *context, struct fcu_buffer *buffer)
{
	struct fakegpu_alloc alloc = {.size = buffer->size};
	int error = fcu_ioctl(context->fd, FAKEGPU_IOC_ALLOC, &alloc);
	fcuResult result;

	if (error)
		return fcu_context_error(context, error);
	result = alloc.handle < FCU_HANDLE_MAX ? FCU_SUCCESS : FCU_ERROR_OUT_OF_MEMORY;
	if (!result)
		result = fcu_context_map(context, FAKEGPU_MAP_BUFFER, alloc.handle,
					 PROT_READ | PROT_WRITE, &buffer->map, &buffer->length);
	if (result)
		drop(context, alloc.handle);
	buffer->handle = alloc.handle;
	return result;
}

fcuResult fcuMemAlloc(fcuDevicePtr *pointer, size_t bytes)
{
	struct fcu_context *context;
	struct fcu_buffer *buffer, **link;
	fcuResult result = fcu_current(&context);

	if (result)
		return result;
	if (!pointer || !bytes)
		return FCU_ERROR_INVALID_VALUE;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return FCU_ERROR_OUT_OF_MEMORY;
	buffer->size = bytes;
	result = bytes >> FCU_OFFSET_BITS ? FCU_ERROR_OUT_OF_MEMORY : allocate(context, buffer);
	if (result) {
		free(buffer);
		return result;
	}
	pthread_mutex_lock(&context->lock);
	link = bucket(context, buffer->handle);
	buffer->next = *link;
	*link = buffer;
	pthread_mutex_unlock(&context->lock);
	*pointer = (fcuDevicePtr)buffer->handle << FCU_OFFSET_BITS;
	return FCU_SUCCESS;
}

/* Waits first: work that still uses the buffer would fault. */
fcuResult fcuMemFree(fcuDevicePtr pointer)
{
	struct fakegpu_free release = {.handle = fcu_pointer_handle(pointer)};
	struct fcu_context *context;
	struct fcu_buffer *buffer, **link;
	fcuResult result = fcu_current(&context);
	int error;

	if (result || !pointer)
		return result;
	if (fcu_pointer_offset(pointer))
		return FCU_ERROR_INVALID_VALUE;
	result = fcu_context_sync(context);
	if (result)
		return result;
	pthread_mutex_lock(&context->lock);
	buffer = find(context, release.handle);
	if (buffer) {
		for (link = bucket(context, release.handle); *link != buffer; link = &(*link)->next)
			;
		*link = buffer->next;
	}
	pthread_mutex_unlock(&context->lock);
	if (!buffer)
		return FCU_ERROR_INVALID_VALUE;
	munmap(buffer->map, buffer->length);
	free(buffer);
	error = fcu_ioctl(context->fd, FAKEGPU_IOC_FREE, &release);
	return error ? fcu_context_error(context, error) : FCU_SUCCESS;
}

/* Host memory behind a device range, once the device is done with it. */
static fcuResult host_view(fcuDevicePtr pointer, size_t bytes, void **view)
{
	uint64_t offset = fcu_pointer_offset(pointer);
	struct fcu_context *context;
	struct fcu_buffer *buffer;
	fcuResult result = fcu_current(&context);

	if (!result)
		result = fcu_context_sync(context);
	if (result)
		return result;
	pthread_mutex_lock(&context->lock);
	buffer = find(context, fcu_pointer_handle(pointer));
	if (!buffer || offset > buffer->size || bytes > buffer->size - offset)
		result = FCU_ERROR_INVALID_VALUE;
	else
		*view = (uint8_t *)buffer->map + offset;
	pthread_mutex_unlock(&context->lock);
	return result;
}

fcuResult fcuMemcpyHtoD(fcuDevicePtr to, const void *from, size_t bytes)
{
	void *view;
	fcuResult result = host_view(to, bytes, &view);

	if (!result && !from && bytes)
		return FCU_ERROR_INVALID_VALUE;
	if (!result && bytes)
		memcpy(view, from, bytes);
	return result;
}

fcuResult fcuMemcpyDtoH(void *to, fcuDevicePtr from, size_t bytes)
{
	void *view;
	fcuResult result = host_view(from, bytes, &view);

	if (!result && !to && bytes)
		return FCU_ERROR_INVALID_VALUE;
	if (!result && bytes)
		memcpy(to, view, bytes);
	return result;
}

fcuResult fcuMemcpyDtoD(fcuDevicePtr to, fcuDevicePtr from, size_t bytes)
{
	struct fakegpu_packet_copy copy = {
		.head = {.op = FAKEGPU_OP_COPY, .size = sizeof(copy)},
		.src = fcu_pointer_handle(from),
		.dst = fcu_pointer_handle(to),
		.src_offset = fcu_pointer_offset(from),
		.dst_offset = fcu_pointer_offset(to),
		.length = bytes,
	};
	struct fcu_context *context;
	fcuResult result = fcu_current(&context);

	if (result || !bytes)
		return result;
	return fcu_channel_push(context->stream0, &copy, sizeof(copy));
}

fcuResult fcuMemsetD32(fcuDevicePtr to, uint32_t value, size_t words)
{
	struct fakegpu_packet_fill fill = {
		.head = {.op = FAKEGPU_OP_FILL, .size = sizeof(fill)},
		.handle = fcu_pointer_handle(to),
		.value = value,
		.offset = fcu_pointer_offset(to),
		.length = (uint64_t)words * sizeof(uint32_t),
	};
	struct fcu_context *context;
	fcuResult result = fcu_current(&context);

	if (result || !words)
		return result;
	if (fill.offset % sizeof(uint32_t) || words > SIZE_MAX / sizeof(uint32_t))
		return FCU_ERROR_INVALID_VALUE;
	return fcu_channel_push(context->stream0, &fill, sizeof(fill));
}
