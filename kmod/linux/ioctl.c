// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ioctl: copy in, let the core do it, copy out. Memory of the program is
 * touched with no lock held, so that it may be as slow as it likes to be.
 */
#include <linux/eventfd.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"
#include "trace.h"

/**
 * struct request - one ioctl on its way
 * @command: its number
 * @size: bytes of its argument
 * @user: where that is in the program
 * @arg: our copy, read once
 * @payload: SUBMIT's packets, or NULL
 */
struct request {
	unsigned int command;
	unsigned int size;
	void __user *user;
	union {
		struct fakegpu_info info;
		struct fakegpu_check_version check_version;
		struct fakegpu_submit submit;
		struct fakegpu_wait wait;
		struct fakegpu_fence_eventfd fence_eventfd;
		u64 words[32];
	} arg;
	void *payload;
};

static int copy_in(struct request *request)
{
	u64 from = 0;
	int size;

	if (copy_from_user(&request->arg, request->user, request->size))
		return -EFAULT;
	size = fgpu_ioctl_payload(request->command, &request->arg, &from);
	if (size <= 0) /* what is wrong with it, the core says in its turn */
		return 0;
	request->payload = vmemdup_user(u64_to_user_ptr(from), size);
	return PTR_ERR_OR_ZERO(request->payload);
}

static bool has_result(const struct request *request, long ret)
{
	if (!(_IOC_DIR(request->command) & _IOC_READ))
		return false;
	return !ret || ret == -ETIME ||
	       (ret == -EINVAL && request->command == FAKEGPU_IOC_CHECK_VERSION);
}

/* An answer that can't be told must not stand. */
static long copy_out(struct fakegpu_file *file, struct request *request, long ret)
{
	struct fgpu_device *core = file->gpu->core;

	if (!has_result(request, ret) || !copy_to_user(request->user, &request->arg, request->size))
		return ret;
	if (!ret) {
		fgpu_device_lock(core);
		fgpu_ioctl_undo_locked(file->core, request->command, &request->arg);
		fgpu_device_unlock(core);
	}
	return -EFAULT;
}

/* The submit is traced before the engine can begin it. */
static long run(struct fakegpu_file *file, struct request *request)
{
	const struct fakegpu_submit *submit = &request->arg.submit;
	struct fakegpu_device *gpu = file->gpu;
	long ret;

	fgpu_device_lock(gpu->core);
	ret = fgpu_ioctl_locked(file->core, request->command, &request->arg, request->payload);
	if (!ret && request->command == FAKEGPU_IOC_SUBMIT)
		trace_fakegpu_submit(gpu->index, file->id, submit->channel, submit->seqno,
				     submit->length);
	fgpu_device_unlock(gpu->core);
	return ret;
}

/* The deadline is absolute: a call that a signal restarts goes on waiting, not anew. */
static long sleep_on(struct fakegpu_file *file, struct fakegpu_wait *wait)
{
	s64 moves = atomic64_read(&file->moves);
	ktime_t left;
	long ret;

	ret = fgpu_wait_ready(file->core, wait);
	if (ret != -EINPROGRESS)
		return ret;
	left = wait->deadline_ns > KTIME_MAX
		       ? KTIME_MAX
		       : ktime_sub(ns_to_ktime(wait->deadline_ns), ktime_get());
	if (left > 0 &&
	    wait_event_interruptible_hrtimeout(file->wait, atomic64_read(&file->moves) != moves,
					       left) == -ERESTARTSYS)
		return -ERESTARTSYS;
	return -EINPROGRESS;
}

static long wait_for_fence(struct fakegpu_file *file, struct request *request)
{
	long ret;

	atomic64_set(&file->fences_seen, atomic64_read(&file->fences));
	ret = run(file, request);
	while (ret == -EINPROGRESS)
		ret = sleep_on(file, &request->arg.wait);
	return ret;
}

/* The descriptor is the caller's only now: later it may name another file. */
static long bind_eventfd(struct fakegpu_file *file, struct request *request)
{
	struct eventfd_ctx *eventfd = eventfd_ctx_fdget(request->arg.fence_eventfd.fd);
	struct fgpu_eventfd found = {.error = PTR_ERR_OR_ZERO(eventfd), .object = eventfd};
	long ret = fgpu_ioctl(file->core, request->command, &request->arg, &found);

	if (ret && !found.error)
		eventfd_ctx_put(eventfd);
	return ret;
}

/* The firmware does not answer: the call takes as long as that does. A kill ends it. */
static long run_late(struct fakegpu_file *file, struct request *request, u64 late)
{
	long ret = run(file, request);

	schedule_timeout_killable(nsecs_to_jiffies(late));
	return ret;
}

/* unlocked_ioctl, and by way of compat_ptr_ioctl() that of 32-bit programs: all is the same size. */
long fakegpu_file_ioctl(struct file *filp, unsigned int command, unsigned long arg)
{
	struct fakegpu_file *file = filp->private_data;
	struct request request = {.command = command, .user = (void __user *)arg};
	int size = fgpu_ioctl_size(command);
	long ret;
	u64 late;

	if (size < 0)
		return size;
	if (WARN_ON_ONCE(size > sizeof(request.arg)))
		return -ENOTTY;
	request.size = size;
	ret = copy_in(&request);
	if (ret)
		return ret;
	late = fgpu_ioctl_delay(file->core, command);
	if (late)
		ret = run_late(file, &request, late);
	else if (command == FAKEGPU_IOC_WAIT)
		ret = wait_for_fence(file, &request);
	else if (command == FAKEGPU_IOC_FENCE_EVENTFD)
		ret = bind_eventfd(file, &request);
	else
		ret = run(file, &request);
	kvfree(request.payload);
	return copy_out(file, &request, ret);
}
EXPORT_SYMBOL_GPL(fakegpu_file_ioctl);
