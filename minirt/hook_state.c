// SPDX-License-Identifier: MIT
/* The state that a runtime hands to a hook, and what the bundle adds: the root and the environment. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cdi.h"
#include "hook.h"

static char *member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && *text ? mr_copy(text) : NULL;
}

static char *visible(const json_t *config)
{
	const size_t length = strlen(CDI_VISIBLE "=");
	const json_t *env = json_object_get(json_object_get(config, "process"), "env"), *one;
	size_t i;

	json_array_foreach (env, i, one) {
		const char *text = json_string_value(one);

		if (text && !strncmp(text, CDI_VISIBLE "=", length))
			return mr_copy(text + length);
	}
	return NULL;
}

/* A runtime need not name the root in the state; then the bundle does. */
static int read_bundle(struct hook_state *state, struct mr_error *err)
{
	char *path = mr_text("%s/config.json", state->bundle), *root;
	json_error_t wrong;
	json_t *config = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
	int ret = 0;

	if (config) {
		state->visible = visible(config);
		root = member(json_object_get(config, "root"), "path");
		if (!state->rootfs && root)
			state->rootfs = *root == '/' ? mr_copy(root)
						     : mr_text("%s/%s", state->bundle, root);
		free(root);
	} else if (!state->rootfs) {
		ret = mr_fail(err, EINVAL, "%s: %s", path, wrong.text);
	}
	json_decref(config);
	free(path);
	return ret;
}

int hook_state_read(struct hook_state *state, struct mr_error *err)
{
	json_error_t wrong;
	json_t *json = json_loadf(stdin, 0, &wrong);
	char *id;

	*state = (struct hook_state){0};
	if (!json)
		return mr_usage(err,
				"the state on standard input is no JSON: %s; a runtime writes it",
				wrong.text);
	id = member(json, "id");
	snprintf(state->id, sizeof(state->id), "%s", id ? id : "");
	state->pid = (pid_t)json_integer_value(json_object_get(json, "pid"));
	state->bundle = member(json, "bundle");
	state->rootfs = member(json, "root");
	free(id);
	json_decref(json);
	if (state->bundle && read_bundle(state, err))
		return -1;
	if (!state->rootfs)
		return mr_usage(err, "the state names neither a bundle nor a root");
	return 0;
}
