/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libfakecuda.so.1: the user-mode driver (UMD) of the fakegpu, in the shape of
 * the CUDA driver API. Every function may be called from any thread. Error
 * numbers are CUDA's (errors.h).
 *
 * Work is asynchronous: a fault shows at a later call, usually the next
 * synchronisation, and then at every call on that context until it is destroyed.
 *
 * Environment: FAKECUDA_SUBMIT=ring|ioctl chooses how contexts submit when
 * fcuCtxCreate() is not told; FAKECUDA_SPIN_US is how long a wait polls the
 * fence page without seeing progress before it sleeps in the kernel (100000);
 * FAKECUDA_VISIBLE_DEVICES="1,0" is which devices fcuInit() shows, in which
 * order: the first number that is none of them ends the list, "" hides all.
 */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>
#include <stdint.h>
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FCU_API __attribute__((visibility("default")))

#define FCU_ENUM_ROW(number, driver, runtime, text) FCU_ERROR_##driver = number,
typedef enum { FAKECUDA_ERRORS(FCU_ENUM_ROW) } fcuResult;
#define FCU_SUCCESS FCU_ERROR_SUCCESS

typedef int fcuDevice; /* ordinal among the devices this process may use */
typedef struct fcu_context *fcuContext;
typedef struct fcu_channel *fcuStream; /* NULL: the context's default stream */
typedef uint64_t fcuDevicePtr;	       /* opaque; adding bytes within one allocation is fine */

/* fcuCtxCreate() flags */
#define FCU_CTX_SUBMIT_AUTO 0x0	 /* by FAKECUDA_SUBMIT, else ring */
#define FCU_CTX_SUBMIT_RING 0x1	 /* ring + doorbell + fence page: no syscalls once it runs */
#define FCU_CTX_SUBMIT_IOCTL 0x2 /* one SUBMIT ioctl per launch, WAIT to synchronise */

/* Opens /dev/fakegpuctl and /dev/fakegpu-uvm and compares versions. NO_DEVICE
 * (no driver or no usable device), SYSTEM_DRIVER_MISMATCH, UNKNOWN (no uvm). */
FCU_API fcuResult fcuInit(unsigned int flags);
/* CUDA version of this library, 1000 * major + 10 * minor; needs no fcuInit(). */
FCU_API fcuResult fcuDriverGetVersion(int *version);
/* Driver version of this library, e.g. "550.54.14"; needs no fcuInit(). */
FCU_API const char *fcuDriverGetVersionString(void);

FCU_API fcuResult fcuDeviceGetCount(int *count);
FCU_API fcuResult fcuDeviceGet(fcuDevice *device, int ordinal);
FCU_API fcuResult fcuDeviceGetName(char *name, int length, fcuDevice device);
FCU_API fcuResult fcuDeviceGetUuid(uint8_t uuid[16], fcuDevice device);
FCU_API fcuResult fcuDeviceTotalMem(size_t *bytes, fcuDevice device);

/* The new context becomes the calling thread's current one. */
FCU_API fcuResult fcuCtxCreate(fcuContext *context, unsigned int flags, fcuDevice device);
FCU_API fcuResult fcuCtxDestroy(fcuContext context);
FCU_API fcuResult fcuCtxSetCurrent(fcuContext context);
FCU_API fcuResult fcuCtxGetCurrent(fcuContext *context);
FCU_API fcuResult fcuCtxSynchronize(void);

/* Copies between host and device wait for all work of the context first. */
FCU_API fcuResult fcuMemAlloc(fcuDevicePtr *pointer, size_t bytes);
FCU_API fcuResult fcuMemFree(fcuDevicePtr pointer);
/* Page-locked host memory; OUT_OF_MEMORY also when RLIMIT_MEMLOCK does not allow it. */
FCU_API fcuResult fcuMemHostAlloc(void **pointer, size_t bytes);
FCU_API fcuResult fcuMemFreeHost(void *pointer);
FCU_API fcuResult fcuMemcpyHtoD(fcuDevicePtr to, const void *from, size_t bytes);
FCU_API fcuResult fcuMemcpyDtoH(void *to, fcuDevicePtr from, size_t bytes);
FCU_API fcuResult fcuMemcpyDtoD(fcuDevicePtr to, fcuDevicePtr from, size_t bytes);
FCU_API fcuResult fcuMemsetD32(fcuDevicePtr to, uint32_t value, size_t words);

/*
 * Kernels, by name, and what @params points to, in order:
 *   vectorAdd(fcuDevicePtr a, fcuDevicePtr b, fcuDevicePtr c, uint32_t n)
 *   fill(fcuDevicePtr to, uint32_t value, uint32_t n)
 *   delay(uint64_t ns)
 *   fault(uint32_t xid)
 * Thread i handles element i, so min(n, grid * block) elements are done.
 */
FCU_API fcuResult fcuLaunchKernel(const char *kernel, unsigned int grid, unsigned int block,
				  void **params, fcuStream stream);

/* Every stream is a channel of its own and takes no order from other streams. */
FCU_API fcuResult fcuStreamCreate(fcuStream *stream, unsigned int flags);
FCU_API fcuResult fcuStreamDestroy(fcuStream stream);
FCU_API fcuResult fcuStreamSynchronize(fcuStream stream);
FCU_API fcuResult fcuStreamQuery(fcuStream stream); /* SUCCESS or NOT_READY */

FCU_API fcuResult fcuGetErrorName(fcuResult result, const char **name);
FCU_API fcuResult fcuGetErrorString(fcuResult result, const char **text);

#ifdef __cplusplus
}
#endif

#endif
