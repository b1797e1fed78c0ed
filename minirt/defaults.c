// SPDX-License-Identifier: MIT
/* What a container has that nobody asked for: mounts, nodes, device rules, environment. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "start.h"

#define TERMINAL_MAJOR 136 /* and up: the ends of pseudo terminals */
#define HARMLESS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static const struct {
	const char *type, *target;
	unsigned long flags;
	const char *data;
} mounts[] = {
	{"proc", "/proc", HARMLESS, NULL},
	{"tmpfs", "/dev", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k"},
	{"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
	{"tmpfs", "/dev/shm", HARMLESS, "mode=1777,size=64m"},
	{"mqueue", "/dev/mqueue", HARMLESS, NULL},
	{"sysfs", "/sys", HARMLESS | MS_RDONLY, NULL},
	{"cgroup2", "/sys/fs/cgroup", HARMLESS | MS_RDONLY, NULL},
};

static const struct {
	const char *path;
	uint32_t major, minor;
} nodes[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

void mr_spec_init(struct mr_spec *spec)
{
	*spec = (struct mr_spec){
		.namespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC |
			      CLONE_NEWNET | CLONE_NEWCGROUP,
		.capabilities = mr_caps_default(),
		.limits = {MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED,
			   MR_UNLIMITED},
		.steps_fd = -1,
	};
	mr_spec_rules(spec);
}

/* Without a hierarchy of version 2 alone there is nothing that the container could make sense of. */
bool mr_unified(void)
{
	return !access("/sys/fs/cgroup/cgroup.controllers", F_OK);
}

void mr_spec_env(struct mr_spec *spec, const char *text)
{
	size_t name = strcspn(text, "="), count = 0;
	char **item;

	for (item = spec->env; item && *item; item++, count++) {
		if (!strncmp(*item, text, name) && (*item)[name] == '=') {
			*item = mr_copy(text);
			return;
		}
	}
	spec->env = mr_grow(spec->env, &count, sizeof(*spec->env));
	spec->env = mr_grow(spec->env, &count, sizeof(*spec->env));
	spec->env[count - 2] = mr_copy(text);
	spec->env[count - 1] = NULL;
}

static void allow(struct mr_spec *spec, char type, int64_t major, int64_t minor)
{
	*mr_list_add(&spec->rules) = (struct mr_rule){
		.allow = true,
		.type = type,
		.major = major,
		.minor = minor,
		.access = MR_READ | MR_WRITE | MR_MKNOD,
	};
}

/* Denied unless listed: the usual nodes, terminals and what makes them. */
void mr_spec_rules(struct mr_spec *spec)
{
	size_t i;

	for (i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		allow(spec, 'c', nodes[i].major, nodes[i].minor);
	allow(spec, 'c', 5, 2);
	allow(spec, 'c', TERMINAL_MAJOR, -1);
}

void mr_spec_defaults(struct mr_spec *spec)
{
	const char *term = getenv("TERM");
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if (!strcmp(mounts[i].type, "cgroup2") && !mr_unified())
			continue;
		*mr_list_add(&spec->mounts) = (struct mr_mount){
			.source = mr_copy(mounts[i].type),
			.target = mr_copy(mounts[i].target),
			.type = mr_copy(mounts[i].type),
			.flags = mounts[i].flags,
			.data = mr_copy(mounts[i].data),
		};
	}
	mr_spec_env(spec, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	mr_spec_env(spec, "HOME=/root");
	mr_spec_env(spec, "container=minirt");
	spec->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (spec->terminal && term) {
		char *text = mr_text("TERM=%s", term);

		mr_spec_env(spec, text);
		free(text);
	}
	mr_hide_defaults(spec);
}

void mr_spec_nodes(struct mr_spec *spec)
{
	size_t i;

	for (i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		*mr_list_add(&spec->devices) = (struct mr_device){
			.path = mr_copy(nodes[i].path),
			.type = 'c',
			.major = nodes[i].major,
			.minor = nodes[i].minor,
			.mode = 0666,
		};
}
