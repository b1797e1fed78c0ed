// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Who uses a device. An open file that has neither channel nor memory does not. */
#include <stdbool.h>
#include <string.h>
#include "ml.h"

static bool uses(const fmlDevice device, const struct fakegpu_process *process)
{
	return process->context != device->self && (process->channels || process->bytes);
}

static void tell(const struct fakegpu_process *from, uint64_t now, fmlProcess *to)
{
	*to = (fmlProcess){
		.pid = from->pid,
		.context = from->context,
		.usedGpuMemory = from->bytes,
		.busyNs = from->busy_ns,
		.nowNs = now,
		.xid = from->xid,
	};
	memcpy(to->name, from->name, sizeof(from->name));
	to->name[sizeof(from->name) - 1] = '\0';
}

static fmlResult collect(fmlDevice device, uint32_t room, fmlProcess *processes, uint32_t *count)
{
	struct fakegpu_processes list = {0};
	uint32_t i;
	int error;

	*count = 0;
	do {
		error = fml_ioctl(device->fd, FAKEGPU_IOC_PROCESSES, &list);
		if (error)
			return fml_from_errno(error);
		for (i = 0; i < list.count && i < FAKEGPU_PROCESSES_MAX; i++) {
			list.after = list.entries[i].context;
			if (!uses(device, &list.entries[i]))
				continue;
			if (*count < room)
				tell(&list.entries[i], list.now_ns, &processes[*count]);
			++*count;
		}
	} while (list.more && list.count);
	return *count > room ? FML_ERROR_INSUFFICIENT_SIZE : FML_SUCCESS;
}

fmlResult fmlDeviceGetComputeRunningProcesses(fmlDevice device, uint32_t *count,
					      fmlProcess *processes)
{
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result && (!count || (*count && !processes)))
		result = FML_ERROR_INVALID_ARGUMENT;
	if (!result)
		result = collect(device, *count, processes, count);
	fml_unlock();
	return result;
}
