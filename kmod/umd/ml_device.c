// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What one device says of itself. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ml.h"

#define WINDOW_NS UINT64_C(100000000) /* utilisation is of at least so much time */
#define NS_PER_S UINT64_C(1000000000)

static fmlResult look(fmlDevice device, struct fakegpu_info *info)
{
	memset(info, 0, sizeof(*info));
	return fml_from_errno(fml_ioctl(device->fd, FAKEGPU_IOC_INFO, info));
}

fmlResult fmlDeviceGetIndex(fmlDevice device, uint32_t *index)
{
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result && !index)
		result = FML_ERROR_INVALID_ARGUMENT;
	if (!result)
		*index = device->info.device;
	fml_unlock();
	return result;
}

fmlResult fmlDeviceGetName(fmlDevice device, char *name, uint32_t length)
{
	char text[FAKEGPU_NAME_LEN + 1] = "";
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result) {
		memcpy(text, device->info.name, FAKEGPU_NAME_LEN);
		result = fml_text(name, length, text);
	}
	fml_unlock();
	return result;
}

fmlResult fmlDeviceGetUUID(fmlDevice device, char *uuid, uint32_t length)
{
	char text[FML_UUID_LEN], *at = text;
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result) {
		at = stpcpy(text, "GPU");
		for (int i = 0; i < 16; i++)
			at += sprintf(at,
				      i == 0 || (i >= 4 && i <= 10 && !(i % 2)) ? "-%02x" : "%02x",
				      device->info.uuid[i]);
		result = fml_text(uuid, length, text);
	}
	fml_unlock();
	return result;
}

fmlResult fmlDeviceGetPciInfo(fmlDevice device, fmlPciInfo *pci)
{
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result && !pci)
		result = FML_ERROR_INVALID_ARGUMENT;
	if (!result) {
		pci->domain = device->info.pci_domain;
		pci->bus = device->info.pci_bus;
		pci->device = device->info.pci_slot;
		snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", pci->domain, pci->bus,
			 pci->device);
	}
	fml_unlock();
	return result;
}

fmlResult fmlDeviceGetMemoryInfo(fmlDevice device, fmlMemory *memory)
{
	struct fakegpu_info info;
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result && !memory)
		result = FML_ERROR_INVALID_ARGUMENT;
	if (!result)
		result = look(device, &info);
	if (!result)
		*memory = (fmlMemory){.total = info.vram_total,
				      .used = info.vram_used,
				      .free = info.vram_total - info.vram_used};
	fml_unlock();
	return result;
}

static fmlResult usage(fmlDevice device, struct fakegpu_usage *now)
{
	*now = (struct fakegpu_usage){0};
	return fml_from_errno(fml_ioctl(device->fd, FAKEGPU_IOC_USAGE, now));
}

/* The driver keeps counters, no rates: two looks make one. */
static fmlResult measure(fmlDevice device, fmlUtilization *rates)
{
	struct fakegpu_usage from = device->last, to;
	struct timespec until;
	fmlResult result = usage(device, &to);
	uint64_t end;

	if (result)
		return result;
	if (!from.now_ns)
		from = to;
	if (to.now_ns - from.now_ns < WINDOW_NS) {
		end = from.now_ns + WINDOW_NS;
		until = (struct timespec){.tv_sec = (time_t)(end / NS_PER_S),
					  .tv_nsec = (long)(end % NS_PER_S)};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
			;
		result = usage(device, &to);
		if (result)
			return result;
	}
	device->last = to;
	rates->gpu = (uint32_t)((to.busy_ns - from.busy_ns) * 100 / (to.now_ns - from.now_ns));
	rates->memory = FML_NOT_AVAILABLE;
	return FML_SUCCESS;
}

fmlResult fmlDeviceGetUtilizationRates(fmlDevice device, fmlUtilization *rates)
{
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	if (!result && !rates)
		result = FML_ERROR_INVALID_ARGUMENT;
	if (!result)
		result = measure(device, rates);
	fml_unlock();
	return result;
}

/* A valid question that this device has no answer to. */
static fmlResult unsupported(fmlDevice device, const void *out)
{
	fmlResult result;

	fml_lock();
	result = fml_check(device);
	fml_unlock();
	if (result)
		return result;
	return out ? FML_ERROR_NOT_SUPPORTED : FML_ERROR_INVALID_ARGUMENT;
}

fmlResult fmlDeviceGetTemperature(fmlDevice device, int sensor, uint32_t *degrees)
{
	(void)sensor;
	return unsupported(device, degrees);
}

fmlResult fmlDeviceGetPowerUsage(fmlDevice device, uint32_t *milliwatts)
{
	return unsupported(device, milliwatts);
}
