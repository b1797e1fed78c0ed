// SPDX-License-Identifier: MIT
/* minirt: a container from system calls. This file: the table of verbs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "start.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv, struct mr_error *err);
	bool enters; /* has processes in a container, which must not get at this program */
	const char *help;
} verbs[] = {
	{"run", mr_verb_run, true, "run [OPTIONS] ROOTFS|BUNDLE [COMMAND…]"},
	{"exec", mr_verb_exec, true, "exec [OPTIONS] NAME COMMAND…"},
	{"ps", mr_verb_ps, false, "ps [--json] [NAME]             containers, or processes of one"},
	{"state", mr_verb_state, false, "state NAME                     as JSON"},
	{"kill", mr_verb_kill, false, "kill NAME [SIGNAL]             TERM unless said"},
	{"delete", mr_verb_delete, false, "delete [--force] NAME          what is left of it"},
	{"events", mr_verb_events, false, "events [--follow] NAME         of its cgroup, as JSON"},
	{"devices", mr_verb_devices, false,
	 "devices NAME [RULE…]           show or change the list"},
};

#define COUNT (sizeof(verbs) / sizeof(*verbs))

static void usage(FILE *out)
{
	size_t i;

	fputs("usage: minirt VERB …\n\n", out);
	for (i = 0; i < COUNT; i++)
		fprintf(out, "  minirt %s\n", verbs[i].help);
	fputs("\nrun --help and exec --help tell the options. Exit status: the command's, or 128 "
	      "and the\nnumber of the signal that ended it; 125 could not be started, 126 can't be "
	      "executed,\n127 not found, 2 usage, 4 this machine lacks something.\n",
	      out);
}

static const struct verb *find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? find(argv[1]) : NULL;
	struct mr_error err = {0};
	int status;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) {
		usage(stdout);
		return 0;
	}
	if (!verb) {
		usage(stderr);
		return MR_EXIT_USAGE;
	}
	prctl(PR_SET_NAME, "minirt");
	mr_title_keep(argv);
	if (verb->enters && mr_sealed_exec(argv, &err))
		status = err.status;
	else
		status = verb->run(argc - 1, argv + 1, &err);
	if (status && err.text[0])
		dprintf(STDERR_FILENO, "minirt: %s\n", err.text);
	return status;
}
