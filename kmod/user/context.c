// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Contexts: one per open file of a node. The file is a sealed memory file, so
 * that its mappings are the kernel's own; a program gets a descriptor opened
 * anew, so that inotify can tell when the last copy of it, mappings included,
 * is gone.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct context *contexts;
static int closes = -1;

int contexts_init(void)
{
	closes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return closes;
}

static void read_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	if (n < 1)
		n = snprintf(name, size, "?\n");
	name[n - 1] = '\0';
	for (; *name; name++) /* its own choice; and it goes into lines and lists */
		if (*name < ' ' || *name > '~')
			*name = '?';
}

static int make_memory(struct context *context)
{
	struct stat info;

	context->fd = memfd_create(node_name(context->minor), MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (context->fd < 0 || ftruncate(context->fd, (off_t)FAKEGPU_OFF_END) ||
	    fcntl(context->fd, F_ADD_SEALS, SEALS) || fstat(context->fd, &info))
		return -ENOMEM;
	context->dev = info.st_dev;
	context->ino = info.st_ino;
	context->base = mmap(NULL, FAKEGPU_OFF_END, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, context->fd, 0);
	return context->base == MAP_FAILED ? -ENOMEM : 0;
}

/* The program's descriptor, watched for its last close. */
static int open_again(struct context *context, int *program_fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", context->fd);
	context->watch = inotify_add_watch(closes, path, IN_CLOSE_WRITE);
	*program_fd = open(path, O_RDWR | O_CLOEXEC);
	return context->watch < 0 || *program_fd < 0 ? -ENOMEM : 0;
}

static int open_core(struct context *context)
{
	enum fgpu_node node = context->minor == FAKEGPU_MINOR_CTL ? FGPU_NODE_CTL
			      : context->minor == FGPU_MINOR_UVM  ? FGPU_NODE_UVM
								  : FGPU_NODE_GPU;

	context->device = devices[node == FGPU_NODE_GPU ? context->minor : 0];
	return fgpu_context_open(context->device, node, context->pid, context->name, context,
				 &context->core);
}

static void release(struct context *context)
{
	if (context->core)
		fgpu_context_close(context->core);
	if (context->watch >= 0)
		inotify_rm_watch(closes, context->watch);
	if (context->base != MAP_FAILED)
		munmap(context->base, FAKEGPU_OFF_END);
	if (context->fd >= 0)
		close(context->fd);
	free(context);
}

int context_open(unsigned int minor, pid_t pid, struct context **ret, int *program_fd)
{
	struct context *context = calloc(1, sizeof(*context));
	int error;

	*program_fd = -1;
	if (!context)
		return -ENOMEM;
	context->minor = minor;
	context->pid = pid;
	context->watch = -1;
	context->base = MAP_FAILED;
	read_name(pid, context->name, sizeof(context->name));
	error = make_memory(context);
	if (!error)
		error = open_core(context);
	if (!error)
		error = open_again(context, program_fd);
	if (error) {
		if (*program_fd >= 0)
			close(*program_fd);
		release(context);
		return error;
	}
	context->id = fgpu_context_id(context->core);
	context->next = contexts;
	contexts = context;
	witness_context(context, true);
	*ret = context;
	return 0;
}

/* One of our own, to ask the device with; nobody sees it. */
struct context *context_own(unsigned int minor)
{
	static struct context *own[FAKEGPU_MAX_DEVICES];
	struct context *context;

	if (own[minor])
		return own[minor];
	context = calloc(1, sizeof(*context));
	if (!context)
		return NULL;
	context->minor = minor;
	context->pid = getpid();
	context->watch = -1;
	context->base = MAP_FAILED;
	if (make_memory(context) || open_core(context)) {
		release(context);
		return NULL;
	}
	own[minor] = context;
	return context;
}

void context_free(struct context *context)
{
	struct context **at = &contexts;

	while (*at != context)
		at = &(*at)->next;
	*at = context->next;
	witness_progress(context);
	witness_context(context, false);
	waits_drop(context);
	release(context);
}

void contexts_closed(void)
{
	char buffer[4096] __attribute__((aligned(8)));
	const struct inotify_event *event;
	struct context *context;
	ssize_t n;
	char *at;

	while ((n = read(closes, buffer, sizeof(buffer))) > 0) {
		for (at = buffer; at < buffer + n; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			for (context = contexts; context; context = context->next)
				if (context->watch == event->wd)
					break;
			if (context && event->mask & IN_CLOSE_WRITE)
				context_free(context);
		}
	}
}

struct context *context_of_inode(dev_t dev, ino_t ino)
{
	struct context *context;

	for (context = contexts; context; context = context->next)
		if (context->ino == ino && context->dev == dev)
			return context;
	return NULL;
}

struct context *context_of_fd(const struct task *task, int fd)
{
	struct stat info;

	return task_stat_fd(task, fd, &info) ? context_of_inode(info.st_dev, info.st_ino) : NULL;
}
