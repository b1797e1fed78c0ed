// SPDX-License-Identifier: MIT
/* The flags of run and exec: a table, each row with what it does to the specification. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

static const struct mr_option table[] = {
	{MR_RUN, "id", "NAME", "name of the container (default: random)", set_id},
	{MR_RUN, "memory", "SIZE", "memory.max, such as 100M", set_memory},
	{MR_RUN, "memory-high", "SIZE", "memory.high", set_memory_high},
	{MR_RUN, "swap", "SIZE", "memory.swap.max", set_swap},
	{MR_RUN, "cpus", "N", "processors' worth of time, such as 1.5 (cpu.max)", set_cpus},
	{MR_RUN, "pids", "N", "processes and threads (pids.max)", set_pids},
	{MR_RUN, "hostname", "NAME", "default: the name of the container", set_hostname},
	{MR_RUN, "device", "NODE[:PATH][:rwm]", "a node of the host, and allow it", add_device},
	{MR_RUN, "device-rule", "RULE", "\"allow|deny a|b|c MAJOR:MINOR rwm\"; the last match wins",
	 add_rule},
	{MR_RUN, "mount", "SOURCE:TARGET[:ro,…]", "bind a folder or file of the host", add_mount},
	{MR_RUN, "tmpfs", "TARGET", "a file system in memory", add_tmpfs},
	{MR_RUN | MR_EXEC, "env", "NAME=VALUE", "a variable of the command", add_env},
	{MR_RUN | MR_EXEC, "cwd", "PATH", "the command's folder in the container", set_cwd},
	{MR_RUN | MR_EXEC, "user", "UID[:GID]", "the command's user in the container", set_user},
	{MR_RUN, "net", NULL, "a veth pair with an address, besides the loopback", set_net},
	{MR_RUN, "host-net", NULL, "the host's network", set_host_net},
	{MR_RUN, "rootless", NULL, "a user namespace: no privilege on the host", set_rootless},
	{MR_RUN, "uid-map", "IN:OUT:N", "ids of the user namespace (default: 0 is you)", add_uids},
	{MR_RUN, "gid-map", "IN:OUT:N", "the same for groups", add_gids},
	{MR_RUN, "read-only", NULL, "the root can't be written", set_read_only},
	{MR_RUN, "cap-add", "NAME", "a capability that stays", add_capability},
	{MR_RUN, "cap-drop", "NAME|all", "one that goes", drop_capability},
	{MR_RUN, "no-seccomp", NULL, "without the default filter", set_no_seccomp},
	{MR_RUN, "gpu", "KIND=NAME", "a device by CDI, such as glassstack.dev/gpu=0", add_gpu},
	{MR_RUN, "gpu-mode", "cdi|hook", "inject it here, or by a createRuntime hook",
	 set_gpu_mode},
	{MR_RUN | MR_EXEC, "tty", NULL, "a terminal (default when in and output are one)", set_tty},
	{MR_RUN | MR_EXEC, "no-tty", NULL, "no terminal", set_no_tty},
	{MR_RUN, "detach", NULL, "print the name and leave it running", set_detach},
	{MR_RUN, "log", "FILE", "what a detached command says (default: nowhere)", set_log},
	{MR_RUN | MR_EXEC, "steps", "N|FILE",
	 "tell each step to descriptor N or FILE, as JSON lines", set_steps},
	{MR_RUN, "pid-file", "FILE", "write the host's pid of its PID 1", set_pid_file},
};

#define COUNT (sizeof(table) / sizeof(*table))
#define HELP ((int)COUNT + 1)

static void fill(enum mr_verb verb, struct option *options)
{
	size_t i, n = 0;

	for (i = 0; i < COUNT; i++)
		if (table[i].verbs & verb)
			options[n++] = (struct option){table[i].name, table[i].value != NULL, NULL,
						       (int)i + 1};
	options[n++] = (struct option){"help", no_argument, NULL, HELP};
	options[n] = (struct option){0};
}

void mr_options_help(enum mr_verb verb)
{
	char left[48];
	size_t i;

	printf("usage: minirt %s\n\n", verb == MR_RUN
					       ? "run [OPTIONS] ROOTFS|BUNDLE [COMMAND [ARGS…]]"
					       : "exec [OPTIONS] NAME COMMAND [ARGS…]");
	for (i = 0; i < COUNT; i++) {
		if (!(table[i].verbs & verb))
			continue;
		snprintf(left, sizeof(left), "--%s %s", table[i].name,
			 table[i].value ? table[i].value : "");
		printf("  %-28s %s\n", left, table[i].help);
	}
}

int mr_options(enum mr_verb verb, int *argc, char ***argv, struct mr_spec *spec,
	       struct mr_choice *choice, struct mr_error *err)
{
	struct option options[COUNT + 2];
	int chosen;

	fill(verb, options);
	optind = 0; /* from the beginning again */
	opterr = 0;
	while ((chosen = getopt_long(*argc, *argv, "+:h", options, NULL)) != -1) {
		if (chosen == HELP || chosen == 'h') {
			mr_options_help(verb);
			exit(0);
		}
		if (chosen == ':')
			return mr_usage(err, "%s takes a value", (*argv)[optind - 1]);
		if (chosen == '?')
			return mr_usage(err, "no such option: %s; see: minirt %s --help",
					(*argv)[optind - 1], verb == MR_RUN ? "run" : "exec");
		if (table[chosen - 1].apply(spec, choice, optarg, err))
			return -1;
	}
	*argc -= optind;
	*argv += optind;
	return 0;
}
