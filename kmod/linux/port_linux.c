// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The core's surroundings in the kernel (see ../core/port.h); its memory that
 * programs map is in space.c. Also where what it tells goes: tracepoints, the
 * kernel log, uevents, and whoever waits.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "driver.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* On the account of the program's cgroup; failing is better than killing somebody. */
void *fgpu_port_alloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
}

void fgpu_port_free(void *memory)
{
	kvfree(memory);
}

void fgpu_port_lock_init(fgpu_lock_t *lock)
{
	mutex_init(lock);
}

void fgpu_port_lock_destroy(fgpu_lock_t *lock)
{
	mutex_destroy(lock);
}

void fgpu_port_lock(fgpu_lock_t *lock)
{
	mutex_lock(lock);
}

void fgpu_port_unlock(fgpu_lock_t *lock)
{
	mutex_unlock(lock);
}

uint64_t fgpu_port_now(void)
{
	return ktime_get_ns();
}

static void tell_udev(struct fakegpu_device *gpu, const struct fgpu_event *event)
{
	char xid[24], context[32];
	char *env[] = {xid, context, NULL};

	snprintf(xid, sizeof(xid), "FAKEGPU_XID=%u", event->xid);
	snprintf(context, sizeof(context), "FAKEGPU_CONTEXT=%u", event->context);
	kobject_uevent_env(&gpu->dev->kobj, KOBJ_CHANGE, env);
}

/* Any program can cause lines, so there is a limit; the kernel says what it left out. */
static void log_event(struct fakegpu_device *gpu, const struct fgpu_event *event)
{
	if (event->xid)
		trace_fakegpu_fault(gpu->index, event->context, event->channel, event->xid);
	if (!___ratelimit(&gpu->log_rate, "FGPU"))
		return;
	if (event->level <= LOGLEVEL_ERR)
		pr_err("%s\n", event->text);
	else
		pr_info("%s\n", event->text);
	if (event->xid)
		tell_udev(gpu, event);
}

/* The file of a context that an event names: events come only while the context lives. */
static void wake(struct fakegpu_device *gpu, u32 context, bool fence)
{
	struct fakegpu_file *file = context ? xa_load(&gpu->files, context) : NULL;

	if (!file)
		return;
	if (fence)
		atomic64_inc(&file->fences);
	fakegpu_file_wake(file);
}

void fgpu_port_event(struct fgpu_device *device, const struct fgpu_event *event)
{
	struct fakegpu_device *gpu = fgpu_device_driver_data(device);

	switch (event->type) {
	case FGPU_EVENT_DOORBELL:
		trace_fakegpu_doorbell(gpu->index, event->context, event->channel, event->value);
		set_bit(FAKEGPU_MOVED, &gpu->state);
		break;
	case FGPU_EVENT_JOB_START:
		trace_fakegpu_job_start(gpu->index, event->context, event->channel, event->value);
		break;
	case FGPU_EVENT_FENCE:
		trace_fakegpu_fence_signalled(gpu->index, event->context, event->channel,
					      event->value);
		wake(gpu, event->context, true);
		break;
	case FGPU_EVENT_JOB_DONE:
		set_bit(FAKEGPU_MOVED, &gpu->state);
		break;
	case FGPU_EVENT_LOG:
		log_event(gpu, event);
		wake(gpu, event->context, false);
		break;
	default:
		break;
	}
}

void fgpu_port_eventfd_end(void *eventfd, bool signal)
{
	if (signal)
		fakegpu_eventfd_signal(eventfd);
	eventfd_ctx_put(eventfd);
}

/* Also when waits must look again: a channel is gone, the device is. */
void fgpu_port_kick(struct fgpu_device *device)
{
	struct fakegpu_device *gpu = fgpu_device_driver_data(device);
	struct fakegpu_file *file;
	unsigned long id;

	fakegpu_engine_kick(gpu);
	rcu_read_lock();
	xa_for_each(&gpu->files, id, file) if (wq_has_sleeper(&file->wait)) fakegpu_file_wake(file);
	rcu_read_unlock();
}
