// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The table that is printed without options, 80 columns, and the list of -L. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "smi.h"

#define WIDTH 78 /* between the bars */

static void rule(char fill, const char *ends)
{
	putchar(ends[0]);
	for (int i = 0; i < WIDTH; i++)
		putchar(fill);
	printf("%c\n", ends[0]);
}

/* One line between the bars; what is too long is cut. */
__attribute__((format(printf, 1, 2))) static void line(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("|%-*.*s|\n", WIDTH, WIDTH, text);
}

static void print_device(const struct smi_device *device)
{
	char used[24], total[24], usage[24], memory[64];

	if (device->error) {
		line(" %3" PRIu32 "  ERR! %s", device->index, ml.fmlErrorString(device->error));
		return;
	}
	snprintf(memory, sizeof(memory), "%sMiB / %sMiB",
		 smi_number(used, device->memory_error, smi_mib(device->memory.used)),
		 smi_number(total, device->memory_error, smi_mib(device->memory.total)));
	line(" %3" PRIu32 "  %-24.24s %-17s %19s %6s%%", device->index, device->name,
	     device->pci.busId, memory, smi_number(usage, device->usage_error, device->usage.gpu));
}

static bool print_processes(const struct smi_device *device)
{
	for (uint32_t i = 0; i < device->process_count; i++) {
		const fmlProcess *one = &device->processes[i];
		char note[24] = "";

		if (one->xid)
			snprintf(note, sizeof(note), " (Xid %" PRIu32 ")", one->xid);
		line(" %3" PRIu32 "  %10" PRIu32 "  %4s   %.31s%-*s %10" PRIu64 "MiB",
		     device->index, one->pid, "C", one->name, (int)(38 - strnlen(one->name, 31)),
		     note, smi_mib(one->usedGpuMemory));
	}
	if (device->process_more)
		line(" %3" PRIu32 "  and %" PRIu32 " more", device->index, device->process_more);
	if (device->process_error && !device->error)
		line(" %3" PRIu32 "  not available: %s", device->index,
		     ml.fmlErrorString(device->process_error));
	return device->process_count || device->process_error || device->error;
}

void smi_print_table(const struct smi_system *system, const struct smi_device *devices,
		     uint32_t count)
{
	bool any = false;
	char clock[40], cuda[24] = "N/A";

	if (system->cuda)
		snprintf(cuda, sizeof(cuda), "%d.%d", system->cuda / 1000,
			 system->cuda % 1000 / 10);
	printf("%s\n", smi_clock(clock, "%a %b %e %H:%M:%S %Y"));
	rule('-', "+");
	line(" FAKEGPU-SMI %-14s Driver Version: %-14s CUDA Version: %s", system->library,
	     system->driver, cuda);
	rule('-', "|");
	line(" %3s  %-24s %-17s %19s %7s", "GPU", "Name", "Bus-Id", "Memory-Usage", "GPU-Util");
	rule('=', "|");
	for (uint32_t i = 0; i < count; i++)
		print_device(&devices[i]);
	rule('-', "+");
	line(" Processes:");
	line(" %3s  %10s  %4s   %-38s %13s", "GPU", "PID", "Type", "Process name", "GPU Memory");
	rule('=', "|");
	for (uint32_t i = 0; i < count; i++)
		any |= print_processes(&devices[i]);
	if (!any)
		line("  No running processes found");
	rule('-', "+");
}

void smi_print_list(const struct smi_device *devices, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!devices[i].error)
			printf("GPU %" PRIu32 ": %s (UUID: %s)\n", devices[i].index,
			       devices[i].name, devices[i].uuid);
}
