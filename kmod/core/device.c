// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A device: made, locked, destroyed.
 */
#include "internal.h"

struct fgpu_device *fgpu_device_create(const struct fgpu_config *config, void *driver_data)
{
	struct fgpu_device *device;

	if (config->count > FAKEGPU_MAX_DEVICES || config->index >= config->count)
		return NULL;
	device = fgpu_port_alloc(sizeof(*device));
	if (!device)
		return NULL;
	device->config = *config;
	device->config.version[FAKEGPU_VERSION_LEN - 1] = '\0';
	device->driver_data = driver_data;
	/* Ids are unique across the driver's devices: each counts in its own steps. */
	device->next_id = config->index + 1;
	fgpu_list_init(&device->contexts);
	fgpu_list_init(&device->rings);
	fgpu_sharing_init(&device->sharing);
	fgpu_port_lock_init(&device->lock);
	return device;
}

void fgpu_device_destroy(struct fgpu_device *device)
{
	fgpu_port_lock_destroy(&device->lock);
	fgpu_port_free(device);
}

void *fgpu_device_driver_data(struct fgpu_device *device)
{
	return device->driver_data;
}

void fgpu_device_lock(struct fgpu_device *device)
{
	fgpu_port_lock(&device->lock);
}

void fgpu_device_unlock(struct fgpu_device *device)
{
	fgpu_port_unlock(&device->lock);
}
