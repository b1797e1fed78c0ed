/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The error numbers of driver and runtime, which share one number space, as in
 * CUDA. One row: number, driver's name, runtime's name, text.
 */
#ifndef FAKECUDA_ERRORS_H
#define FAKECUDA_ERRORS_H

#define FAKECUDA_ERRORS(X)                                                                         \
	X(0, SUCCESS, Success, "no error")                                                         \
	X(1, INVALID_VALUE, ErrorInvalidValue, "invalid argument")                                 \
	X(2, OUT_OF_MEMORY, ErrorMemoryAllocation, "out of memory")                                \
	X(3, NOT_INITIALIZED, ErrorInitializationError, "initialization error")                    \
	X(4, DEINITIALIZED, ErrorCudartUnloading, "driver shutting down")                          \
	X(35, INSUFFICIENT_DRIVER, ErrorInsufficientDriver,                                        \
	  "CUDA driver version is insufficient for CUDA runtime version")                          \
	X(100, NO_DEVICE, ErrorNoDevice, "no CUDA-capable device is detected")                     \
	X(101, INVALID_DEVICE, ErrorInvalidDevice, "invalid device ordinal")                       \
	X(201, INVALID_CONTEXT, ErrorDeviceUninitialized, "invalid device context")                \
	X(214, ECC_UNCORRECTABLE, ErrorECCUncorrectable, "uncorrectable ECC error encountered")    \
	X(304, OPERATING_SYSTEM, ErrorOperatingSystem,                                             \
	  "OS call failed or operation not supported on this OS")                                  \
	X(400, INVALID_HANDLE, ErrorInvalidResourceHandle, "invalid resource handle")              \
	X(500, NOT_FOUND, ErrorSymbolNotFound, "named symbol not found")                           \
	X(600, NOT_READY, ErrorNotReady, "device not ready")                                       \
	X(700, ILLEGAL_ADDRESS, ErrorIllegalAddress, "an illegal memory access was encountered")   \
	X(702, LAUNCH_TIMEOUT, ErrorLaunchTimeout, "the launch timed out and was terminated")      \
	X(719, LAUNCH_FAILED, ErrorLaunchFailure, "unspecified launch failure")                    \
	X(801, NOT_SUPPORTED, ErrorNotSupported, "operation not supported")                        \
	X(802, SYSTEM_NOT_READY, ErrorSystemNotReady, "system not yet initialized")                \
	X(803, SYSTEM_DRIVER_MISMATCH, ErrorSystemDriverMismatch,                                  \
	  "system has unsupported display driver / cuda driver combination")                       \
	X(804, COMPAT_NOT_SUPPORTED_ON_DEVICE, ErrorCompatNotSupportedOnDevice,                    \
	  "forward compatibility was attempted on non supported HW")                               \
	X(999, UNKNOWN, ErrorUnknown, "unknown error")

#endif
