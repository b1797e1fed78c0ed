// SPDX-License-Identifier: MIT
/*
 * A useful part of an OCI bundle's config.json. What is not offered is refused
 * and not left out, but for linux.seccomp: minirt's own filter stands for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"

const json_t *mr_json_at(const json_t *json, const char *path)
{
	char name[64];

	while (json && *path) {
		size_t length = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		json = json_object_get(json, name);
		path += length + (path[length] == '.');
	}
	return json;
}

const char *mr_json_text(const json_t *json, const char *path)
{
	return json_string_value(mr_json_at(json, path));
}

int64_t mr_json_number(const json_t *json, const char *path, int64_t otherwise)
{
	const json_t *value = mr_json_at(json, path);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

char **mr_json_texts(const json_t *list)
{
	size_t i, count = json_array_size(list);
	char **texts = calloc(count + 1, sizeof(*texts));

	if (!texts)
		mr_no_memory();
	for (i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		texts[i] = mr_copy(text ? text : "");
	}
	return texts;
}

static int read_capabilities(struct mr_spec *spec, const json_t *list, struct mr_error *err)
{
	const json_t *name;
	size_t i;

	if (!list)
		return 0;
	spec->capabilities = 0;
	json_array_foreach (list, i, name) {
		const char *text = json_string_value(name);
		uint64_t bit;

		if (!text || mr_caps_by_name(text, &bit))
			return mr_usage(err, "config.json: no such capability: %s",
					text ? text : "?");
		spec->capabilities |= bit;
	}
	return 0;
}

static int read_process(struct mr_spec *spec, const json_t *process, struct mr_error *err)
{
	const json_t *args = mr_json_at(process, "args"), *env;
	size_t i;

	if (json_array_size(args))
		spec->argv = mr_json_texts(args);
	json_array_foreach (mr_json_at(process, "env"), i, env)
		if (json_string_value(env))
			mr_spec_env(spec, json_string_value(env));
	spec->cwd = mr_copy(mr_json_text(process, "cwd"));
	spec->terminal = json_is_true(mr_json_at(process, "terminal"));
	spec->uid = (uint32_t)mr_json_number(process, "user.uid", 0);
	spec->gid = (uint32_t)mr_json_number(process, "user.gid", 0);
	if (mr_bundle_rlimits(spec, mr_json_at(process, "rlimits"), err))
		return -1;
	return read_capabilities(spec, mr_json_at(process, "capabilities.bounding"), err);
}

static int read_mount(struct mr_spec *spec, const json_t *json, struct mr_error *err)
{
	const char *type = mr_json_text(json, "type"), *target = mr_json_text(json, "destination");
	struct mr_mount mount = {.source = mr_copy(mr_json_text(json, "source"))};
	const json_t *option;
	size_t i;

	if (!target)
		return mr_usage(err, "config.json: a mount has no destination");
	json_array_foreach (mr_json_at(json, "options"), i, option)
		if (json_string_value(option))
			mr_mount_options(&mount, json_string_value(option));
	/* The groups of version 1 have a tree per controller, which is none of a container's. */
	if (type && !strncmp(type, "cgroup", 6) && !mr_unified())
		return 0;
	if (type && !strcmp(type, "cgroup"))
		type = "cgroup2";
	mount.type = mr_copy(type ? type : "bind");
	mount.target = mr_copy(target);
	if (!strcmp(mount.type, "bind") && mount.source && *mount.source != '/') {
		char *whole = mr_text("%s/%s", spec->bundle, mount.source);

		free(mount.source);
		mount.source = whole;
	}
	*mr_list_add(&spec->mounts) = mount;
	return 0;
}

static int read_hooks(struct mr_spec *spec, const json_t *hooks, struct mr_error *err)
{
	static const char *const points[] = {"createRuntime", "createContainer", "startContainer",
					     "poststart", "poststop"};
	const json_t *hook;
	size_t i, k;

	if (json_array_size(mr_json_at(hooks, "prestart")))
		return mr_usage(err,
				"config.json: prestart hooks are deprecated; use createRuntime");
	for (i = 0; i < sizeof(points) / sizeof(*points); i++) {
		json_array_foreach (mr_json_at(hooks, points[i]), k, hook) {
			const char *path = mr_json_text(hook, "path");
			const json_t *args = mr_json_at(hook, "args"),
				     *env = mr_json_at(hook, "env");
			struct mr_hook *added;

			if (!path || *path != '/')
				return mr_usage(err,
						"config.json: a %s hook takes an absolute path",
						points[i]);
			added = mr_list_add(&spec->hooks);
			added->point = mr_copy(points[i]);
			added->path = mr_copy(path);
			added->argv = mr_json_texts(args ? args : json_pack("[s]", path));
			added->env = mr_json_texts(env);
			added->timeout_s = (unsigned int)mr_json_number(hook, "timeout", 0);
		}
	}
	return 0;
}

static int read_root(struct mr_spec *spec, const json_t *root, struct mr_error *err)
{
	const char *path = mr_json_text(root, "path");
	char *whole;

	if (!path)
		return mr_usage(err, "config.json: there is no root.path");
	whole = *path == '/' ? mr_copy(path) : mr_text("%s/%s", spec->bundle, path);
	spec->rootfs = realpath(whole, NULL);
	spec->read_only = json_is_true(mr_json_at(root, "readonly"));
	if (!spec->rootfs)
		return mr_fail(err, errno, "the root %s: %m", whole);
	free(whole);
	return 0;
}

static int read_config(struct mr_spec *spec, const json_t *config, struct mr_error *err)
{
	const json_t *mount;
	size_t i;

	if (mr_bundle_refuse(config, err) || read_root(spec, mr_json_at(config, "root"), err) ||
	    read_process(spec, mr_json_at(config, "process"), err))
		return -1;
	spec->hostname = mr_copy(mr_json_text(config, "hostname"));
	json_array_foreach (mr_json_at(config, "mounts"), i, mount)
		if (read_mount(spec, mount, err))
			return -1;
	if (read_hooks(spec, mr_json_at(config, "hooks"), err))
		return -1;
	return mr_bundle_linux(spec, mr_json_at(config, "linux"), err);
}

int mr_bundle_read(struct mr_spec *spec, const char *path, struct mr_error *err)
{
	json_error_t wrong;
	json_t *config;
	char *file;
	int ret;

	spec->bundle = realpath(path, NULL);
	if (!spec->bundle)
		return mr_fail(err, errno, "the bundle %s: %m", path);
	file = mr_text("%s/config.json", spec->bundle);
	config = json_load_file(file, JSON_REJECT_DUPLICATES, &wrong);
	if (!config)
		ret = mr_usage(err, "%s:%d: %s", file, wrong.line, wrong.text);
	else
		ret = read_config(spec, config, err);
	json_decref(config);
	free(file);
	return ret;
}
