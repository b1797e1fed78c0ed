// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* dmon and pmon: a row a beat for each device, or for each process on it. */
#include <inttypes.h>
#include <stdio.h>
#include "smi.h"

#define HEAD_EVERY 20

/**
 * struct seen - a process at the last beat
 * @context: 0 = free
 */
static struct seen {
	uint32_t context;
	uint64_t busy_ns;
	uint64_t now_ns;
} before[SMI_DEVICES_MAX][SMI_PROCESSES_MAX];

void smi_dmon(const struct smi_device *devices, uint32_t count, uint64_t round)
{
	char usage[24], used[24];

	if (round % HEAD_EVERY == 0)
		printf("# gpu     sm    mem     fb\n# Idx      %%      %%     MB\n");
	for (uint32_t i = 0; i < count; i++) {
		const struct smi_device *one = &devices[i];
		fmlResult usage_error = one->error ? one->error : one->usage_error;
		fmlResult memory_error = one->error ? one->error : one->memory_error;

		printf("%5" PRIu32 " %6s %6s %6s\n", one->index,
		       usage_error ? "-" : smi_number(usage, FML_SUCCESS, one->usage.gpu), "-",
		       memory_error ? "-"
				    : smi_number(used, FML_SUCCESS, smi_mib(one->memory.used)));
	}
}

/* Per cent of the time since the last beat; < 0: it was not there then. */
static int share(const struct seen *last, const fmlProcess *process)
{
	for (uint32_t i = 0; i < SMI_PROCESSES_MAX && last[i].context; i++)
		if (last[i].context == process->context && process->nowNs > last[i].now_ns)
			return (int)((process->busyNs - last[i].busy_ns) * 100 /
				     (process->nowNs - last[i].now_ns));
	return -1;
}

static void remember(struct seen *last, const struct smi_device *device)
{
	for (uint32_t i = 0; i < SMI_PROCESSES_MAX; i++) {
		const fmlProcess *process = &device->processes[i];

		last[i] = (struct seen){0};
		if (i < device->process_count)
			last[i] = (struct seen){process->context, process->busyNs, process->nowNs};
	}
}

static void print_process(const struct smi_device *device, const fmlProcess *process, int percent)
{
	char text[24];

	printf("%5" PRIu32 " %10" PRIu32 "  %4s %6s %6s %6" PRIu64 "   %s\n", device->index,
	       process->pid, "C",
	       percent < 0 ? "-" : smi_number(text, FML_SUCCESS, (uint64_t)percent), "-",
	       smi_mib(process->usedGpuMemory), process->name);
}

void smi_pmon(const struct smi_device *devices, uint32_t count, uint64_t round)
{
	if (round % HEAD_EVERY == 0)
		printf("# gpu        pid  type     sm    mem     fb   command\n"
		       "# Idx          #   C/G      %%      %%     MB   name\n");
	for (uint32_t i = 0; i < count; i++) {
		const struct smi_device *one = &devices[i];

		for (uint32_t p = 0; p < one->process_count; p++)
			print_process(one, &one->processes[p],
				      share(before[one->index], &one->processes[p]));
		if (!one->process_count)
			printf("%5" PRIu32 " %10s  %4s %6s %6s %6s   %s\n", one->index, "-", "-",
			       "-", "-", "-", one->process_error ? "not available" : "-");
		remember(before[one->index], one);
	}
}
