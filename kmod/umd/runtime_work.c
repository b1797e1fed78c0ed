// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Memory, launches and streams: driver calls on the thread's device. */
#include <string.h>
#include "runtime.h"

/* Binds, calls the driver, remembers a failure. */
#define ON_DEVICE(call)                                                                            \
	({                                                                                         \
		int result_ = fcudart_bind();                                                      \
		fcudart_return(result_ ? result_ : (int)fcudart_driver.call);                      \
	})

static fcuDevicePtr device_pointer(const void *pointer)
{
	return (fcuDevicePtr)(uintptr_t)pointer;
}

fcudaError_t fcudaMalloc(void **pointer, size_t bytes)
{
	fcuDevicePtr made = 0;
	fcudaError_t error;

	if (!pointer)
		return fcudart_return(fcudaErrorInvalidValue);
	*pointer = NULL;
	if (!bytes)
		return fcudaSuccess;
	error = ON_DEVICE(fcuMemAlloc(&made, bytes));
	*pointer = (void *)(uintptr_t)made;
	return error;
}

fcudaError_t fcudaFree(void *pointer)
{
	return ON_DEVICE(fcuMemFree(device_pointer(pointer)));
}

fcudaError_t fcudaMallocHost(void **pointer, size_t bytes)
{
	return ON_DEVICE(fcuMemHostAlloc(pointer, bytes));
}

fcudaError_t fcudaFreeHost(void *pointer)
{
	return ON_DEVICE(fcuMemFreeHost(pointer));
}

fcudaError_t fcudaMemcpy(void *to, const void *from, size_t bytes, enum fcudaMemcpyKind kind)
{
	switch (kind) {
	case fcudaMemcpyHostToHost:
		memmove(to, from, bytes);
		return fcudaSuccess;
	case fcudaMemcpyHostToDevice:
		return ON_DEVICE(fcuMemcpyHtoD(device_pointer(to), from, bytes));
	case fcudaMemcpyDeviceToHost:
		return ON_DEVICE(fcuMemcpyDtoH(to, device_pointer(from), bytes));
	case fcudaMemcpyDeviceToDevice:
		return ON_DEVICE(fcuMemcpyDtoD(device_pointer(to), device_pointer(from), bytes));
	}
	return fcudart_return(fcudaErrorInvalidValue);
}

fcudaError_t fcudaLaunchKernel(const char *kernel, unsigned int grid, unsigned int block,
			       void **args, fcudaStream_t stream)
{
	return ON_DEVICE(fcuLaunchKernel(kernel, grid, block, args, stream));
}

fcudaError_t fcudaStreamCreate(fcudaStream_t *stream)
{
	return ON_DEVICE(fcuStreamCreate(stream, 0));
}

fcudaError_t fcudaStreamDestroy(fcudaStream_t stream)
{
	return ON_DEVICE(fcuStreamDestroy(stream));
}

fcudaError_t fcudaStreamSynchronize(fcudaStream_t stream)
{
	return ON_DEVICE(fcuStreamSynchronize(stream));
}

fcudaError_t fcudaStreamQuery(fcudaStream_t stream)
{
	return ON_DEVICE(fcuStreamQuery(stream));
}
