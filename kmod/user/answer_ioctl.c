// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ioctls. The call, the copy-out and the answer happen under the device's
 * lock, so that the engine has not touched what may have to be taken back:
 * a caller that a signal interrupted in between will call again.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARG_MAX_SIZE 256
#define PAYLOAD_KEPT 1024
#define SIGNALS_NS 5000000ULL /* a WAIT hears of a signal within this */

/**
 * struct wait - a WAIT that is not over, or a call that takes its time
 * @call: its `in` is @before
 * @command: what it is
 * @size: of its argument
 * @due: CLOCK_MONOTONIC ns, when to look at it at the latest
 * @look: the same, when to look for a signal that should end a WAIT
 * @arg: its argument, @before it was made
 */
struct wait {
	struct wait *next;
	struct call call;
	unsigned int command;
	uint16_t size;
	uint64_t due;
	uint64_t look;
	uint64_t arg[ARG_MAX_SIZE / 8];
	uint8_t before[ARG_MAX_SIZE];
};

static struct wait *waits;

/* Whether the argument goes back to the program. */
static bool has_result(unsigned int command, int ret)
{
	if (!(_IOC_DIR(command) & _IOC_READ))
		return false;
	if (!ret || ret == -ETIME)
		return true;
	return command == FAKEGPU_IOC_CHECK_VERSION && ret == -EINVAL;
}

/*
 * False when the caller is gone. Kernels before 5.19 leave a gap: a caller that
 * a signal has woken, but that has not yet left, counts as answered and still
 * makes its call again. Asking first lets it leave, most of the time.
 */
static bool answer(struct call *call, int ret)
{
	return notify_still_valid(call) && notify_answer(call, ret);
}

/* Copies out and answers; false when the caller is gone. An unwritable argument answers EFAULT. */
static bool deliver(struct call *call, unsigned int command, void *arg, uint16_t size, int *ret)
{
	uint64_t user = call->notif.data.args[2];

	if (has_result(command, *ret)) {
		if (!notify_still_valid(call))
			return false;
		if (!memory_write(call->listener, call->tid, user, arg, size))
			*ret = -EFAULT;
		else
			call->out_size = size;
		call->out = arg;
	}
	return answer(call, *ret);
}

static void put_off(struct call *call, unsigned int command, const void *arg, const void *before,
		    uint16_t size, uint64_t due)
{
	struct wait *wait = malloc(sizeof(*wait));

	if (!wait) {
		notify_answer(call, -ENOMEM);
		return;
	}
	wait->call = *call;
	wait->call.task = NULL;
	wait->call.in = wait->before;
	wait->command = command;
	wait->size = size;
	wait->due = due;
	wait->look = command == FAKEGPU_IOC_WAIT ? now_ns() + SIGNALS_NS : UINT64_MAX;
	memcpy(wait->arg, arg, size);
	memcpy(wait->before, before, size);
	wait->next = waits;
	waits = wait;
	engine_watch(true);
}

/*
 * FREE and its like can't be taken back: answered first, done when the answer
 * has arrived. The lock keeps everybody from noticing.
 */
static bool answer_first(struct call *call, unsigned int command, void *arg)
{
	struct context *context = call->context;
	int ret;

	if (!fgpu_ioctl_foresee_locked(context->core, command, arg, &ret))
		return false;
	if (answer(call, ret) && !ret)
		fgpu_ioctl_locked(context->core, command, arg, NULL);
	return true;
}

/* Returns what the core said, whether or not it could be told. */
static int perform(struct call *call, unsigned int command, void *arg, uint16_t size,
		   const void *payload)
{
	struct context *context = call->context;
	uint8_t before[ARG_MAX_SIZE];
	int ret, done;

	memcpy(before, arg, size);
	call->in = before;
	call->in_size = size;
	fgpu_device_lock(context->device);
	if (answer_first(call, command, arg)) {
		fgpu_device_unlock(context->device);
		return 0;
	}
	ret = fgpu_ioctl_locked(context->core, command, arg, payload);
	done = ret;
	if (ret != -EINPROGRESS && !deliver(call, command, arg, size, &ret)) {
		if (call->out_size)
			memory_write(call->listener, call->tid, call->notif.data.args[2], before,
				     size);
		ret = -EINTR;
	}
	if (!done && ret)
		fgpu_ioctl_undo_locked(context->core, command, arg);
	fgpu_device_unlock(context->device);
	if (ret == -EINPROGRESS)
		put_off(call, command, arg, before, size,
			((struct fakegpu_wait *)arg)->deadline_ns);
	return done;
}

/* FENCE_EVENTFD: our descriptor stays with the core if that takes it. */
static void bind_eventfd(struct call *call, void *arg, uint16_t size)
{
	int fd = eventfd_find(call, ((const struct fakegpu_fence_eventfd *)arg)->fd);
	struct fgpu_eventfd found = {.error = fd < 0 ? fd : 0, .object = (void *)(intptr_t)fd};

	if (perform(call, FAKEGPU_IOC_FENCE_EVENTFD, arg, size, &found) && fd >= 0)
		close(fd);
}

/* SUBMIT's packets; false and *error when they can't be had. */
static bool fetch_payload(struct call *call, unsigned int command, const void *arg, void *payload,
			  int *error)
{
	uint64_t from = 0;
	int size = fgpu_ioctl_payload(command, arg, &from);

	*error = size < 0 ? size : 0;
	if (size <= 0)
		return !size;
	if (!memory_read(call->listener, call->tid, from, payload, (size_t)size)) {
		*error = -EFAULT;
		return false;
	}
	call->payload = payload;
	call->payload_size = (uint16_t)(size < PAYLOAD_KEPT ? size : PAYLOAD_KEPT);
	return true;
}

void answer_ioctl(struct call *call)
{
	static uint8_t payload[FAKEGPU_SUBMIT_MAX];
	unsigned int command = (unsigned int)call->notif.data.args[1];
	uint64_t arg[ARG_MAX_SIZE / 8];
	uint64_t late;
	int size, error;

	call->context = context_of_fd(call->task, (int)call->notif.data.args[0]);
	if (!call->context) {
		notify_continue(call);
		return;
	}
	call->minor = call->context->minor;
	size = fgpu_ioctl_size(command);
	if (size < 0) {
		notify_answer(call, size);
		return;
	}
	if (!memory_read(call->listener, call->tid, call->notif.data.args[2], arg, (size_t)size)) {
		notify_answer(call, -EFAULT);
		return;
	}
	call->in = arg;
	call->in_size = (uint16_t)size;
	if (!notify_still_valid(call))
		return;
	if (!fetch_payload(call, command, arg, payload, &error) && error == -EFAULT) {
		notify_answer(call, error);
		return;
	}
	late = fgpu_ioctl_delay(call->context->core, command);
	if (late) {
		put_off(call, command, arg, arg, (uint16_t)size, now_ns() + late);
		return;
	}
	if (command == FAKEGPU_IOC_FENCE_EVENTFD)
		bind_eventfd(call, arg, (uint16_t)size);
	else
		perform(call, command, arg, (uint16_t)size, payload);
}

/* Answers what is over; false when it is not. */
static bool end_wait(struct wait *wait, uint64_t now)
{
	struct call *call = &wait->call;
	const struct task *task;
	int ret;

	if (!notify_still_valid(call))
		return true;
	if (wait->command != FAKEGPU_IOC_WAIT) {
		if (now < wait->due)
			return false;
		perform(call, wait->command, wait->arg, wait->size, NULL);
		return true;
	}
	ret = fgpu_wait_ready(call->context->core, (struct fakegpu_wait *)wait->arg);
	if (ret == -EINPROGRESS) {
		if (now < wait->look)
			return false;
		wait->look = now + SIGNALS_NS;
		task = task_of(call->tid);
		ret = task ? task_interruption(task) : 0;
		if (!ret)
			return false;
	}
	deliver(call, wait->command, wait->arg, wait->size, &ret);
	return true;
}

void waits_check(void)
{
	struct wait **at = &waits, *wait;
	uint64_t now = waits ? now_ns() : 0;

	while ((wait = *at)) {
		if (!end_wait(wait, now)) {
			at = &wait->next;
			continue;
		}
		*at = wait->next;
		free(wait);
	}
	engine_watch(waits);
}

uint64_t waits_deadline(void)
{
	const struct wait *wait;
	uint64_t nearest = UINT64_MAX;

	for (wait = waits; wait; wait = wait->next)
		if ((wait->look < wait->due ? wait->look : wait->due) < nearest)
			nearest = wait->look < wait->due ? wait->look : wait->due;
	return nearest;
}

static void remove_waits(const struct context *context, const struct listener *listener)
{
	struct wait **at = &waits, *wait;

	while ((wait = *at)) {
		if (wait->call.context != context && wait->call.listener != listener) {
			at = &wait->next;
			continue;
		}
		if (context)
			notify_answer(&wait->call, -EBADF);
		*at = wait->next;
		free(wait);
	}
}

void waits_drop(const struct context *context)
{
	remove_waits(context, NULL);
}

void waits_forget(const struct listener *listener)
{
	remove_waits(NULL, listener);
}
