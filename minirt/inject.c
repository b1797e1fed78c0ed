// SPDX-License-Identifier: MIT
/*
 * A GPU put into the specification of a container: by CDI here and now, or by
 * a createRuntime hook that does it later, as the older way is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi.h"
#include "start.h"

#define EMBEDDED "FAKEGPU_DEVICE" /* set where the embedded device is answering */

static int folder_of_nodes(struct mr_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path = !geteuid() ? mr_copy("/run/minirt-nodes")
		     : runtime	? mr_text("%s/minirt-nodes", runtime)
				: mr_text("/tmp/minirt-nodes-%u", geteuid());
	struct stat info;
	int folder;

	if (mkdir(path, 0700) && errno != EEXIST)
		mr_fail(err, errno, "make %s: %m", path);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0) {
		mr_fail(err, errno, "open %s: %m", path);
	} else if (fstat(folder, &info) || info.st_uid != geteuid() || info.st_mode & 022) {
		mr_fail(err, EPERM, "%s is not this user's alone; remove it", path);
		mr_close(&folder);
		folder = -1;
	}
	free(path);
	return folder;
}

/*
 * The nodes of the embedded device are no files: where a node can only be
 * bound an empty file stands for it, which the device knows by its name.
 */
static int place_holder(struct mr_device *device, struct mr_error *err)
{
	const char *host = device->host ? device->host : device->path;
	const char *name = strrchr(host, '/') + 1;
	MR_FD there = open(host, O_PATH | O_CLOEXEC);

	if (there >= 0 || errno != ENOENT)
		return 0;
	MR_FD folder = folder_of_nodes(err);
	if (folder < 0)
		return -1;
	MR_FD file = openat(folder, name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || fchmod(file, device->mode))
		return mr_fail(err, errno, "make a file to stand for %s: %m", host);
	free(device->host);
	device->host = mr_text("/proc/self/fd/%d", folder);
	char *real = realpath(device->host, NULL);

	free(device->host);
	device->host = real ? mr_text("%s/%s", real, name) : NULL;
	free(real);
	return device->host ? 0 : mr_fail(err, errno, "find the file that stands for %s: %m", host);
}

static int place_holders(struct mr_spec *spec, struct mr_error *err)
{
	size_t i;

	if (!getenv(EMBEDDED))
		return 0;
	for (i = 0; i < spec->devices.count; i++)
		if (strstr(spec->devices.items[i].path, "/fakegpu") &&
		    place_holder(&spec->devices.items[i], err))
			return -1;
	return 0;
}

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
		json_array_foreach(json_object_get(cdi->devices.items[i].shared, "hooks"), j, hook)
		{
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
 * The container's own list of devices is minirt's to write, so the rules are
 * taken from what the hook is going to bring.
 */
static int inject_later(struct mr_spec *spec, const struct cdi *cdi, struct mr_error *err)
{
	const char *directories = getenv("MINIRT_CDI_DIRS");
	char *list = wanted(spec, err), *path = find_hook(cdi);
	struct mr_spec scratch = {.uid = spec->uid, .gid = spec->gid};
	struct cdi_wish wish;
	struct mr_hook *hook;
	size_t i, count = 0;

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
	if (!wish.driver)
		return 0;
	const char *words[] = {CDI_HOOK,   "create-runtime", "--visible",
			       list,	   "--no-rules",     directories ? "--spec-dirs" : NULL,
			       directories};
	hook = mr_list_add(&spec->hooks);
	*hook = (struct mr_hook){.point = mr_copy("createRuntime"), .path = path};
	for (i = 0; i < sizeof(words) / sizeof(*words) && words[i]; i++) {
		hook->argv = mr_grow(hook->argv, &count, sizeof(*hook->argv));
		hook->argv[i] = mr_copy(words[i]);
	}
	hook->argv = mr_grow(hook->argv, &count, sizeof(*hook->argv));
	free(list);
	return 0;
}

int mr_inject(struct mr_spec *spec, struct mr_error *err)
{
	struct cdi cdi;
	int ret;

	cdi_load(&cdi, NULL);
	ret = spec->gpu_hook ? inject_later(spec, &cdi, err) : inject_now(spec, &cdi, err);
	if (!ret && spec->rootless)
		ret = place_holders(spec, err);
	cdi_free(&cdi);
	return ret;
}
