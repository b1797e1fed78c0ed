// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Buffer objects: their place in the context's mmap space, their memory, and
 * the quota and device memory they are charged to.
 */
#include "internal.h"

static uint64_t start_after(const struct fgpu_context *context, const struct fgpu_list *at)
{
	const struct fgpu_buffer *buffer;

	if (at == &context->buffers)
		return FAKEGPU_OFF_BUFFER;
	buffer = fgpu_entry(at, const struct fgpu_buffer, link);
	return buffer->offset + buffer->size;
}

static uint64_t end_before(const struct fgpu_context *context, const struct fgpu_list *at)
{
	if (at == &context->buffers)
		return FAKEGPU_OFF_END;
	return fgpu_entry(at, const struct fgpu_buffer, link)->offset;
}

/*
 * Next fit: go on behind the last buffer placed, and come round to freed room
 * in the end. An offset is thus not reused at once, which keeps a program's
 * forgotten mapping from showing it another buffer.
 */
static int place(struct fgpu_context *context, struct fgpu_buffer *buffer)
{
	struct fgpu_list *at = context->place;
	uint64_t start;

	do {
		start = start_after(context, at);
		if (end_before(context, at->next) - start >= buffer->size) {
			buffer->offset = start;
			fgpu_list_insert_after(at, &buffer->link);
			context->place = &buffer->link;
			return 0;
		}
		at = at->next;
	} while (at != context->place);
	return -ENOMEM;
}

static void unplace(struct fgpu_context *context, struct fgpu_buffer *buffer)
{
	if (context->place == &buffer->link)
		context->place = buffer->link.prev;
	fgpu_list_remove(&buffer->link);
}

static int charge(struct fgpu_context *context, uint64_t size)
{
	struct fgpu_device *device = context->device;

	if (size > device->config.quota - context->bytes)
		return -EDQUOT;
	if (size > device->config.vram - device->vram_used)
		return -ENOMEM;
	context->bytes += size;
	device->vram_used += size;
	return 0;
}

static void uncharge(struct fgpu_context *context, uint64_t size)
{
	context->bytes -= size;
	context->device->vram_used -= size;
}

int fgpu_buffer_alloc(struct fgpu_context *context, uint64_t size, uint32_t *handle)
{
	struct fgpu_buffer *buffer;
	int error;

	if (size > UINT64_MAX - (FAKEGPU_PAGE - 1))
		return -EOVERFLOW;
	size = (size + FAKEGPU_PAGE - 1) & ~(uint64_t)(FAKEGPU_PAGE - 1);
	error = charge(context, size);
	if (error)
		return error;

	error = -ENOMEM;
	buffer = fgpu_port_alloc(sizeof(*buffer));
	if (!buffer)
		goto uncharge;
	buffer->size = size;
	if (place(context, buffer))
		goto free;
	buffer->memory = fgpu_port_backing_get(context->backing, buffer->offset, size);
	if (!buffer->memory)
		goto unplace;
	error = fgpu_handle_new(&context->handles, FGPU_OBJECT_BUFFER, buffer, &buffer->handle);
	if (error)
		goto put;
	context->buffer_count++;
	*handle = buffer->handle;
	return 0;

put:
	fgpu_port_backing_put(context->backing, buffer->offset, size);
unplace:
	unplace(context, buffer);
free:
	fgpu_port_free(buffer);
uncharge:
	uncharge(context, size);
	return error;
}

/* All but the charge, which the caller takes off. */
void fgpu_buffer_release(struct fgpu_context *context, struct fgpu_buffer *buffer)
{
	fgpu_handle_drop(&context->handles, buffer->handle);
	fgpu_port_backing_put(context->backing, buffer->offset, buffer->size);
	unplace(context, buffer);
	context->buffer_count--;
	fgpu_port_free(buffer);
}

void fgpu_buffer_free(struct fgpu_context *context, struct fgpu_buffer *buffer)
{
	uint64_t size = buffer->size;

	fgpu_buffer_release(context, buffer);
	uncharge(context, size);
}

struct fgpu_buffer *fgpu_buffer_get(const struct fgpu_context *context, uint32_t handle)
{
	return fgpu_handle_get(&context->handles, FGPU_OBJECT_BUFFER, handle);
}
