// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Asks the management library; prints nothing. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "smi.h"

fmlResult smi_system_look(struct smi_system *system)
{
	fmlResult result;

	*system = (struct smi_system){0};
	ml.fmlSystemGetFMLVersion(system->library, sizeof(system->library));
	result = ml.fmlInit();
	if (result)
		return result;
	if (ml.fmlSystemGetDriverVersion(system->driver, sizeof(system->driver)))
		strcpy(system->driver, "N/A");
	if (ml.fmlSystemGetCudaDriverVersion(&system->cuda))
		system->cuda = 0;
	return ml.fmlDeviceGetCount(&system->count);
}

static void look_at_processes(struct smi_device *device)
{
	uint32_t count = SMI_PROCESSES_MAX;

	device->process_error =
		ml.fmlDeviceGetComputeRunningProcesses(device->handle, &count, device->processes);
	if (device->process_error == FML_ERROR_INSUFFICIENT_SIZE) {
		device->process_error = FML_SUCCESS;
		device->process_more = count - SMI_PROCESSES_MAX;
		count = SMI_PROCESSES_MAX;
	}
	device->process_count = device->process_error ? 0 : count;
}

void smi_device_look(uint32_t index, unsigned int what, struct smi_device *device)
{
	memset(device, 0, sizeof(*device));
	device->index = index;
	device->error = ml.fmlDeviceGetHandleByIndex(index, &device->handle);
	if (!device->error)
		device->error =
			ml.fmlDeviceGetName(device->handle, device->name, sizeof(device->name));
	if (!device->error)
		device->error =
			ml.fmlDeviceGetUUID(device->handle, device->uuid, sizeof(device->uuid));
	if (!device->error)
		device->error = ml.fmlDeviceGetPciInfo(device->handle, &device->pci);
	if (device->error)
		return;
	if (what & SMI_MEMORY)
		device->memory_error = ml.fmlDeviceGetMemoryInfo(device->handle, &device->memory);
	if (what & SMI_USAGE)
		device->usage_error =
			ml.fmlDeviceGetUtilizationRates(device->handle, &device->usage);
	if (what & SMI_PROCESSES)
		look_at_processes(device);
}

/* A bus id may leave out the domain, or some of its zeros. */
static bool is_named(const struct smi_device *device, const char *word)
{
	size_t length = strlen(word), whole = strlen(device->pci.busId);
	char index[16];

	snprintf(index, sizeof(index), "%" PRIu32, device->index);
	if (!strcmp(word, index))
		return true;
	if (device->error || !length)
		return false;
	if (!strcmp(word, device->uuid))
		return true;
	return strchr(word, ':') && length <= whole &&
	       !strcasecmp(device->pci.busId + whole - length, word);
}

bool smi_device_named(const struct smi_device *device, const char *words)
{
	char copy[512], *word, *rest;

	snprintf(copy, sizeof(copy), "%s", words);
	for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (is_named(device, word))
			return true;
	return false;
}

uint64_t smi_mib(uint64_t bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

const char *smi_number(char text[24], fmlResult error, uint64_t number)
{
	if (error)
		return "N/A";
	snprintf(text, 24, "%" PRIu64, number);
	return text;
}

const char *smi_clock(char text[40], const char *format)
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(text, 40, format, &local);
	return text;
}
