/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * fakegpu-smi, inside: smi.c reads the command line and keeps the beat,
 * smi_library.c finds the management library, smi_device.c asks it, and the
 * others print.
 */
#ifndef FAKEGPU_SMI_H
#define FAKEGPU_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../umd/fakeml.h"

#define SMI_DEVICES_MAX 8
#define SMI_PROCESSES_MAX 256

#define SMI_IMPORTS(X)                                                                             \
	X(fmlInit)                                                                                 \
	X(fmlShutdown)                                                                             \
	X(fmlErrorString)                                                                          \
	X(fmlSystemGetDriverVersion)                                                               \
	X(fmlSystemGetFMLVersion)                                                                  \
	X(fmlSystemGetCudaDriverVersion)                                                           \
	X(fmlDeviceGetCount)                                                                       \
	X(fmlDeviceGetHandleByIndex)                                                               \
	X(fmlDeviceGetName)                                                                        \
	X(fmlDeviceGetUUID)                                                                        \
	X(fmlDeviceGetPciInfo)                                                                     \
	X(fmlDeviceGetMemoryInfo)                                                                  \
	X(fmlDeviceGetUtilizationRates)                                                            \
	X(fmlDeviceGetTemperature)                                                                 \
	X(fmlDeviceGetPowerUsage)                                                                  \
	X(fmlDeviceGetComputeRunningProcesses)

#define SMI_MEMBER(name) __typeof__(name) *name;
/* The management library, loaded rather than linked: its absence has a message of its own. */
extern struct smi_library {
	SMI_IMPORTS(SMI_MEMBER)
} ml;

/**
 * struct smi_system - what holds for all devices
 * @library: version of the management library
 * @driver: version of the driver
 * @cuda: highest CUDA version it supports, 12040 for 12.4; 0 = unknown
 * @count: devices there are
 */
struct smi_system {
	char library[FML_VERSION_LEN];
	char driver[FML_VERSION_LEN];
	int cuda;
	uint32_t count;
};

/**
 * struct smi_device - one look at a device
 * @error: why there is no handle; all below is then empty
 * @memory_error, @usage_error, @process_error: why that is empty
 * @process_count: of @processes; @process_more were too many to list
 */
struct smi_device {
	uint32_t index;
	fmlResult error;
	fmlDevice handle;
	char name[FML_NAME_LEN];
	char uuid[FML_UUID_LEN];
	fmlPciInfo pci;
	fmlResult memory_error;
	fmlMemory memory;
	fmlResult usage_error;
	fmlUtilization usage;
	fmlResult process_error;
	uint32_t process_count;
	uint32_t process_more;
	fmlProcess processes[SMI_PROCESSES_MAX];
};

enum smi_what { SMI_IDENTITY = 0, SMI_MEMORY = 1, SMI_USAGE = 2, SMI_PROCESSES = 4, SMI_ALL = 7 };

/* smi_library.c */
fmlResult smi_load(void);

/* smi_device.c */
fmlResult smi_system_look(struct smi_system *system);
void smi_device_look(uint32_t index, unsigned int what, struct smi_device *device);
bool smi_device_named(const struct smi_device *device, const char *words); /* "0,GPU-…,01:00.0" */
uint64_t smi_mib(uint64_t bytes); /* rounded up: in use is not 0 */
const char *smi_number(char text[24], fmlResult error, uint64_t number); /* or "N/A" */
const char *smi_clock(char text[40], const char *format);

/* Each prints what was looked at; the number of devices is the size of the array. */
void smi_print_table(const struct smi_system *system, const struct smi_device *devices,
		     uint32_t count);
void smi_print_list(const struct smi_device *devices, uint32_t count);
void smi_print_full(const struct smi_system *system, const struct smi_device *devices,
		    uint32_t count);

/* smi_query.c */
unsigned int smi_query_parse(const char *fields); /* what must be looked at; exits 2 on a bad one */
void smi_query_head(void); /* names units even where rows have none, as nvidia-smi does */
void smi_query_row(const struct smi_system *system, const struct smi_device *device, bool units);
void smi_query_help(void);

/* smi_monitor.c */
void smi_dmon(const struct smi_device *devices, uint32_t count, uint64_t round);
void smi_pmon(const struct smi_device *devices, uint32_t count, uint64_t round);

#endif
