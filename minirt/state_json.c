// SPDX-License-Identifier: MIT
/* state.json: the state of OCI's runtime specification and what minirt itself needs later. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

static json_t *strings(char *const *texts)
{
	json_t *list = json_array();

	for (; texts && *texts; texts++) {
		json_t *text = json_string(*texts);

		/* What is not UTF-8 can't be written as JSON: kept readable. */
		json_array_append_new(list, text ? text : json_string("?"));
	}
	return list;
}

static char **strings_of(const json_t *list)
{
	char **texts = calloc(json_array_size(list) + 1, sizeof(*texts));
	const json_t *text;
	size_t i;

	if (!texts)
		mr_no_memory();
	json_array_foreach (list, i, text)
		texts[i] = mr_copy(json_string_value(text) ? json_string_value(text) : "");
	return texts;
}

static json_t *rules(const struct mr_state *state)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < state->rules.count; i++) {
		char *text = mr_rule_text(&state->rules.items[i]);

		json_array_append_new(list, json_string(text));
		free(text);
	}
	return list;
}

static json_t *text_or_null(const char *text)
{
	json_t *value = text ? json_string(text) : NULL;

	return value ? value : json_null();
}

json_t *mr_state_json(const struct mr_state *state)
{
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:o, s:{s:I, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o,"
		" s:i, s:i, s:I, s:i, s:b, s:b, s:b, s:b, s:o}}",
		"ociVersion", "1.0.2", "id", state->id, "status", state->status, "pid",
		(int)state->pid, "bundle", json_string(state->bundle ? state->bundle : ""),
		"minirt", "start", (json_int_t)state->start, "runtime", (int)state->runtime,
		"runtime_start", (json_int_t)state->runtime_start, "rootfs",
		text_or_null(state->rootfs), "cgroup", text_or_null(state->cgroup), "hostname",
		text_or_null(state->hostname), "argv", strings(state->argv), "env",
		strings(state->env), "cwd", text_or_null(state->cwd), "uid", (int)state->uid, "gid",
		(int)state->gid, "capabilities", (json_int_t)state->capabilities, "namespaces",
		(int)state->namespaces, "detached", state->detached, "rootless", state->rootless,
		"net", state->net, "no_seccomp", state->no_seccomp, "rules", rules(state));
}

/* At once: jansson itself writes to a descriptor word by word, and reads from one byte by byte. */
static int write_json(int file, const json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	ssize_t size = text ? (ssize_t)strlen(text) : 0;
	int ret = text && write(file, text, (size_t)size) == size ? 0 : -1;

	free(text);
	return ret;
}

static json_t *read_json(int file, json_error_t *wrong)
{
	struct stat info;
	char *text = NULL;
	json_t *json = NULL;
	ssize_t n;

	snprintf(wrong->text, sizeof(wrong->text), "it can't be read");
	if (!fstat(file, &info) && info.st_size > 0)
		text = malloc((size_t)info.st_size);
	n = text ? read(file, text, (size_t)info.st_size) : -1;
	if (n > 0)
		json = json_loadb(text, (size_t)n, 0, wrong);
	free(text);
	return json;
}

int mr_state_save(int states, const struct mr_state *state, struct mr_error *err)
{
	char path[MR_ID_MAX + 32], fresh[MR_ID_MAX + 32];
	json_t *json = mr_state_json(state);
	int code = 0;

	snprintf(path, sizeof(path), "%s/state.json", state->id);
	snprintf(fresh, sizeof(fresh), "%s/state.json.new", state->id);
	MR_FD file = openat(states, fresh, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (file < 0 || write_json(file, json) || renameat(states, fresh, states, path))
		code = errno;
	json_decref(json);
	return code ? mr_fail(err, code, "write the state of %s: %s", state->id, strerror(code))
		    : 0;
}

static char *member(const json_t *own, const char *name)
{
	return mr_copy(json_string_value(json_object_get(own, name)));
}

static json_int_t number(const json_t *own, const char *name)
{
	return json_integer_value(json_object_get(own, name));
}

static void fill(struct mr_state *state, const json_t *json)
{
	const json_t *own = json_object_get(json, "minirt"), *rule;
	struct mr_error ignored;
	size_t i;

	snprintf(state->status, sizeof(state->status), "%s",
		 json_string_value(json_object_get(json, "status")) ?: "stopped");
	state->pid = (pid_t)number(json, "pid");
	state->bundle = member(json, "bundle");
	state->start = (uint64_t)number(own, "start");
	state->runtime = (pid_t)number(own, "runtime");
	state->runtime_start = (uint64_t)number(own, "runtime_start");
	state->rootfs = member(own, "rootfs");
	state->cgroup = member(own, "cgroup");
	state->hostname = member(own, "hostname");
	state->argv = strings_of(json_object_get(own, "argv"));
	state->env = strings_of(json_object_get(own, "env"));
	state->cwd = member(own, "cwd");
	state->uid = (uint32_t)number(own, "uid");
	state->gid = (uint32_t)number(own, "gid");
	state->capabilities = (uint64_t)number(own, "capabilities");
	state->namespaces = (unsigned int)number(own, "namespaces");
	state->detached = json_is_true(json_object_get(own, "detached"));
	state->rootless = json_is_true(json_object_get(own, "rootless"));
	state->net = json_is_true(json_object_get(own, "net"));
	state->no_seccomp = json_is_true(json_object_get(own, "no_seccomp"));
	json_array_foreach (json_object_get(own, "rules"), i, rule) {
		struct mr_rule parsed;

		if (!mr_rule_parse(json_string_value(rule), &parsed, &ignored))
			*mr_list_add(&state->rules) = parsed;
	}
}

int mr_state_read(int states, const char *id, struct mr_state *state, struct mr_error *err)
{
	char path[MR_ID_MAX + 32];
	json_error_t wrong;
	json_t *json;

	memset(state, 0, sizeof(*state));
	if (snprintf(state->id, sizeof(state->id), "%s", id) >= (int)sizeof(state->id) ||
	    *id == '.' || strchr(id, '/'))
		return mr_usage(err, "there is no container %s; see: minirt ps", id);
	snprintf(path, sizeof(path), "%s/state.json", id);
	MR_FD file = openat(states, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 && errno == ENOENT)
		return mr_fail(err, ENOENT, "there is no container %s; see: minirt ps", id);
	json = file < 0 ? NULL : read_json(file, &wrong);
	if (!json)
		return mr_fail(err, EINVAL, "the state of %s can't be read: %s", id,
			       file < 0 ? strerror(errno) : wrong.text);
	fill(state, json);
	json_decref(json);
	if (!mr_state_alive(state) && strcmp(state->status, "creating"))
		snprintf(state->status, sizeof(state->status), "stopped");
	return 0;
}
