/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The management library, modelled on NVML: the same calls, the same error
 * numbers. It asks the driver and starts no work.
 *
 * What the device has no figure for is FML_ERROR_NOT_SUPPORTED, or
 * FML_NOT_AVAILABLE inside a structure.
 */
#ifndef FAKEML_H
#define FAKEML_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FML_API __attribute__((visibility("default")))

#define FML_ERRORS(X)                                                                              \
	X(0, SUCCESS, "Success")                                                                   \
	X(1, ERROR_UNINITIALIZED, "Uninitialized")                                                 \
	X(2, ERROR_INVALID_ARGUMENT, "Invalid Argument")                                           \
	X(3, ERROR_NOT_SUPPORTED, "Not Supported")                                                 \
	X(4, ERROR_NO_PERMISSION, "Insufficient Permissions")                                      \
	X(6, ERROR_NOT_FOUND, "Not Found")                                                         \
	X(7, ERROR_INSUFFICIENT_SIZE, "Insufficient Size")                                         \
	X(9, ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded")                                         \
	X(10, ERROR_TIMEOUT, "Timeout")                                                            \
	X(12, ERROR_LIBRARY_NOT_FOUND, "Library Not Found")                                        \
	X(13, ERROR_FUNCTION_NOT_FOUND, "Function Not Found")                                      \
	X(15, ERROR_GPU_IS_LOST, "GPU is lost")                                                    \
	X(17, ERROR_OPERATING_SYSTEM, "GPU access blocked by the operating system")                \
	X(18, ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch")                    \
	X(20, ERROR_MEMORY, "Insufficient Memory")                                                 \
	X(999, ERROR_UNKNOWN, "Unknown Error")

#define FML_ENUM(number, name, text) FML_##name = number,
typedef enum { FML_ERRORS(FML_ENUM) } fmlResult;
#undef FML_ENUM

#define FML_NOT_AVAILABLE UINT32_C(0xffffffff)
#define FML_UUID_LEN 48
#define FML_NAME_LEN 96
#define FML_VERSION_LEN 80
#define FML_BUS_ID_LEN 32

typedef struct fmlDevice *fmlDevice;

/**
 * fmlMemory - device memory in bytes
 */
typedef struct {
	uint64_t total;
	uint64_t free;
	uint64_t used;
} fmlMemory;

/**
 * fmlUtilization - per cent of the time since the caller's last look, or of 100 ms
 * @gpu: in which some context had work
 * @memory: in which memory was accessed; FML_NOT_AVAILABLE
 */
typedef struct {
	uint32_t gpu;
	uint32_t memory;
} fmlUtilization;

/**
 * fmlPciInfo - where the device sits
 * @busId: "00000000:01:00.0"
 */
typedef struct {
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	char busId[FML_BUS_ID_LEN];
} fmlPciInfo;

/**
 * fmlProcess - a compute context and who opened it
 * @pid: as the driver knows it
 * @context: unique while the driver lives
 * @usedGpuMemory: bytes
 * @busyNs: engine time spent on it so far
 * @nowNs: CLOCK_MONOTONIC when that was read
 * @xid: of the fault that poisoned it, else 0
 * @name: of the program
 */
typedef struct {
	uint32_t pid;
	uint32_t context;
	uint64_t usedGpuMemory;
	uint64_t busyNs;
	uint64_t nowNs;
	uint32_t xid;
	char name[FML_NAME_LEN];
} fmlProcess;

/* Counted: each Init needs its Shutdown. */
FML_API fmlResult fmlInit(void);
FML_API fmlResult fmlShutdown(void);
FML_API const char *fmlErrorString(fmlResult result);

FML_API fmlResult fmlSystemGetDriverVersion(char *version, uint32_t length);
FML_API fmlResult fmlSystemGetFMLVersion(char *version, uint32_t length); /* needs no Init */
FML_API fmlResult fmlSystemGetCudaDriverVersion(int *version);

/* Counts devices that the caller may not open, too; opening tells why not. */
FML_API fmlResult fmlDeviceGetCount(uint32_t *count);
FML_API fmlResult fmlDeviceGetHandleByIndex(uint32_t index, fmlDevice *device);
FML_API fmlResult fmlDeviceGetIndex(fmlDevice device, uint32_t *index);
FML_API fmlResult fmlDeviceGetName(fmlDevice device, char *name, uint32_t length);
FML_API fmlResult fmlDeviceGetUUID(fmlDevice device, char *uuid, uint32_t length);
FML_API fmlResult fmlDeviceGetPciInfo(fmlDevice device, fmlPciInfo *pci);
FML_API fmlResult fmlDeviceGetMemoryInfo(fmlDevice device, fmlMemory *memory);
FML_API fmlResult fmlDeviceGetUtilizationRates(fmlDevice device, fmlUtilization *rates);
FML_API fmlResult fmlDeviceGetTemperature(fmlDevice device, int sensor, uint32_t *degrees);
FML_API fmlResult fmlDeviceGetPowerUsage(fmlDevice device, uint32_t *milliwatts);
/* @count: in: room, out: processes there are (INSUFFICIENT_SIZE where room is less). */
FML_API fmlResult fmlDeviceGetComputeRunningProcesses(fmlDevice device, uint32_t *count,
						      fmlProcess *processes);

#ifdef __cplusplus
}
#endif
#endif
