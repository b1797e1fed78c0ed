// SPDX-License-Identifier: MIT
/* The verb events: what the container's group uses and what has happened in it, as JSON lines. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

static const char *const single[] = {"memory.current", "memory.peak", "memory.max",
				     "pids.current",   "pids.max",    "cpu.max"};
static const char *const keyed[] = {"memory.events", "memory.events.local", "pids.events",
				    "cpu.stat", "cgroup.events"};

static bool slurp(int group, const char *name, char *text, size_t size)
{
	MR_FD file = openat(group, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : read(file, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* A number, or the text: "max", "max 100000". */
static json_t *value_of(char *text)
{
	char *end;
	long long value;

	text[strcspn(text, "\n")] = '\0';
	value = strtoll(text, &end, 10);
	return *text && !*end ? json_integer(value) : json_string(text);
}

static json_t *pairs_of(char *text)
{
	json_t *pairs = json_object();
	char *line, *value;

	while ((line = strsep(&text, "\n"))) {
		value = strchr(line, ' ');
		if (!value)
			continue;
		*value++ = '\0';
		json_object_set_new(pairs, line, value_of(value));
	}
	return pairs;
}

static void print(const char *id, int group)
{
	json_t *event = json_object();
	char text[4096];
	size_t i;

	json_object_set_new(event, "id", json_string(id));
	for (i = 0; i < sizeof(single) / sizeof(*single); i++)
		if (slurp(group, single[i], text, sizeof(text)))
			json_object_set_new(event, single[i], value_of(text));
	for (i = 0; i < sizeof(keyed) / sizeof(*keyed); i++)
		if (slurp(group, keyed[i], text, sizeof(text)))
			json_object_set_new(event, keyed[i], pairs_of(text));
	if (!json_dumpf(event, stdout, JSON_COMPACT))
		putchar('\n');
	fflush(stdout);
	json_decref(event);
}

/* A line at each change of memory.events, until the container ends; the last one tells what ended it. */
static void follow(const char *id, int group, int init)
{
	char text[4096];
	MR_FD events = openat(group, "memory.events", O_RDONLY | O_CLOEXEC);
	struct pollfd ready[] = {{.fd = init, .events = POLLIN}, {.fd = events, .events = POLLPRI}};

	bool ended = false;

	/* Once read, poll tells of the next change. */
	while (events < 0 || pread(events, text, sizeof(text), 0) >= 0) {
		print(id, group);
		if (ended || poll(ready, 2, -1) < 0)
			return;
		ended = ready[0].revents;
	}
}

int mr_verb_events(int argc, char **argv, struct mr_error *err)
{
	bool following = argc > 1 && !strcmp(argv[1], "--follow");
	struct mr_state state;
	MR_FD states = mr_state_open(err);

	argc -= following;
	argv += following;
	if (argc != 2)
		return mr_usage(err, "usage: minirt events [--follow] NAME"), err->status;
	if (states < 0 || mr_state_read(states, argv[1], &state, err))
		return err->status;
	if (!state.cgroup || !*state.cgroup)
		return mr_lacks(err,
				"%s has no cgroup of its own: that takes cgroup v2, as in: "
				"glassstack lab",
				argv[1]),
		       err->status;
	MR_FD group = mr_cgroup_open(state.cgroup, err);
	MR_FD init = state.pid > 0 ? (int)syscall(SYS_pidfd_open, state.pid, 0) : -1;
	if (group < 0)
		return err->status;
	if (following && init >= 0)
		follow(argv[1], group, init);
	else
		print(argv[1], group);
	return 0;
}
