/* SPDX-License-Identifier: MIT */
/* The rows of options.c and what they do, which is in option_*.c. */
#ifndef MINIRT_OPTIONS_H
#define MINIRT_OPTIONS_H

#include "start.h"

#define MR_APPLY(name)                                                                             \
	int name(struct mr_spec *spec, struct mr_choice *choice, const char *value,                \
		 struct mr_error *err)

/**
 * struct mr_option - a flag
 * @verbs: those that have it
 * @value: what its value is called, or NULL where it takes none
 * @apply: -1 after mr_usage() or mr_fail()
 */
struct mr_option {
	unsigned int verbs;
	const char *name;
	const char *value;
	const char *help;
	MR_APPLY((*apply));
};

MR_APPLY(set_id);
MR_APPLY(set_memory);
MR_APPLY(set_memory_high);
MR_APPLY(set_swap);
MR_APPLY(set_cpus);
MR_APPLY(set_pids);
MR_APPLY(set_hostname);
MR_APPLY(add_device);
MR_APPLY(add_rule);
MR_APPLY(add_mount);
MR_APPLY(add_tmpfs);
MR_APPLY(add_env);
MR_APPLY(set_cwd);
MR_APPLY(set_user);
MR_APPLY(set_net);
MR_APPLY(set_host_net);
MR_APPLY(set_rootless);
MR_APPLY(add_uids);
MR_APPLY(add_gids);
MR_APPLY(set_read_only);
MR_APPLY(add_capability);
MR_APPLY(drop_capability);
MR_APPLY(set_no_seccomp);
MR_APPLY(add_gpu);
MR_APPLY(set_gpu_mode);
MR_APPLY(set_tty);
MR_APPLY(set_no_tty);
MR_APPLY(set_detach);
MR_APPLY(set_steps);
MR_APPLY(set_pid_file);
MR_APPLY(set_log);

#endif
