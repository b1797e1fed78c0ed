/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libfakecudart.so: the runtime over the UMD, in the shape of the CUDA runtime
 * API. It is no driver: at its first call that needs one it loads
 * libfakecuda.so.1 with dlopen(3) and checks that the driver is new enough;
 * none, or too old a one: error 35. From then on it turns implicit things
 * (initialisation, one context per device) into driver calls.
 *
 * Every function may be called from any thread.
 */
#ifndef FAKECUDART_H
#define FAKECUDART_H

#include <stddef.h>
#include <stdint.h>
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FCUDART_API __attribute__((visibility("default")))

#define FCUDART_ENUM_ROW(number, driver, runtime, text) fcuda##runtime = number,
typedef enum { FAKECUDA_ERRORS(FCUDART_ENUM_ROW) } fcudaError_t;

typedef struct fcu_channel *fcudaStream_t; /* NULL: the default stream */

enum fcudaMemcpyKind {
	fcudaMemcpyHostToHost = 0,
	fcudaMemcpyHostToDevice = 1,
	fcudaMemcpyDeviceToHost = 2,
	fcudaMemcpyDeviceToDevice = 3,
};

/* fcudaSetDeviceFlags(): FCU_CTX_SUBMIT_* of the driver API */
#define fcudaDeviceSubmitAuto 0x0
#define fcudaDeviceSubmitRing 0x1
#define fcudaDeviceSubmitIoctl 0x2

/**
 * struct fcudaDeviceProp - what fcudaGetDeviceProperties() tells
 * @name: marketing name
 * @uuid: 16 raw bytes
 * @totalGlobalMem: bytes of device memory
 */
struct fcudaDeviceProp {
	char name[256];
	uint8_t uuid[16];
	size_t totalGlobalMem;
};

/* Versions as 1000 * major + 10 * minor. Neither needs a device; the driver's is 0
 * where there is no driver. */
FCUDART_API fcudaError_t fcudaRuntimeGetVersion(int *version);
FCUDART_API fcudaError_t fcudaDriverGetVersion(int *version);

FCUDART_API fcudaError_t fcudaGetDeviceCount(int *count);
FCUDART_API fcudaError_t fcudaGetDeviceProperties(struct fcudaDeviceProp *prop, int device);
FCUDART_API fcudaError_t fcudaSetDevice(int device); /* of the calling thread */
FCUDART_API fcudaError_t fcudaGetDevice(int *device);
FCUDART_API fcudaError_t fcudaSetDeviceFlags(unsigned int flags); /* for contexts made later */
FCUDART_API fcudaError_t fcudaDeviceSynchronize(void);
FCUDART_API fcudaError_t fcudaDeviceReset(void); /* drops the current device's context */

FCUDART_API fcudaError_t fcudaMalloc(void **pointer, size_t bytes);
FCUDART_API fcudaError_t fcudaFree(void *pointer);
FCUDART_API fcudaError_t fcudaMallocHost(void **pointer, size_t bytes); /* pinned */
FCUDART_API fcudaError_t fcudaFreeHost(void *pointer);
FCUDART_API fcudaError_t fcudaMemcpy(void *to, const void *from, size_t bytes,
				     enum fcudaMemcpyKind kind);

/* Kernels and their parameters: see fcuLaunchKernel() in fakecuda.h. */
FCUDART_API fcudaError_t fcudaLaunchKernel(const char *kernel, unsigned int grid,
					   unsigned int block, void **args, fcudaStream_t stream);

FCUDART_API fcudaError_t fcudaStreamCreate(fcudaStream_t *stream);
FCUDART_API fcudaError_t fcudaStreamDestroy(fcudaStream_t stream);
FCUDART_API fcudaError_t fcudaStreamSynchronize(fcudaStream_t stream);
FCUDART_API fcudaError_t fcudaStreamQuery(fcudaStream_t stream);

/* The thread's last error; Get resets it, Peek does not. */
FCUDART_API fcudaError_t fcudaGetLastError(void);
FCUDART_API fcudaError_t fcudaPeekAtLastError(void);
FCUDART_API const char *fcudaGetErrorName(fcudaError_t error);
FCUDART_API const char *fcudaGetErrorString(fcudaError_t error);

#ifdef __cplusplus
}
#endif

#endif
