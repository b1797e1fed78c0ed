// SPDX-License-Identifier: MIT
/* The part "linux" of config.json: namespaces, ids, limits, nodes and their rules, hidden paths. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

#include "bundle.h"

static const struct {
	const char *name;
	unsigned int flag;
} namespaces[] = {
	{"pid", CLONE_NEWPID},	 {"mount", CLONE_NEWNS}, {"network", CLONE_NEWNET},
	{"uts", CLONE_NEWUTS},	 {"ipc", CLONE_NEWIPC},	 {"cgroup", CLONE_NEWCGROUP},
	{"user", CLONE_NEWUSER},
};

static int add_namespace(struct mr_spec *spec, const json_t *json, struct mr_error *err)
{
	const char *type = mr_json_text(json, "type");
	size_t i;

	if (mr_json_text(json, "path"))
		return mr_usage(err,
				"config.json: joining the namespace of another is not offered");
	for (i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++) {
		if (!type || strcmp(namespaces[i].name, type))
			continue;
		spec->namespaces |= namespaces[i].flag;
		return 0;
	}
	return mr_usage(err, "config.json: no such namespace: %s", type ? type : "?");
}

static int read_namespaces(struct mr_spec *spec, const json_t *list, struct mr_error *err)
{
	const json_t *one;
	size_t i;

	spec->namespaces = 0;
	json_array_foreach (list, i, one)
		if (add_namespace(spec, one, err))
			return -1;
	if (!(spec->namespaces & CLONE_NEWNS) || !(spec->namespaces & CLONE_NEWPID))
		return mr_usage(err, "config.json: a container takes a mount and a pid namespace");
	return 0;
}

static struct mr_idmap read_map(const json_t *json)
{
	return (struct mr_idmap){(uint32_t)mr_json_number(json, "containerID", 0),
				 (uint32_t)mr_json_number(json, "hostID", 0),
				 (uint32_t)mr_json_number(json, "size", 0)};
}

/* -1 means no limit, and so does nothing. */
static uint64_t limit(const json_t *resources, const char *path)
{
	int64_t value = mr_json_number(resources, path, -1);

	return value < 0 ? MR_UNLIMITED : (uint64_t)value;
}

static void read_limits(struct mr_limits *limits, const json_t *resources)
{
	uint64_t both = limit(resources, "memory.swap");

	limits->memory = limit(resources, "memory.limit");
	/* OCI's is of memory and swap together, the kernel's of swap alone. */
	if (both != MR_UNLIMITED && limits->memory != MR_UNLIMITED && both >= limits->memory)
		limits->swap = both - limits->memory;
	limits->cpu_quota_us = limit(resources, "cpu.quota");
	limits->cpu_period_us = limit(resources, "cpu.period");
	limits->pids = limit(resources, "pids.limit");
	if (!limits->pids)
		limits->pids = MR_UNLIMITED;
}

static int read_rule(struct mr_spec *spec, const json_t *json, struct mr_error *err)
{
	const char *type = mr_json_text(json, "type"), *access = mr_json_text(json, "access");
	struct mr_rule rule = {
		.allow = json_is_true(mr_json_at(json, "allow")),
		.type = type ? *type : 'a',
		.major = mr_json_number(json, "major", -1),
		.minor = mr_json_number(json, "minor", -1),
	};

	if (mr_access_parse(access ? access : "rwm", &rule.access) || !strchr("abc", rule.type))
		return mr_usage(err, "config.json: a device rule makes no sense");
	/* Denying all is where every list begins; here the usual nodes are on it already. */
	if (!rule.allow && rule.type == 'a' && rule.major < 0 && rule.minor < 0)
		return 0;
	*mr_list_add(&spec->rules) = rule;
	return 0;
}

static int read_device(struct mr_spec *spec, const json_t *json, struct mr_error *err)
{
	const char *path = mr_json_text(json, "path"), *type = mr_json_text(json, "type");

	if (!path || *path != '/' || !type || !strchr("bcu", *type))
		return mr_usage(err, "config.json: a device takes a path and the type c, u or b");
	*mr_list_add(&spec->devices) = (struct mr_device){
		.path = mr_copy(path),
		.type = *type == 'b' ? 'b' : 'c',
		.major = (uint32_t)mr_json_number(json, "major", 0),
		.minor = (uint32_t)mr_json_number(json, "minor", 0),
		.mode = (mode_t)mr_json_number(json, "fileMode", 0666),
		.uid = (uid_t)mr_json_number(json, "uid", 0),
		.gid = (gid_t)mr_json_number(json, "gid", 0),
	};
	return 0;
}

static void add_texts(const json_t *list, struct mr_spec *spec, bool hidden)
{
	const json_t *path;
	size_t i;

	json_array_foreach (list, i, path) {
		if (!json_string_value(path))
			continue;
		if (hidden)
			*mr_list_add(&spec->hide) = mr_copy(json_string_value(path));
		else
			*mr_list_add(&spec->read_only_paths) = mr_copy(json_string_value(path));
	}
}

int mr_bundle_linux(struct mr_spec *spec, const json_t *config, struct mr_error *err)
{
	const json_t *one;
	size_t i;

	if (read_namespaces(spec, mr_json_at(config, "namespaces"), err))
		return -1;
	json_array_foreach (mr_json_at(config, "uidMappings"), i, one)
		*mr_list_add(&spec->uids) = read_map(one);
	json_array_foreach (mr_json_at(config, "gidMappings"), i, one)
		*mr_list_add(&spec->gids) = read_map(one);
	read_limits(&spec->limits, mr_json_at(config, "resources"));
	json_array_foreach (mr_json_at(config, "resources.devices"), i, one)
		if (read_rule(spec, one, err))
			return -1;
	json_array_foreach (mr_json_at(config, "devices"), i, one)
		if (read_device(spec, one, err))
			return -1;
	add_texts(mr_json_at(config, "maskedPaths"), spec, true);
	add_texts(mr_json_at(config, "readonlyPaths"), spec, false);
	return 0;
}
