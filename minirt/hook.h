/* SPDX-License-Identifier: MIT */
/* What the files of fakegpu-hook share. */
#ifndef MINIRT_HOOK_H
#define MINIRT_HOOK_H

#include <jansson.h>

#include "start.h"

/**
 * struct hook_state - what the runtime says of the container
 * @id, @bundle: as the runtime calls them
 * @rootfs: path of the root, as the host has it
 * @visible: FAKEGPU_VISIBLE_DEVICES of the container's process, or NULL
 */
struct hook_state {
	char id[MR_ID_MAX];
	pid_t pid;
	char *bundle;
	char *rootfs;
	char *visible;
};

/* hook_state.c: from standard input and the bundle's config.json */
int hook_state_read(struct hook_state *state, struct mr_error *err);

/* hook_links.c, hook_ldcache.c: inside the root, resolved there whatever its links say */
int hook_link(int root, const char *text, struct mr_error *err);
int hook_ldcache(int root, char *const *folders, size_t count, struct mr_error *err);

/* hook_runtime.c: the whole of an injection */
struct hook_options {
	const char *visible; /* NULL: the container's own */
	const char *directories;
	const char
		*inside; /* where files that stand for nodes are; the caller is in the container */
	bool no_rules;
};
int hook_runtime(const struct hook_state *state, const struct hook_options *options,
		 struct mr_error *err);

/* hook_rules.c: lets the process's cgroup open the devices of the rules */
int hook_rules(pid_t pid, const struct mr_rule *rules, size_t count, struct mr_error *err);

#endif
