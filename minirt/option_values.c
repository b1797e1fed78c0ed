// SPDX-License-Identifier: MIT
/* What the plain flags do to the specification. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* A flag that is on or off, or a text kept as it is: one line each. */
#define FLAG(name, statement)                                                                      \
	MR_APPLY(name)                                                                             \
	{                                                                                          \
		(void)spec, (void)choice, (void)value, (void)err;                                  \
		statement;                                                                         \
		return 0;                                                                          \
	}

FLAG(set_hostname, spec->hostname = mr_copy(value))
FLAG(set_cwd, spec->cwd = mr_copy(value))
FLAG(set_net, spec->net = true)
FLAG(set_host_net, spec->namespaces &= ~(unsigned int)CLONE_NEWNET)
FLAG(set_rootless, spec->rootless = true)
FLAG(set_read_only, spec->read_only = true)
FLAG(set_no_seccomp, spec->no_seccomp = true)
FLAG(set_tty, spec->terminal = true)
FLAG(set_no_tty, spec->terminal = false)
FLAG(set_detach, (spec->detach = true, spec->terminal = false))
FLAG(set_log, choice->log = value)
FLAG(set_pid_file, choice->pid_file = value)
FLAG(add_gpu, *mr_list_add(&spec->gpu) = mr_copy(value))

MR_APPLY(set_id)
{
	(void)choice;
	if (!mr_good_id(value))
		return mr_usage(err,
				"--id takes at most %d letters, digits and '.', '_', '-', of "
				"which it begins with none",
				MR_ID_MAX - 1);
	snprintf(spec->id, sizeof(spec->id), "%s", value);
	return 0;
}

/* "100M": binary units. */
static int size(const char *name, const char *text, uint64_t *bytes, struct mr_error *err)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end & ~32) : NULL;
	if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])))
		return mr_usage(err, "--%s takes a size such as 100M, not: %s", name, text);
	if (unit && value >> (64 - 10 * (unit - units + 1)))
		return mr_usage(err, "--%s: %s is too large", name, text);
	*bytes = unit ? value << (10 * (unit - units + 1)) : value;
	return 0;
}

MR_APPLY(set_memory)
{
	(void)choice;
	return size("memory", value, &spec->limits.memory, err);
}

MR_APPLY(set_memory_high)
{
	(void)choice;
	return size("memory-high", value, &spec->limits.memory_high, err);
}

MR_APPLY(set_swap)
{
	(void)choice;
	return size("swap", value, &spec->limits.swap, err);
}

MR_APPLY(set_cpus)
{
	char *end;
	double cpus = strtod(value, &end);

	(void)choice;
	if (*end || !(cpus >= 0.01 && cpus <= 100000))
		return mr_usage(err, "--cpus takes a number such as 1.5, not: %s", value);
	spec->limits.cpu_period_us = 100000;
	spec->limits.cpu_quota_us = (uint64_t)(cpus * 100000 + 0.5);
	return 0;
}

static int number(const char *name, const char *text, uint64_t least, uint64_t most,
		  uint64_t *value, struct mr_error *err)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most)
		return 0;
	return mr_usage(err, "--%s takes a number, not: %s", name, text);
}

MR_APPLY(set_pids)
{
	(void)choice;
	return number("pids", value, 1, 1 << 22, &spec->limits.pids, err);
}

MR_APPLY(add_env)
{
	(void)choice;
	if (!strchr(value, '=') || *value == '=')
		return mr_usage(err, "--env takes NAME=VALUE, not: %s", value);
	mr_spec_env(spec, value);
	return 0;
}

MR_APPLY(set_user)
{
	char *end;

	(void)choice;
	spec->uid = spec->gid = (uint32_t)strtoul(value, &end, 10);
	if (end != value && *end == ':') {
		value = end + 1;
		spec->gid = (uint32_t)strtoul(value, &end, 10);
	}
	if (*end || end == value)
		return mr_usage(err, "--user takes UID[:GID] as numbers");
	return 0;
}

static int parse_map(const char *text, struct mr_idmap *map, struct mr_error *err)
{
	char more;

	if (sscanf(text, "%u:%u:%u%c", &map->inside, &map->outside, &map->count, &more) == 3 &&
	    map->count)
		return 0;
	return mr_usage(err, "a map of ids is INSIDE:OUTSIDE:COUNT, not: %s", text);
}

MR_APPLY(add_uids)
{
	(void)choice;
	return parse_map(value, mr_list_add(&spec->uids), err);
}

MR_APPLY(add_gids)
{
	(void)choice;
	return parse_map(value, mr_list_add(&spec->gids), err);
}

MR_APPLY(add_capability)
{
	uint64_t bit;

	(void)choice;
	if (mr_caps_by_name(value, &bit))
		return mr_usage(err, "no such capability: %s", value);
	spec->capabilities |= bit;
	return 0;
}

MR_APPLY(drop_capability)
{
	uint64_t bit = ~0ULL;

	(void)choice;
	if (strcmp(value, "all") && mr_caps_by_name(value, &bit))
		return mr_usage(err, "no such capability: %s", value);
	spec->capabilities &= ~bit;
	return 0;
}

MR_APPLY(set_gpu_mode)
{
	(void)choice;
	spec->gpu_hook = !strcmp(value, "hook");
	return spec->gpu_hook || !strcmp(value, "cdi") ? 0
						       : mr_usage(err, "--gpu-mode is cdi or hook");
}

MR_APPLY(set_steps)
{
	uint64_t fd;
	struct mr_error no_number;

	(void)spec;
	if (choice->steps_fd >= 0)
		return 0; /* the flags are read twice, the file is opened once */
	if (!number("steps", value, 0, 1 << 20, &fd, &no_number)) {
		if (fcntl((int)fd, F_GETFD) < 0)
			return mr_usage(err, "--steps: descriptor %s is not open", value);
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
		choice->steps_fd = (int)fd;
		return 0;
	}
	choice->steps_fd = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return choice->steps_fd < 0 ? mr_fail(err, errno, "open %s: %m", value) : 0;
}
