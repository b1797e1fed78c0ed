// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The notifier's loop: waits for whatever comes, takes one call at a time from
 * a listener, and holds the few ways to answer it.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

#define PROGRESS_MS 50

struct source {
	int fd;
	void (*ready)(void *, uint32_t);
	void *data;
	struct source *next;
};

static struct source *sources;
static struct listener *listeners;
static int poller = -1;
static int waker = -1;

int poller_add(int fd, void (*ready)(void *, uint32_t), void *data)
{
	struct source *source = malloc(sizeof(*source));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	if (!source)
		return -1;
	*source = (struct source){fd, ready, data, sources};
	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event)) {
		free(source);
		return -1;
	}
	sources = source;
	return 0;
}

/* The source itself stays until its turn is over: an event for it may be in hand. */
void poller_remove(int fd)
{
	struct source *source;

	epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
	for (source = sources; source; source = source->next)
		if (source->fd == fd)
			source->ready = NULL;
}

static void sweep(void)
{
	struct source **at = &sources, *source;

	while ((source = *at)) {
		if (source->ready) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		free(source);
	}
}

static int timeout_ms(void)
{
	uint64_t deadline = waits_deadline(), now;
	int ms = contexts && witness_on() ? PROGRESS_MS : -1;

	if (deadline == UINT64_MAX)
		return ms;
	now = now_ns();
	if (deadline <= now)
		return 0;
	deadline = (deadline - now + 999999) / 1000000;
	if (ms < 0 || deadline < PROGRESS_MS)
		ms = deadline < INT_MAX ? (int)deadline : INT_MAX;
	return ms;
}

static void tell_progress(void)
{
	static uint64_t next;
	struct context *context;
	uint64_t now = now_ns();

	if (!witness_on() || now < next)
		return;
	next = now + PROGRESS_MS * 1000000ULL;
	for (context = contexts; context; context = context->next)
		witness_progress(context);
}

int poller_run(bool (*done)(void))
{
	struct epoll_event events[16];
	struct source *source;
	int i, n;

	while (!done()) {
		n = epoll_wait(poller, events, 16, timeout_ms());
		if (n < 0 && errno != EINTR)
			return -errno;
		for (i = 0; i < n; i++) {
			source = events[i].data.ptr;
			if (source->ready)
				source->ready(source->data, events[i].events);
		}
		waits_check();
		tell_progress();
		sweep();
	}
	return 0;
}

static void woken(void *unused, uint32_t events)
{
	uint64_t count;

	(void)unused;
	(void)events;
	(void)!read(waker, &count, sizeof(count));
}

static void closed(void *unused, uint32_t events)
{
	(void)unused;
	(void)events;
	contexts_closed();
}

bool notify_init(void)
{
	int closes = contexts_init();

	poller = epoll_create1(EPOLL_CLOEXEC);
	waker = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return poller >= 0 && waker >= 0 && closes >= 0 && !poller_add(closes, closed, NULL) &&
	       !poller_add(waker, woken, NULL) && engine_start(waker);
}

static void drop(struct listener *listener)
{
	struct listener **at = &listeners;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	poller_remove(listener->fd);
	close(listener->fd);
	if (listener->broker >= 0)
		close(listener->broker);
	waits_forget(listener);
	free(listener);
}

bool notify_still_valid(const struct call *call)
{
	return !ioctl(call->listener->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->notif.id);
}

static bool respond(const struct call *call, int64_t ret, uint32_t flags)
{
	struct seccomp_notif_resp answer = {.id = call->notif.id, .flags = flags};

	if (ret < 0)
		answer.error = (int32_t)ret;
	else
		answer.val = ret;
	return !ioctl(call->listener->fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

bool notify_answer(struct call *call, int64_t ret)
{
	if (!respond(call, ret, 0))
		return false;
	witness_call(call, ret, now_ns());
	return true;
}

bool notify_continue(const struct call *call)
{
	return respond(call, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool notify_give_fd(struct call *call, int fd, bool cloexec)
{
	struct seccomp_notif_addfd give = {
		.id = call->notif.id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int given = ioctl(call->listener->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &give);

	if (given < 0 && errno == EINVAL) { /* before 5.14: in two steps */
		give.flags = 0;
		given = ioctl(call->listener->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &give);
		if (given >= 0 && !respond(call, given, 0))
			return false;
	}
	if (given < 0) {
		if (errno == EMFILE)
			return notify_answer(call, -EMFILE);
		return false;
	}
	witness_call(call, given, now_ns());
	return true;
}

static void dispatch(struct call *call)
{
	call->tid = (pid_t)call->notif.pid;
	call->task = task_of(call->tid);
	if (!call->task) { /* gone meanwhile, or of a PID namespace out of sight */
		notify_continue(call);
		return;
	}
	call->pid = call->task->pid;
	switch (call->notif.data.nr) {
	case SYS_ioctl:
		answer_ioctl(call);
		break;
	case SYS_fstat:
		answer_fstat(call);
		break;
	default:
		answer_path(call);
	}
}

static void ready(void *data, uint32_t events)
{
	struct listener *listener = data;
	struct call call = {.listener = listener};

	if (!(events & EPOLLIN)) {
		drop(listener); /* nobody is left under this filter */
		return;
	}
	/* ENOENT: the caller was interrupted or killed meanwhile. */
	if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, &call.notif))
		return;
	call.received = now_ns();
	dispatch(&call);
}

void notify_add(int fd, int broker)
{
	struct listener *listener = malloc(sizeof(*listener));

	/* The program is woken on this CPU, as after a call into the kernel. Since 6.6. */
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	if (!listener || poller_add(fd, ready, listener)) {
		free(listener);
		close(fd); /* what runs under it gets ENOSYS rather than no answer */
		if (broker >= 0)
			close(broker);
		return;
	}
	*listener = (struct listener){listeners, fd, broker};
	listeners = listener;
}

bool notify_any(void)
{
	return listeners;
}
