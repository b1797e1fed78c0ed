// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Pinned host memory: pages that stay where they are. They count against
 * RLIMIT_MEMLOCK of the process, as pages registered for DMA do.
 */
#include <errno.h>
#include <sys/mman.h>
#include "umd.h"

/* The length lies in a page of its own before what the caller gets. */
#define HEAD FAKEGPU_PAGE

fcuResult fcuMemHostAlloc(void **pointer, size_t bytes)
{
	struct fcu_context *context;
	fcuResult result = fcu_current(&context);
	uint8_t *map;
	int error;

	if (result)
		return result;
	if (!pointer || !bytes)
		return FCU_ERROR_INVALID_VALUE;
	if (bytes > SIZE_MAX - HEAD)
		return FCU_ERROR_OUT_OF_MEMORY;
	map = mmap(NULL, bytes + HEAD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return fcu_from_errno(errno);
	if (mlock(map + HEAD, bytes)) {
		error = errno;
		munmap(map, bytes + HEAD);
		/* EPERM: none at all may be locked; EAGAIN: not all of it could be */
		return error == EPERM || error == EAGAIN ? FCU_ERROR_OUT_OF_MEMORY
							 : fcu_from_errno(error);
	}
	*(size_t *)map = bytes + HEAD;
	*pointer = map + HEAD;
	return FCU_SUCCESS;
}

fcuResult fcuMemFreeHost(void *pointer)
{
	size_t *map;

	if (!pointer)
		return FCU_SUCCESS;
	map = (size_t *)((uint8_t *)pointer - HEAD);
	return munmap(map, *map) ? fcu_from_errno(errno) : FCU_SUCCESS;
}
