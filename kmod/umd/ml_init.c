// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The driver as the management library sees it: the control node, the version
 * check, and one open file for each device that somebody asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "ml.h"
#include "versions.h"

#ifndef FAKEML_VERSION
#error "build with -DFAKEML_VERSION='\"550.54.14\"'"
#endif

#define CTL_NODE "/dev/fakegpuctl"
#define GPU_NODE "/dev/fakegpu%u"

/**
 * struct fml_library - the state of the process
 * @lock: all below
 * @users: Inits without their Shutdown
 * @ctl: the control node
 * @all: what the driver says of itself
 * @devices: by index
 */
static struct fml_library {
	pthread_mutex_t lock;
	unsigned int users;
	int ctl;
	struct fakegpu_info all;
	struct fmlDevice devices[FAKEGPU_MAX_DEVICES];
} library = {.lock = PTHREAD_MUTEX_INITIALIZER, .ctl = -1};

void fml_lock(void)
{
	pthread_mutex_lock(&library.lock);
}

void fml_unlock(void)
{
	pthread_mutex_unlock(&library.lock);
}

int fml_ioctl(int fd, unsigned long command, void *arg)
{
	int ret;

	do
		ret = ioctl(fd, command, arg);
	while (ret < 0 && errno == EINTR);
	return ret < 0 ? errno : 0;
}

fmlResult fml_from_errno(int error)
{
	switch (error) {
	case 0:
		return FML_SUCCESS;
	case ENODEV: /* fallen off the bus */
	case ENOSYS: /* the embedded device has gone */
		return FML_ERROR_GPU_IS_LOST;
	case ENOTTY: /* a driver older than this call */
		return FML_ERROR_NOT_SUPPORTED;
	case ENOENT:
	case ENXIO:
		return FML_ERROR_NOT_FOUND;
	case EACCES:
		return FML_ERROR_NO_PERMISSION;
	case EPERM: /* a cgroup's device filter */
		return FML_ERROR_OPERATING_SYSTEM;
	case ENOMEM:
		return FML_ERROR_MEMORY;
	default:
		return FML_ERROR_UNKNOWN;
	}
}

fmlResult fml_text(char *to, uint32_t length, const char *text)
{
	if (!to)
		return FML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return FML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return FML_SUCCESS;
}

/* EPERM is what a device cgroup answers; the real library then knows no better. */
static fmlResult open_ctl(void)
{
	struct fakegpu_check_version check = {.mode = FAKEGPU_VERSION_STRICT,
					      .version = FAKEML_VERSION};
	int error;

	library.ctl = open(CTL_NODE, O_RDWR | O_CLOEXEC);
	if (library.ctl < 0)
		switch (errno) {
		case ENOENT:
		case ENXIO:
		case ENODEV:
			return FML_ERROR_DRIVER_NOT_LOADED;
		case EACCES:
			return FML_ERROR_NO_PERMISSION;
		default:
			return FML_ERROR_UNKNOWN;
		}
	error = fml_ioctl(library.ctl, FAKEGPU_IOC_CHECK_VERSION, &check);
	if (error == EINVAL)
		return FML_ERROR_LIB_RM_VERSION_MISMATCH;
	memset(&library.all, 0, sizeof(library.all));
	if (!error)
		error = fml_ioctl(library.ctl, FAKEGPU_IOC_INFO, &library.all);
	return error ? FML_ERROR_UNKNOWN : FML_SUCCESS;
}

static void close_all(void)
{
	if (library.ctl >= 0)
		close(library.ctl);
	library.ctl = -1;
	for (int i = 0; i < FAKEGPU_MAX_DEVICES; i++) {
		if (library.devices[i].fd >= 0)
			close(library.devices[i].fd);
		library.devices[i] = (struct fmlDevice){.fd = -1};
	}
}

fmlResult fmlInit(void)
{
	fmlResult result = FML_SUCCESS;

	fml_lock();
	if (!library.users) {
		for (int i = 0; i < FAKEGPU_MAX_DEVICES; i++)
			library.devices[i].fd = -1;
		result = open_ctl();
		if (result)
			close_all();
	}
	if (!result)
		library.users++;
	fml_unlock();
	return result;
}

fmlResult fmlShutdown(void)
{
	fmlResult result = FML_SUCCESS;

	fml_lock();
	if (!library.users)
		result = FML_ERROR_UNINITIALIZED;
	else if (!--library.users)
		close_all();
	fml_unlock();
	return result;
}

fmlResult fml_check(const struct fmlDevice *device)
{
	if (!library.users)
		return FML_ERROR_UNINITIALIZED;
	for (int i = 0; i < FAKEGPU_MAX_DEVICES; i++)
		if (device == &library.devices[i] && device->fd >= 0)
			return FML_SUCCESS;
	return FML_ERROR_INVALID_ARGUMENT;
}

#define FML_TEXT_CASE(number, name, text)                                                          \
	case number:                                                                               \
		return text;

const char *fmlErrorString(fmlResult result)
{
	switch ((int)result) {
		FML_ERRORS(FML_TEXT_CASE)
	}
	return "Unknown Error";
}

fmlResult fmlSystemGetDriverVersion(char *version, uint32_t length)
{
	fmlResult result = FML_ERROR_UNINITIALIZED;

	fml_lock();
	if (library.users)
		result = fml_text(version, length, library.all.version);
	fml_unlock();
	return result;
}

fmlResult fmlSystemGetFMLVersion(char *version, uint32_t length)
{
	return fml_text(version, length, FAKEML_VERSION);
}

fmlResult fmlSystemGetCudaDriverVersion(int *version)
{
	if (!version)
		return FML_ERROR_INVALID_ARGUMENT;
	*version = fakecuda_of_driver(FAKEML_VERSION);
	return FML_SUCCESS;
}

fmlResult fmlDeviceGetCount(uint32_t *count)
{
	fmlResult result = FML_ERROR_UNINITIALIZED;

	if (!count)
		return FML_ERROR_INVALID_ARGUMENT;
	fml_lock();
	if (library.users) {
		*count = library.all.device_count;
		result = FML_SUCCESS;
	}
	fml_unlock();
	return result;
}

static fmlResult open_device(uint32_t index, struct fmlDevice *device)
{
	struct fakegpu_ctx_info self = {0};
	char path[32];
	int error = 0;

	if (device->fd >= 0)
		return FML_SUCCESS;
	snprintf(path, sizeof(path), GPU_NODE, index);
	device->fd = open(path, O_RDWR | O_CLOEXEC);
	if (device->fd < 0)
		return fml_from_errno(errno);
	error = fml_ioctl(device->fd, FAKEGPU_IOC_INFO, &device->info);
	if (!error)
		error = fml_ioctl(device->fd, FAKEGPU_IOC_CTX_INFO, &self);
	if (!error) {
		device->self = self.id;
		return FML_SUCCESS;
	}
	close(device->fd);
	*device = (struct fmlDevice){.fd = -1};
	return fml_from_errno(error);
}

fmlResult fmlDeviceGetHandleByIndex(uint32_t index, fmlDevice *device)
{
	fmlResult result = FML_SUCCESS;

	if (!device)
		return FML_ERROR_INVALID_ARGUMENT;
	fml_lock();
	if (!library.users)
		result = FML_ERROR_UNINITIALIZED;
	else if (index >= library.all.device_count || index >= FAKEGPU_MAX_DEVICES)
		result = FML_ERROR_INVALID_ARGUMENT;
	else
		result = open_device(index, &library.devices[index]);
	if (!result)
		*device = &library.devices[index];
	fml_unlock();
	return result;
}
