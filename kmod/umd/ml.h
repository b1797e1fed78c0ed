/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inside the management library. ml_init.c owns the driver and the devices,
 * ml_device.c what one device says, ml_process.c who uses it.
 */
#ifndef FAKEML_INTERNAL_H
#define FAKEML_INTERNAL_H

#include "../uapi/fakegpu.h"
#include "fakeml.h"

/**
 * struct fmlDevice - a device that somebody has asked for
 * @fd: open as long as the library is in use; -1: not yet
 * @self: the id of the context that @fd is, which is no user of the device
 * @info: as the driver told it first; figures in it are old
 * @last: the usage at the last look, all 0 before
 */
struct fmlDevice {
	int fd;
	uint32_t self;
	struct fakegpu_info info;
	struct fakegpu_usage last;
};

int fml_ioctl(int fd, unsigned long command, void *arg); /* 0 or errno; restarts on EINTR */
fmlResult fml_from_errno(int error);			 /* of a call on a device */
fmlResult fml_check(const struct fmlDevice *device);	 /* a handle that is one, while in use */
fmlResult fml_text(char *to, uint32_t length, const char *text);
void fml_lock(void);
void fml_unlock(void);

#endif
