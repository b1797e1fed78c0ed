// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The core's surroundings in the embedded device (see ../core/port.h), and the
 * devices themselves.
 */
#define _GNU_SOURCE
#include "user.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

struct fgpu_device *devices[FAKEGPU_MAX_DEVICES];

bool devices_start(void)
{
	struct fgpu_config config = {
		.count = options.devices, .vram = options.vram, .quota = options.quota};
	unsigned int i;

	memcpy(config.version, options.version, sizeof(config.version));
	for (i = 0; i < options.devices; i++) {
		config.index = i;
		devices[i] = fgpu_device_create(&config, NULL);
		if (!devices[i])
			return false;
	}
	return true;
}

bool device_exists(unsigned int minor)
{
	if (minor == FGPU_MINOR_UVM)
		return !options.no_uvm;
	return minor == FAKEGPU_MINOR_CTL || minor < options.devices;
}

void *fgpu_port_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

void fgpu_port_free(void *memory)
{
	free(memory);
}

void fgpu_port_lock_init(fgpu_lock_t *lock)
{
	pthread_mutex_init(lock, NULL);
}

void fgpu_port_lock_destroy(fgpu_lock_t *lock)
{
	pthread_mutex_destroy(lock);
}

/* A mutex goes to whoever is awake: the engine would keep it from a caller that must wake up. */
void fgpu_port_lock(fgpu_lock_t *lock)
{
	if (!pthread_mutex_trylock(lock))
		return;
	engine_give_way(1);
	pthread_mutex_lock(lock);
	engine_give_way(-1);
}

void fgpu_port_unlock(fgpu_lock_t *lock)
{
	pthread_mutex_unlock(lock);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t fgpu_port_now(void)
{
	return now_ns();
}

/* The whole space of a context is mapped once; the kernel brings pages as they are touched. */
void *fgpu_port_backing_get(void *backing, uint64_t offset, uint64_t length)
{
	const struct context *context = backing;

	(void)length;
	return context->base + offset;
}

void fgpu_port_backing_put(void *backing, uint64_t offset, uint64_t length)
{
	const struct context *context = backing;

	fallocate(context->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		  (off_t)length);
}

void fgpu_port_event(struct fgpu_device *device, const struct fgpu_event *event)
{
	(void)device;
	if (event->type == FGPU_EVENT_LOG) {
		log_add(event->now, event->level, event->text);
		witness_log(event->now, event->level, event->text);
	} else {
		engine_moved();
	}
}

void fgpu_port_kick(struct fgpu_device *device)
{
	(void)device;
	engine_kick();
}
