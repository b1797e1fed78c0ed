// SPDX-License-Identifier: MIT
/* The verbs kill, delete and devices: what changes a container from outside. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

/* "TERM", "SIGTERM" or "15"; 0 for none of them. */
static int signal_of(const char *text)
{
	const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
	char *end;
	long value = strtol(text, &end, 10);
	int number;

	if (*text && !*end)
		return value > 0 && value < NSIG ? (int)value : 0;
	for (number = 1; number < NSIG; number++) {
		const char *known = sigabbrev_np(number);

		if (known && !strcasecmp(known, name))
			return number;
	}
	return 0;
}

int mr_verb_kill(int argc, char **argv, struct mr_error *err)
{
	int number = argc == 3 ? signal_of(argv[2]) : SIGTERM;
	struct mr_state state;
	MR_FD states = mr_state_open(err);

	if (argc < 2 || argc > 3)
		return mr_usage(err, "usage: minirt kill NAME [SIGNAL]"), err->status;
	if (!number)
		return mr_usage(err, "no such signal: %s", argv[2]), err->status;
	if (states < 0 || mr_state_read(states, argv[1], &state, err))
		return err->status;
	MR_FD init = state.pid > 0 ? (int)syscall(SYS_pidfd_open, state.pid, 0) : -1;
	if (init < 0 || !mr_state_alive(&state))
		return mr_fail(err, ESRCH, "the container %s is not running", argv[1]), err->status;
	/* PID 1 passes it on to the command; KILL is the end of both. */
	if (syscall(SYS_pidfd_send_signal, init, number, NULL, 0))
		return mr_fail(err, errno, "signal %s: %m", argv[1]), err->status;
	return 0;
}

int mr_verb_delete(int argc, char **argv, struct mr_error *err)
{
	bool force = argc > 1 && (!strcmp(argv[1], "--force") || !strcmp(argv[1], "-f"));
	struct mr_state state;
	struct mr_error ignored = {0};
	MR_FD states = mr_state_open(err);

	if (argc != 2 + force)
		return mr_usage(err, "usage: minirt delete [--force] NAME"), err->status;
	if (states < 0)
		return err->status;
	MR_FD lock = mr_state_lock(states);
	if (lock < 0)
		return mr_fail(err, errno, "lock the state folder: %m"), err->status;
	if (mr_state_read(states, argv[1 + force], &state, &ignored)) {
		*err = ignored;
		/* A folder without a state is what a start that was cut short has left. */
		return ignored.code == ENOENT && mr_state_leftover(states, argv[1 + force])
			       ? mr_clean(states, argv[1 + force], err)
			       : err->status;
	}
	if (!force && mr_state_alive(&state) && !mr_state_orphan(&state))
		return mr_fail(err, EBUSY,
			       "the container %s runs; end it by: minirt delete --force %s",
			       argv[1], argv[1]),
		       err->status;
	return mr_clean(states, state.id, err) ? err->status : 0;
}

static int change_rules(int states, struct mr_state *state, struct mr_error *err)
{
	if (!state->cgroup || !*state->cgroup || state->rootless)
		return mr_lacks(err,
				"%s has no device list: that takes root and cgroup v2, as in: "
				"glassstack lab",
				state->id);
	if (mr_rules_change(state->cgroup, state->rules.items, state->rules.count, err))
		return -1;
	return mr_state_save(states, state, err);
}

int mr_verb_devices(int argc, char **argv, struct mr_error *err)
{
	struct mr_state state;
	MR_FD states = mr_state_open(err);
	int i;

	if (argc < 2)
		return mr_usage(err, "usage: minirt devices NAME [RULE…]"), err->status;
	if (states < 0)
		return err->status;
	MR_FD lock = mr_state_lock(states);
	if (lock < 0)
		return mr_fail(err, errno, "lock the state folder: %m"), err->status;
	if (mr_state_read(states, argv[1], &state, err))
		return err->status;
	for (i = 2; i < argc; i++) {
		struct mr_rule rule;

		if (mr_rule_parse(argv[i], &rule, err))
			return err->status;
		*mr_list_add(&state.rules) = rule;
	}
	mr_step_open(state.id, -1, argc > 2 ? mr_steps_keep(states, state.id, false) : -1);
	if (argc > 2)
		return change_rules(states, &state, err) ? err->status : 0;
	for (i = 0; i < (int)state.rules.count; i++) {
		char *text = mr_rule_text(&state.rules.items[i]);

		puts(text);
		free(text);
	}
	return 0;
}
