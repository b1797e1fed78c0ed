// SPDX-License-Identifier: MIT
/* Ends what is left of a container and removes its traces: processes, group, network, state. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

#define END_MS 10000

/* The end of PID 1 is the end of all in its namespace. */
static void end_processes(const struct mr_state *state)
{
	MR_FD pidfd = state->pid > 0 ? (int)syscall(SYS_pidfd_open, state->pid, 0) : -1;
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	/* Looked at after the open: the descriptor is of that process or of none. */
	if (pidfd < 0 || !mr_state_alive(state))
		return;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	poll(&ended, 1, END_MS);
}

int mr_clean(int states, const char *id, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("delete");
	struct mr_state state;
	struct mr_error why = {0};
	int ret = 0;

	/* An unreadable state is the beginning of one: there is nothing else yet. */
	if (!mr_state_read(states, id, &state, &why)) {
		end_processes(&state);
		if (state.cgroup && *state.cgroup)
			ret |= mr_cgroup_remove(state.cgroup, err);
		if (state.net)
			ret |= mr_net_remove(id, err);
	}
	if (!ret)
		ret = mr_state_remove(states, id, err);
	mr_step_end(&step, ret ? err->code : 0, "container=%s", id);
	return ret ? -1 : 0;
}

static int clean_if_orphan(int states, const char *id, void *data)
{
	struct mr_state state;
	struct mr_error ignored = {0};

	(void)data;
	if (mr_state_read(states, id, &state, &ignored) || mr_state_orphan(&state))
		mr_clean(states, id, &ignored);
	return 0;
}

void mr_clean_orphans(int states)
{
	mr_state_each(states, clean_if_orphan, NULL);
}
