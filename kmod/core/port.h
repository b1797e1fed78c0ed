/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the core needs from its surroundings, and nothing else.
 *
 * The core makes no OS calls. A driver that hosts it (user/, linux/, the unit
 * tests) provides the types in port_user.h or port_linux.h and defines the
 * functions below. None of them may call back into the core.
 */
#ifndef FGPU_PORT_H
#define FGPU_PORT_H

#ifdef __KERNEL__
#include "port_linux.h"
#else
#include "port_user.h" /* stdint names, fgpu_lock_t, fgpu_load_acquire(), … */
#endif

struct fgpu_device;
struct fgpu_event;

/* Memory, zeroed; NULL when there is none. */
void *fgpu_port_alloc(size_t bytes);
void fgpu_port_free(void *memory);

/* Locks: held briefly, never while waiting. */
void fgpu_port_lock_init(fgpu_lock_t *lock);
void fgpu_port_lock_destroy(fgpu_lock_t *lock);
void fgpu_port_lock(fgpu_lock_t *lock);
void fgpu_port_unlock(fgpu_lock_t *lock);

/* CLOCK_MONOTONIC nanoseconds. The tests' clock moves only when told. */
uint64_t fgpu_port_now(void);

/*
 * The mmap space of one context. `backing` is the driver's own handle, given
 * to fgpu_context_open(). get() returns addressable memory for a range of
 * offsets, zeroed the first time, or NULL; put() gives the range's memory
 * back to the system (a program may still have it mapped: it then reads 0, or faults).
 */
void *fgpu_port_backing_get(void *backing, uint64_t offset, uint64_t length);
void fgpu_port_backing_put(void *backing, uint64_t offset, uint64_t length);

/* Something worth a tracepoint happened; called with the device locked. */
void fgpu_port_event(struct fgpu_device *device, const struct fgpu_event *event);

/* Adds 1 to an eventfd if so asked, without waiting, and lets go of it; with the device locked. */
void fgpu_port_eventfd_end(void *eventfd, bool signal);

/* There is work for the engine; called with the device locked. */
void fgpu_port_kick(struct fgpu_device *device);

#endif
