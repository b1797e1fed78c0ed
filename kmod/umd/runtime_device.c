// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Devices, and the one context per device that the runtime makes by itself. */
#include <pthread.h>
#include <string.h>
#include "runtime.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fcuContext contexts[FCUDART_MAX_DEVICES];
static unsigned int context_flags;
static __thread int device;
static __thread fcuContext bound;

static fcudaError_t bind_slowly(void)
{
	fcuContext context;
	fcudaError_t error = fcudart_init();

	if (error)
		return error;
	pthread_mutex_lock(&lock);
	context = contexts[device];
	if (!context) {
		error = (fcudaError_t)fcudart_driver.fcuCtxCreate(&context, context_flags, device);
		if (!error)
			__atomic_store_n(&contexts[device], context, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (!error)
		error = (fcudaError_t)fcudart_driver.fcuCtxSetCurrent(context);
	if (!error)
		bound = context;
	return error;
}

fcudaError_t fcudart_bind(void)
{
	if (bound && bound == __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE))
		return fcudaSuccess;
	return bind_slowly();
}

fcudaError_t fcudaGetDeviceCount(int *count)
{
	int result = fcudart_init();

	return fcudart_return(result ? result : (int)fcudart_driver.fcuDeviceGetCount(count));
}

fcudaError_t fcudaGetDeviceProperties(struct fcudaDeviceProp *prop, int ordinal)
{
	fcudaError_t error = fcudart_init();
	int result;

	if (error)
		return fcudart_return(error);
	if (!prop)
		return fcudart_return(fcudaErrorInvalidValue);
	memset(prop, 0, sizeof(*prop));
	result = fcudart_driver.fcuDeviceGetName(prop->name, sizeof(prop->name), ordinal);
	if (!result)
		result = fcudart_driver.fcuDeviceGetUuid(prop->uuid, ordinal);
	if (!result)
		result = fcudart_driver.fcuDeviceTotalMem(&prop->totalGlobalMem, ordinal);
	return fcudart_return(result);
}

fcudaError_t fcudaSetDevice(int ordinal)
{
	int count = 0;
	fcudaError_t error = fcudart_init();

	if (!error)
		error = (fcudaError_t)fcudart_driver.fcuDeviceGetCount(&count);
	if (!error && (ordinal < 0 || ordinal >= count))
		error = fcudaErrorInvalidDevice;
	if (!error)
		device = ordinal;
	return fcudart_return(error);
}

fcudaError_t fcudaGetDevice(int *ordinal)
{
	if (!ordinal)
		return fcudart_return(fcudaErrorInvalidValue);
	*ordinal = device;
	return fcudaSuccess;
}

fcudaError_t fcudaSetDeviceFlags(unsigned int flags)
{
	if (flags > fcudaDeviceSubmitIoctl)
		return fcudart_return(fcudaErrorInvalidValue);
	pthread_mutex_lock(&lock);
	context_flags = flags;
	pthread_mutex_unlock(&lock);
	return fcudaSuccess;
}

fcudaError_t fcudaDeviceSynchronize(void)
{
	int result = fcudart_bind();

	return fcudart_return(result ? result : (int)fcudart_driver.fcuCtxSynchronize());
}

fcudaError_t fcudaDeviceReset(void)
{
	fcuContext context;

	pthread_mutex_lock(&lock);
	context = contexts[device];
	__atomic_store_n(&contexts[device], NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	bound = NULL;
	return fcudart_return(context ? (int)fcudart_driver.fcuCtxDestroy(context) : 0);
}
