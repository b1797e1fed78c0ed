// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The driver as this process sees it: control and UVM nodes, the version
 * check, and which devices may be opened. Once it has succeeded it stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "umd.h"
#include "versions.h"

#define CTL_NODE "/dev/fakegpuctl"
#define UVM_NODE "/dev/fakegpu-uvm"
#define GPU_NODE "/dev/fakegpu%u"

/* Several turns of the scheduler: on a busy machine a device that is software
 * needs that long to get on, and is not to be taken for one that does not. */
#define SPIN_US_DEFAULT 100000

/**
 * struct fcu_driver - the one driver of the process
 * @lock: initialisation
 * @ready: set last, with release order
 * @ctl: descriptor of the control node, kept open as the real one is
 * @uvm: descriptor of the UVM node
 * @count: devices that could be opened
 * @devices: who they are, by ordinal
 */
static struct fcu_driver {
	pthread_mutex_t lock;
	int ready;
	int ctl;
	int uvm;
	int count;
	uint64_t spin_ns;
	struct fakegpu_info devices[FAKEGPU_MAX_DEVICES];
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER, .ctl = -1, .uvm = -1};

uint64_t fcu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t fcu_spin_ns(void)
{
	return driver.spin_ns;
}

int fcu_ioctl(int fd, unsigned long command, void *arg)
{
	int ret;

	do
		ret = ioctl(fd, command, arg);
	while (ret < 0 && errno == EINTR);
	return ret < 0 ? errno : 0;
}

static int open_node(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_CLOEXEC);
	return *fd < 0 ? errno : 0;
}

/* No driver, and a driver this process is kept from, look the same: no device. */
static fcuResult open_ctl(void)
{
	struct fakegpu_check_version check = {.mode = FAKEGPU_VERSION_STRICT,
					      .version = FAKECUDA_VERSION};
	int error = open_node(CTL_NODE, &driver.ctl);

	switch (error) {
	case 0:
		break;
	case ENOENT:
	case ENXIO:
	case ENODEV:
	case EPERM:
	case EACCES:
		return FCU_ERROR_NO_DEVICE;
	default:
		return FCU_ERROR_UNKNOWN;
	}
	error = fcu_ioctl(driver.ctl, FAKEGPU_IOC_CHECK_VERSION, &check);
	if (error == EINVAL)
		return FCU_ERROR_SYSTEM_DRIVER_MISMATCH;
	return error ? FCU_ERROR_UNKNOWN : FCU_SUCCESS;
}

/* Whatever keeps the memory manager away, the real driver says "unknown error". */
static fcuResult open_uvm(void)
{
	struct fakegpu_uvm_init init = {0};

	if (open_node(UVM_NODE, &driver.uvm) || fcu_ioctl(driver.uvm, FAKEGPU_IOC_UVM_INIT, &init))
		return FCU_ERROR_UNKNOWN;
	return FCU_SUCCESS;
}

static int node_info(unsigned int index, struct fakegpu_info *info)
{
	char path[32];
	int fd, error;

	snprintf(path, sizeof(path), GPU_NODE, index);
	error = open_node(path, &fd);
	if (error)
		return error;
	memset(info, 0, sizeof(*info));
	error = fcu_ioctl(fd, FAKEGPU_IOC_INFO, info);
	close(fd);
	return error;
}

/* Keeps of `count` devices those that FAKECUDA_VISIBLE_DEVICES names, in its order. */
static int choose(struct fakegpu_info *chosen, const struct fakegpu_info *devices, int count)
{
	const char *list = getenv("FAKECUDA_VISIBLE_DEVICES");
	unsigned long index;
	int kept = 0;
	char *end;

	if (!list) {
		memcpy(chosen, devices, (size_t)count * sizeof(*devices));
		return count;
	}
	while (kept < FAKEGPU_MAX_DEVICES) {
		index = strtoul(list, &end, 10);
		if (end == list || index >= (unsigned long)count)
			break;
		chosen[kept++] = devices[index];
		if (*end != ',')
			break;
		list = end + 1;
	}
	return kept;
}

/* A device that can't be opened is one less, as in a container that got only some. */
static fcuResult find_devices(void)
{
	struct fakegpu_info all = {0}, found[FAKEGPU_MAX_DEVICES];
	int count = 0;

	if (fcu_ioctl(driver.ctl, FAKEGPU_IOC_INFO, &all))
		return FCU_ERROR_UNKNOWN;
	for (unsigned int i = 0; i < all.device_count && i < FAKEGPU_MAX_DEVICES; i++)
		if (!node_info(i, &found[count]))
			count++;
	driver.count = choose(driver.devices, found, count);
	return driver.count ? FCU_SUCCESS : FCU_ERROR_NO_DEVICE;
}

static void close_nodes(void)
{
	if (driver.ctl >= 0)
		close(driver.ctl);
	if (driver.uvm >= 0)
		close(driver.uvm);
	driver.ctl = driver.uvm = -1;
}

fcuResult fcuInit(unsigned int flags)
{
	const char *spin = getenv("FAKECUDA_SPIN_US");
	fcuResult result = FCU_SUCCESS;

	if (flags)
		return FCU_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&driver.lock);
	if (!driver.ready) {
		driver.spin_ns = (spin ? strtoull(spin, NULL, 10) : SPIN_US_DEFAULT) * 1000;
		result = open_ctl();
		if (!result)
			result = open_uvm();
		if (!result)
			result = find_devices();
		if (result)
			close_nodes();
		else
			__atomic_store_n(&driver.ready, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&driver.lock);
	return result;
}

static fcuResult check_device(fcuDevice device)
{
	if (!__atomic_load_n(&driver.ready, __ATOMIC_ACQUIRE))
		return FCU_ERROR_NOT_INITIALIZED;
	return device < 0 || device >= driver.count ? FCU_ERROR_INVALID_DEVICE : FCU_SUCCESS;
}

fcuResult fcu_device_open(fcuDevice device, int *fd)
{
	fcuResult result = check_device(device);
	char path[32];
	int error;

	if (result)
		return result;
	snprintf(path, sizeof(path), GPU_NODE, driver.devices[device].device);
	error = open_node(path, fd);
	if (error == ENOENT || error == ENXIO || error == ENODEV)
		return FCU_ERROR_NO_DEVICE;
	return error ? FCU_ERROR_UNKNOWN : FCU_SUCCESS;
}

fcuResult fcuDriverGetVersion(int *version)
{
	if (!version)
		return FCU_ERROR_INVALID_VALUE;
	*version = fakecuda_of_driver(FAKECUDA_VERSION);
	return FCU_SUCCESS;
}

const char *fcuDriverGetVersionString(void)
{
	return FAKECUDA_VERSION;
}

fcuResult fcuDeviceGetCount(int *count)
{
	if (!__atomic_load_n(&driver.ready, __ATOMIC_ACQUIRE))
		return FCU_ERROR_NOT_INITIALIZED;
	if (!count)
		return FCU_ERROR_INVALID_VALUE;
	*count = driver.count;
	return FCU_SUCCESS;
}

fcuResult fcuDeviceGet(fcuDevice *device, int ordinal)
{
	fcuResult result = check_device(ordinal);

	if (!result && !device)
		return FCU_ERROR_INVALID_VALUE;
	if (!result)
		*device = ordinal;
	return result;
}

fcuResult fcuDeviceGetName(char *name, int length, fcuDevice device)
{
	fcuResult result = check_device(device);

	if (!result && (!name || length < 1))
		return FCU_ERROR_INVALID_VALUE;
	if (!result)
		snprintf(name, (size_t)length, "%.*s", FAKEGPU_NAME_LEN,
			 driver.devices[device].name);
	return result;
}

fcuResult fcuDeviceGetUuid(uint8_t uuid[16], fcuDevice device)
{
	fcuResult result = check_device(device);

	if (!result && !uuid)
		return FCU_ERROR_INVALID_VALUE;
	if (!result)
		memcpy(uuid, driver.devices[device].uuid, 16);
	return result;
}

fcuResult fcuDeviceTotalMem(size_t *bytes, fcuDevice device)
{
	fcuResult result = check_device(device);

	if (!result && !bytes)
		return FCU_ERROR_INVALID_VALUE;
	if (!result)
		*bytes = driver.devices[device].vram_total;
	return result;
}
