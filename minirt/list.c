// SPDX-License-Identifier: MIT
/* The verbs ps and state: what there is, of all containers and in one. Only read. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

static int print_one(int states, const char *id, void *data)
{
	struct mr_state state;
	struct mr_error ignored = {0};

	(void)data;
	if (mr_state_read(states, id, &state, &ignored))
		return 0;
	if (mr_state_orphan(&state))
		snprintf(state.status, sizeof(state.status), "stopped");
	printf("%-20s %-10s %8d  %s\n", id, state.status, state.pid,
	       state.argv[0] ? state.argv[0] : "");
	return 0;
}

/* The whole of a small file of /proc/PID, with its size; -1 when it can't be read. */
static ssize_t slurp(const char *pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	MR_FD file = open(path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, size - 1);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The command line, or the name in brackets; what a terminal would act on becomes '?'. */
static void command_of(const char *pid, char *text, size_t size)
{
	ssize_t n = slurp(pid, "cmdline", text, size), i;
	char name[32];

	if (n <= 0) {
		slurp(pid, "comm", name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		snprintf(text, size, "[%s]", name);
		n = (ssize_t)strlen(text);
	}
	/* Zeros end the arguments, and fill up what was overwritten by something shorter. */
	while (n > 0 && !text[n - 1])
		n--;
	for (i = 0; i < n; i++) {
		if (!text[i])
			text[i] = ' ';
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
	}
}

/* The last number of the line of /proc/PID/status that begins with @key. */
static long last_number(const char *status, const char *key)
{
	const char *line = strstr(status, key), *end, *at;

	if (!line)
		return -1;
	end = line + strcspn(line, "\n");
	for (at = end; at > line && at[-1] >= '0' && at[-1] <= '9';)
		at--;
	return strtol(at, NULL, 10);
}

static void print_process(const char *pid, bool json)
{
	char status[4096], command[1024];
	json_t *line;

	if (slurp(pid, "status", status, sizeof(status)) <= 0)
		return;
	command_of(pid, command, sizeof(command));
	if (!json) {
		printf("%8s %8ld  %s\n", pid, last_number(status, "NSpid:"), command);
		return;
	}
	line = json_pack("{s:i, s:I, s:s}", "pid", atoi(pid), "inside",
			 (json_int_t)last_number(status, "NSpid:"), "command", command);
	if (line && !json_dumpf(line, stdout, JSON_COMPACT))
		putchar('\n');
	json_decref(line);
}

/* All processes of the container's PID namespace, in the order of their numbers. */
static int print_processes(const struct mr_state *state, bool json, struct mr_error *err)
{
	char path[300];
	struct stat own, other;
	struct dirent **list = NULL;
	int count, i;

	/* The command's, as who may not look into PID 1 may look into it. */
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", mr_process_child(state->pid));
	if (stat(path, &own))
		return mr_fail(err, errno, "%s: %m", path);
	count = scandir("/proc", &list, NULL, versionsort);
	if (!json)
		printf("%8s %8s  %s\n", "PID", "INSIDE", "COMMAND");
	for (i = 0; i < count; i++) {
		pid_t pid = atoi(list[i]->d_name);

		snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
		if (pid == state->pid || (pid > 0 && !stat(path, &other) &&
					  other.st_ino == own.st_ino && other.st_dev == own.st_dev))
			print_process(list[i]->d_name, json);
		free(list[i]);
	}
	free(list);
	return 0;
}

int mr_verb_ps(int argc, char **argv, struct mr_error *err)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	struct mr_state state;
	MR_FD states = mr_state_open(err);

	argc -= json;
	argv += json;
	if (argc > 2)
		return mr_usage(err, "usage: minirt ps [--json] [NAME]"), err->status;
	if (states < 0)
		return err->status;
	if (argc == 1) {
		printf("%-20s %-10s %8s  %s\n", "NAME", "STATUS", "PID", "COMMAND");
		mr_state_each(states, print_one, NULL);
		return 0;
	}
	if (mr_state_read(states, argv[1], &state, err))
		return err->status;
	if (!mr_state_alive(&state))
		return mr_fail(err, ESRCH, "the container %s is not running", argv[1]), err->status;
	return print_processes(&state, json, err) ? err->status : 0;
}

int mr_verb_state(int argc, char **argv, struct mr_error *err)
{
	struct mr_state state;
	json_t *json;
	MR_FD states = mr_state_open(err);

	if (argc != 2)
		return mr_usage(err, "usage: minirt state NAME"), err->status;
	if (states < 0 || mr_state_read(states, argv[1], &state, err))
		return err->status;
	if (mr_state_orphan(&state))
		snprintf(state.status, sizeof(state.status), "stopped");
	json = mr_state_json(&state);
	if (!json || json_dumpf(json, stdout, JSON_INDENT(1)))
		return mr_fail(err, EINVAL, "the state of %s can't be shown", argv[1]), err->status;
	putchar('\n');
	json_decref(json);
	return 0;
}
