/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Inside the runtime: the driver's functions as loaded, and the thread's state. */
#ifndef FAKECUDART_RUNTIME_H
#define FAKECUDART_RUNTIME_H

#include "fakecuda.h"
#include "fakecudart.h"

#ifndef FAKECUDART_VERSION
#error "build with -DFAKECUDART_VERSION='\"12.4\"'"
#endif

#define FCUDART_MAX_DEVICES 8

/* Everything the runtime takes from the driver. */
#define FCUDART_IMPORTS(X)                                                                         \
	X(fcuInit)                                                                                 \
	X(fcuDriverGetVersion)                                                                     \
	X(fcuDriverGetVersionString)                                                               \
	X(fcuDeviceGetCount)                                                                       \
	X(fcuDeviceGetName)                                                                        \
	X(fcuDeviceGetUuid)                                                                        \
	X(fcuDeviceTotalMem)                                                                       \
	X(fcuCtxCreate)                                                                            \
	X(fcuCtxDestroy)                                                                           \
	X(fcuCtxSetCurrent)                                                                        \
	X(fcuCtxSynchronize)                                                                       \
	X(fcuMemAlloc)                                                                             \
	X(fcuMemFree)                                                                              \
	X(fcuMemHostAlloc)                                                                         \
	X(fcuMemFreeHost)                                                                          \
	X(fcuMemcpyHtoD)                                                                           \
	X(fcuMemcpyDtoH)                                                                           \
	X(fcuMemcpyDtoD)                                                                           \
	X(fcuLaunchKernel)                                                                         \
	X(fcuStreamCreate)                                                                         \
	X(fcuStreamDestroy)                                                                        \
	X(fcuStreamSynchronize)                                                                    \
	X(fcuStreamQuery)

#define FCUDART_IMPORT_FIELD(name) __typeof__(&name) name;
struct fcudart_driver {
	FCUDART_IMPORTS(FCUDART_IMPORT_FIELD)
};
extern struct fcudart_driver fcudart_driver;

/* runtime_load.c: loads the driver, finds it new enough, initialises it; once. */
fcudaError_t fcudart_init(void);

/* runtime_device.c: makes the thread's device's context current. */
fcudaError_t fcudart_bind(void);

/* runtime_error.c: remembers a failure as the thread's last error; returns it. */
fcudaError_t fcudart_return(int result);

#endif
