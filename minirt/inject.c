// SPDX-License-Identifier: MIT
/*
 * A GPU put into the specification of a container: by CDI here and now, or by
 * a createRuntime hook that does it later, as the older way is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cdi.h"
#include "start.h"

static int inject_now(struct mr_spec *spec, const struct cdi *cdi, struct mr_error *err)
{
	const struct cdi_device **devices = NULL;
	size_t i, count = 0;
	int ret = 0;

	for (i = 0; !ret && i < spec->gpu.count; i++) {
		devices = mr_grow(devices, &count, sizeof(*devices));
		devices[i] = cdi_find(cdi, spec->gpu.items[i], err);
		ret = devices[i] ? 0 : -1;
	}
	if (!ret)
		ret = cdi_edit(spec, devices, count, false, err);
	free(devices);
	return ret;
}

/* The hook is where the specifications say that it is. */
static char *find_hook(const struct cdi *cdi)
{
	const char *path, *name;
	const json_t *hook;
	size_t i, j;

	for (i = 0; i < cdi->devices.count; i++) {
		json_array_foreach (json_object_get(cdi->devices.items[i].shared, "hooks"), j,
				    hook) {
			path = json_string_value(json_object_get(hook, "path"));
			name = strrchr(path, '/');
			if (name && !strcmp(name + 1, CDI_HOOK))
				return mr_copy(path);
		}
	}
	return NULL;
}

/* The names asked for, or else what the container's own environment asks for. */
static char *wanted(const struct mr_spec *spec, struct mr_error *err)
{
	const size_t kind = strlen(CDI_KIND "=");
	char **env, *list = NULL, *longer;
	size_t i;

	for (i = 0; i < spec->gpu.count; i++) {
		if (strncmp(spec->gpu.items[i], CDI_KIND "=", kind)) {
			mr_usage(err, "the hook brings " CDI_KIND "=NAME only, not %s",
				 spec->gpu.items[i]);
			return NULL;
		}
		longer = list ? mr_text("%s,%s", list, spec->gpu.items[i] + kind)
			      : mr_copy(spec->gpu.items[i] + kind);
		free(list);
		list = longer;
	}
	for (env = spec->env; !list && env && *env; env++)
		if (!strncmp(*env, CDI_VISIBLE "=", strlen(CDI_VISIBLE "=")))
			list = mr_copy(*env + strlen(CDI_VISIBLE "="));
	return list ? list : mr_copy("void");
}

/*
 * An ordinary user's program can't enter the container, which hides from it on
 * its way in: then the hook runs inside, with files made before to stand for nodes.
 */
static void add_hook(struct mr_spec *spec, char *path, const char *list, const char *holders)
{
	const char *directories = getenv("MINIRT_CDI_DIRS");
	const char *words[] = {
		CDI_HOOK,
		"create-runtime",
		"--no-rules",
		"--visible",
		list,
		directories ? "--spec-dirs" : "--visible",
		directories ? directories : list,
		holders ? "--inside" : NULL,
		holders,
	};
	struct mr_hook *hook = mr_list_add(&spec->hooks);
	size_t i, count = 0;

	*hook = (struct mr_hook){
		.point = mr_copy(holders ? "createContainer" : "createRuntime"),
		.path = path,
	};
	for (i = 0; i < sizeof(words) / sizeof(*words) && words[i]; i++) {
		hook->argv = mr_grow(hook->argv, &count, sizeof(*hook->argv));
		hook->argv[i] = mr_copy(words[i]);
	}
	hook->argv = mr_grow(hook->argv, &count, sizeof(*hook->argv));
}

/*
 * The container's own list of devices is minirt's to write, so the rules are
 * taken from what the hook is going to bring.
 */
static int inject_later(struct mr_spec *spec, const struct cdi *cdi, struct mr_error *err)
{
	char *list = wanted(spec, err), *path = find_hook(cdi), *holders = NULL;
	struct mr_spec scratch = {.uid = spec->uid, .gid = spec->gid};
	struct cdi_wish wish;
	size_t i;

	if (!list)
		return -1;
	cdi_wish(&wish, list);
	if (wish.driver && !path)
		return mr_lacks(err, "no CDI specification names " CDI_HOOK
				     "; write one: glassstack cdi generate");
	if (cdi_grant(&scratch, cdi, &wish, err))
		return -1;
	for (i = 0; i < scratch.rules.count; i++)
		*mr_list_add(&spec->rules) = scratch.rules.items[i];
	if (spec->rootless && geteuid()) {
		holders = cdi_holders(err);
		if (!holders || cdi_place_holders(&scratch, holders, err))
			return -1;
	}
	if (wish.driver)
		add_hook(spec, path, list, holders);
	free(list);
	return 0;
}

static int bind_holders(struct mr_spec *spec, struct mr_error *err)
{
	char *folder = cdi_holders(err);
	int ret = folder ? cdi_place_holders(spec, folder, err) : -1;

	free(folder);
	return ret;
}

int mr_inject(struct mr_spec *spec, struct mr_error *err)
{
	struct cdi cdi;
	int ret;

	cdi_load(&cdi, NULL);
	ret = spec->gpu_hook ? inject_later(spec, &cdi, err) : inject_now(spec, &cdi, err);
	if (!ret && spec->rootless && !spec->gpu_hook)
		ret = bind_holders(spec, err);
	cdi_free(&cdi);
	return ret;
}
