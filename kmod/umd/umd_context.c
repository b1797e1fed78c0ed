// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Contexts: one open device file each, with a current one per thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "umd.h"

static __thread struct fcu_context *current;

fcuResult fcu_current(struct fcu_context **context)
{
	if (!current)
		return FCU_ERROR_INVALID_CONTEXT;
	*context = current;
	return __atomic_load_n(&current->sticky, __ATOMIC_RELAXED);
}

/* The first fault decides what every later call returns. */
static fcuResult stick(struct fcu_context *context, fcuResult result)
{
	int none = 0;

	__atomic_compare_exchange_n(&context->sticky, &none, (int)result, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return __atomic_load_n(&context->sticky, __ATOMIC_RELAXED);
}

fcuResult fcu_context_fault(struct fcu_context *context, uint32_t xid)
{
	return stick(context, fcu_from_xid(xid));
}

fcuResult fcu_context_error(struct fcu_context *context, int error)
{
	struct fakegpu_ctx_info info = {0};

	if (error == ENODEV || error == ENOSYS)
		return stick(context, fcu_from_errno(error));
	if (error == EIO && !fcu_ioctl(context->fd, FAKEGPU_IOC_CTX_INFO, &info) && info.poisoned)
		return fcu_context_fault(context, info.xid);
	return fcu_from_errno(error);
}

fcuResult fcu_context_map(struct fcu_context *context, uint32_t what, uint32_t handle, int prot,
			  void **map, uint64_t *length)
{
	struct fakegpu_map where = {.what = what, .handle = handle};
	int error = fcu_ioctl(context->fd, FAKEGPU_IOC_MAP, &where);

	if (error)
		return fcu_context_error(context, error);
	*map = mmap(NULL, where.length, prot, MAP_SHARED, context->fd, (off_t)where.offset);
	if (*map == MAP_FAILED) {
		*map = NULL;
		return fcu_from_errno(errno);
	}
	if (length)
		*length = where.length;
	return FCU_SUCCESS;
}

static bool ring_by_environment(void)
{
	const char *submit = getenv("FAKECUDA_SUBMIT");

	return !submit || strcmp(submit, "ioctl") != 0;
}

static fcuResult map_pages(struct fcu_context *context)
{
	void *doorbells = NULL, *fences = NULL;
	fcuResult result;

	result = fcu_context_map(context, FAKEGPU_MAP_DOORBELL, 0, PROT_READ | PROT_WRITE,
				 &doorbells, NULL);
	if (!result)
		result = fcu_context_map(context, FAKEGPU_MAP_FENCE, 0, PROT_READ, &fences, NULL);
	if (!result)
		result = fcu_context_map(context, FAKEGPU_MAP_COMPLETION, 0, PROT_READ,
					 &context->completions, NULL);
	context->doorbells = doorbells;
	context->fences = fences;
	return result;
}

/* Mappings first: the driver sees the last close only when none is left. */
static void context_free(struct fcu_context *context)
{
	while (context->channels) {
		struct fcu_channel *channel = context->channels;

		context->channels = channel->next;
		fcu_channel_free(channel);
	}
	fcu_buffers_unmap(context);
	if (context->doorbells)
		munmap(context->doorbells, FAKEGPU_PAGE);
	if (context->fences)
		munmap((void *)context->fences, FAKEGPU_PAGE);
	if (context->completions)
		munmap(context->completions, FAKEGPU_COMPLETION_SIZE);
	close(context->fd);
	pthread_mutex_destroy(&context->lock);
	free(context);
}

fcuResult fcuCtxCreate(fcuContext *ret, unsigned int flags, fcuDevice device)
{
	struct fcu_context *context;
	fcuResult result;

	if (!ret || flags > FCU_CTX_SUBMIT_IOCTL)
		return FCU_ERROR_INVALID_VALUE;
	context = calloc(1, sizeof(*context));
	if (!context)
		return FCU_ERROR_OUT_OF_MEMORY;
	result = fcu_device_open(device, &context->fd);
	if (result) {
		free(context);
		return result;
	}
	pthread_mutex_init(&context->lock, NULL);
	context->use_ring = flags ? flags == FCU_CTX_SUBMIT_RING : ring_by_environment();
	if (context->use_ring)
		result = map_pages(context);
	if (!result)
		result = fcu_channel_create(context, &context->stream0);
	if (result) {
		context_free(context);
		return result;
	}
	*ret = current = context;
	return FCU_SUCCESS;
}

fcuResult fcuCtxDestroy(fcuContext context)
{
	if (!context)
		return FCU_ERROR_INVALID_CONTEXT;
	if (current == context)
		current = NULL;
	context_free(context);
	return FCU_SUCCESS;
}

fcuResult fcuCtxSetCurrent(fcuContext context)
{
	current = context;
	return FCU_SUCCESS;
}

fcuResult fcuCtxGetCurrent(fcuContext *context)
{
	if (!context)
		return FCU_ERROR_INVALID_VALUE;
	*context = current;
	return FCU_SUCCESS;
}

/* Streams made meanwhile by other threads need not be waited for; one that is
 * destroyed meanwhile must not be: hence the lock, held across the wait. */
fcuResult fcu_context_sync(struct fcu_context *context)
{
	fcuResult result = FCU_SUCCESS;

	pthread_mutex_lock(&context->lock);
	for (struct fcu_channel *channel = context->channels; channel && !result;
	     channel = channel->next)
		result = fcu_channel_sync(channel);
	pthread_mutex_unlock(&context->lock);
	return result;
}

fcuResult fcuCtxSynchronize(void)
{
	struct fcu_context *context;
	fcuResult result = fcu_current(&context);

	return result ? result : fcu_context_sync(context);
}
