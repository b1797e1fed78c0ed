// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* -q: everything, a line each. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "smi.h"

#define LABEL 46

__attribute__((format(printf, 3, 4))) static void field(int depth, const char *label,
							const char *format, ...)
{
	va_list args;

	printf("%*s%-*s : ", 4 * depth, "", LABEL - 4 * depth, label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_memory(const struct smi_device *device)
{
	printf("    FB Memory Usage\n");
	if (device->memory_error) {
		field(2, "Total", "N/A");
		return;
	}
	field(2, "Total", "%" PRIu64 " MiB", smi_mib(device->memory.total));
	field(2, "Used", "%" PRIu64 " MiB", smi_mib(device->memory.used));
	field(2, "Free", "%" PRIu64 " MiB", device->memory.free >> 20);
}

static void print_usage(const struct smi_device *device)
{
	printf("    Utilization\n");
	if (device->usage_error)
		field(2, "Gpu", "N/A");
	else
		field(2, "Gpu", "%" PRIu32 " %%", device->usage.gpu);
	if (device->usage_error || device->usage.memory == FML_NOT_AVAILABLE)
		field(2, "Memory", "N/A");
	else
		field(2, "Memory", "%" PRIu32 " %%", device->usage.memory);
}

static void print_sensors(const struct smi_device *device)
{
	uint32_t value;

	printf("    Temperature\n");
	if (ml.fmlDeviceGetTemperature(device->handle, 0, &value))
		field(2, "GPU Current Temp", "N/A");
	else
		field(2, "GPU Current Temp", "%" PRIu32 " C", value);
	printf("    GPU Power Readings\n");
	if (ml.fmlDeviceGetPowerUsage(device->handle, &value))
		field(2, "Power Draw", "N/A");
	else
		field(2, "Power Draw", "%.2f W", value / 1000.0);
}

static void print_processes(const struct smi_device *device)
{
	if (device->process_error) {
		field(1, "Processes", "not available: %s",
		      ml.fmlErrorString(device->process_error));
		return;
	}
	if (!device->process_count) {
		field(1, "Processes", "None");
		return;
	}
	printf("    Processes\n");
	for (uint32_t i = 0; i < device->process_count; i++) {
		const fmlProcess *one = &device->processes[i];

		field(2, "Process ID", "%" PRIu32, one->pid);
		field(3, "Type", "C");
		field(3, "Name", "%s", one->name);
		field(3, "Context", "%" PRIu32, one->context);
		field(3, "Used GPU Memory", "%" PRIu64 " MiB", smi_mib(one->usedGpuMemory));
		if (one->xid)
			field(3, "Poisoned by Xid", "%" PRIu32, one->xid);
	}
	if (device->process_more)
		field(2, "Further processes", "%" PRIu32, device->process_more);
}

static void print_device(const struct smi_device *device)
{
	if (device->error) {
		printf("\nGPU %" PRIu32 "\n", device->index);
		field(1, "Error", "%s", ml.fmlErrorString(device->error));
		return;
	}
	printf("\nGPU %s\n", device->pci.busId);
	field(1, "Product Name", "%s", device->name);
	field(1, "GPU UUID", "%s", device->uuid);
	field(1, "Minor Number", "%" PRIu32, device->index);
	printf("    PCI\n");
	field(2, "Bus", "0x%02" PRIX32, device->pci.bus);
	field(2, "Device", "0x%02" PRIX32, device->pci.device);
	field(2, "Domain", "0x%04" PRIX32, device->pci.domain);
	field(2, "Bus Id", "%s", device->pci.busId);
	print_memory(device);
	print_usage(device);
	print_sensors(device);
	print_processes(device);
}

void smi_print_full(const struct smi_system *system, const struct smi_device *devices,
		    uint32_t count)
{
	char clock[40];

	printf("\n==============FGSMI LOG==============\n\n");
	field(0, "Timestamp", "%s", smi_clock(clock, "%a %b %e %H:%M:%S %Y"));
	field(0, "Driver Version", "%s", system->driver);
	if (system->cuda)
		field(0, "CUDA Version", "%d.%d", system->cuda / 1000, system->cuda % 1000 / 10);
	else
		field(0, "CUDA Version", "N/A");
	field(0, "Attached GPUs", "%" PRIu32, system->count);
	for (uint32_t i = 0; i < count; i++)
		print_device(&devices[i]);
}
