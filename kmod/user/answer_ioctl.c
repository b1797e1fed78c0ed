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

/* A WAIT that is not over, or an answer that is to come late. */
struct wait {
	struct wait *next;
	struct call call;
	struct fakegpu_wait arg;
	uint64_t due;	/* CLOCK_MONOTONIC ns, when to look at the latest */
	int64_t answer; /* of a late one; 0 for a WAIT */
};

static struct wait *waits;

/* Whether the argument goes back to the program. */
static bool has_result(unsigned int command, int ret)
{
	if (!ret || ret == -ETIME)
		return true;
	return command == FAKEGPU_IOC_CHECK_VERSION && ret == -EINVAL;
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
	return notify_answer(call, *ret);
}

static void put_off(const struct call *call, const void *arg, uint64_t due, int64_t answer)
{
	struct wait *wait = malloc(sizeof(*wait));

	if (!wait)
		return;
	wait->call = *call;
	wait->due = due;
	wait->answer = answer;
	memset(&wait->arg, 0, sizeof(wait->arg));
	if (!answer)
		memcpy(&wait->arg, arg, sizeof(wait->arg));
	wait->next = waits;
	waits = wait;
	engine_watch(true);
}

static void perform(struct call *call, unsigned int command, void *arg, uint16_t size,
		    const void *payload)
{
	struct context *context = call->context;
	uint8_t before[ARG_MAX_SIZE];
	int ret, done;

	memcpy(before, arg, size);
	call->in = before;
	call->in_size = size;
	fgpu_device_lock(context->device);
	if (fgpu_ioctl_foresee_locked(context->core, command, arg, &ret)) {
		if (notify_answer(call, ret) && !ret)
			fgpu_ioctl_locked(context->core, command, arg, payload);
		fgpu_device_unlock(context->device);
		return;
	}
	ret = fgpu_ioctl_locked(context->core, command, arg, payload);
	done = ret;
	if (ret != -EINPROGRESS && !deliver(call, command, arg, size, &ret)) {
		memory_write(call->listener, call->tid, call->notif.data.args[2], before, size);
		ret = -EINTR;
	}
	if (!done && ret)
		fgpu_ioctl_undo_locked(context->core, command, arg);
	fgpu_device_unlock(context->device);
	if (ret == -EINPROGRESS)
		put_off(call, arg, ((struct fakegpu_wait *)arg)->deadline_ns, 0);
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
		error = fgpu_ioctl(call->context->core, command, arg, payload);
		put_off(call, NULL, now_ns() + late, error);
		return;
	}
	perform(call, command, arg, (uint16_t)size, payload);
}

/* Answers a wait that is over; false when it is not. */
static bool end_wait(struct wait *wait, uint64_t now)
{
	struct call *call = &wait->call;
	int ret;

	if (!notify_still_valid(call))
		return true;
	if (wait->answer) {
		if (now < wait->due)
			return false;
		call->in_size = 0; /* what it was has not been kept */
		notify_answer(call, wait->answer);
		return true;
	}
	ret = fgpu_wait_ready(call->context->core, &wait->arg);
	if (ret == -EINPROGRESS)
		return false;
	call->in = &wait->arg;
	deliver(call, FAKEGPU_IOC_WAIT, &wait->arg, sizeof(wait->arg), &ret);
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
		if (wait->due < nearest)
			nearest = wait->due;
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
