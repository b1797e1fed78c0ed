// SPDX-License-Identifier: MIT
/*
 * CDI edits put into the specification of a container: nodes with their
 * rules, mounts, environment, hooks. What minirt has no counterpart of is
 * refused, never left out in silence.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cdi.h"
#include "start.h"

#define MODE 0666

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && *text ? text : NULL;
}

static json_int_t number_of(const json_t *object, const char *name, json_int_t otherwise)
{
	const json_t *value = json_object_get(object, name);

	return value ? json_integer_value(value) : otherwise;
}

static char **texts_of(const json_t *list)
{
	const json_t *one;
	char **texts = NULL;
	size_t i, count = 0;

	json_array_foreach (list, i, one) {
		texts = mr_grow(texts, &count, sizeof(*texts));
		texts[i] = mr_copy(json_string_value(one));
	}
	return mr_grow(texts, &count, sizeof(*texts));
}

/* What the edit leaves out is as on the node of the host, if there is one. */
static int complete(struct mr_device *device, const json_t *edit, struct mr_error *err)
{
	const char *type = text_of(edit, "type"),
		   *host = device->host ? device->host : device->path;
	bool described = type && json_object_get(edit, "major");
	struct stat info;

	if (lstat(host, &info)) {
		if (!described)
			return mr_fail(err, errno, "the node %s of the host: %m; load its driver",
				       host);
		info.st_mode = S_IFCHR | MODE;
	} else if (!described && !S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) {
		return mr_fail(err, ENODEV, "%s of the host is no device node", host);
	} else if (!described) {
		device->major = major(info.st_rdev);
		device->minor = minor(info.st_rdev);
	}
	device->type = type ? *type : S_ISBLK(info.st_mode) ? 'b' : 'c';
	if (device->type == 'u')
		device->type = 'c';
	if (!json_object_get(edit, "fileMode"))
		device->mode = info.st_mode & 07777;
	if (device->type != 'b' && device->type != 'c')
		return mr_fail(err, EINVAL, "%s: minirt makes no node of type %s", device->path,
			       type);
	return 0;
}

static unsigned int access_of(const char *permissions)
{
	unsigned int access = 0;

	if (!permissions)
		return MR_READ | MR_WRITE | MR_MKNOD;
	if (!strcmp(permissions, "none"))
		return 0;
	for (; *permissions; permissions++)
		access |= *permissions == 'r' ? MR_READ : *permissions == 'w' ? MR_WRITE : MR_MKNOD;
	return access;
}

static void put_device(struct mr_spec *spec, const struct mr_device *device)
{
	size_t i;

	for (i = 0; i < spec->devices.count; i++) {
		if (!strcmp(spec->devices.items[i].path, device->path)) {
			spec->devices.items[i] = *device;
			return;
		}
	}
	*mr_list_add(&spec->devices) = *device;
}

static int add_node(struct mr_spec *spec, const json_t *edit, struct mr_error *err)
{
	struct mr_device device = {
		.path = mr_copy(text_of(edit, "path")),
		.host = mr_copy(text_of(edit, "hostPath")),
		.major = (uint32_t)number_of(edit, "major", 0),
		.minor = (uint32_t)number_of(edit, "minor", 0),
		.mode = (mode_t)number_of(edit, "fileMode", MODE) & 07777,
		.uid = (uid_t)number_of(edit, "uid", spec->uid),
		.gid = (gid_t)number_of(edit, "gid", spec->gid),
	};
	unsigned int access = access_of(text_of(edit, "permissions"));

	if (complete(&device, edit, err))
		return -1;
	put_device(spec, &device);
	if (access)
		*mr_list_add(&spec->rules) = (struct mr_rule){
			.allow = true,
			.type = device.type,
			.major = device.major,
			.minor = device.minor,
			.access = access,
		};
	return 0;
}

/* A library: a file with its version in its name. A step of its own, since it is what skews. */
static void tell_library(const char *path)
{
	const char *version = strstr(path, ".so."), *name = strrchr(path, '/');
	struct mr_step step = mr_step_begin("library");

	if (version && name)
		mr_step_end(&step, 0, "name=%s version=%s host=%s", name + 1, version + 4, path);
}

static int add_mount(struct mr_spec *spec, const json_t *edit)
{
	const char *type = text_of(edit, "type"), *host = text_of(edit, "hostPath");
	struct mr_mount *mount = mr_list_add(&spec->mounts);
	const json_t *option;
	size_t i;

	*mount = (struct mr_mount){
		.source = mr_copy(host),
		.target = mr_copy(text_of(edit, "containerPath")),
		.type = mr_copy(type ? type : "bind"),
	};
	if (!strcmp(mount->type, "bind"))
		mount->flags = MS_BIND;
	json_array_foreach (json_object_get(edit, "options"), i, option)
		mr_mount_options(mount, json_string_value(option));
	if (mount->flags & MS_BIND)
		tell_library(host);
	return 0;
}

static int add_hook(struct mr_spec *spec, const json_t *edit)
{
	const json_t *args = json_object_get(edit, "args"), *env = json_object_get(edit, "env");
	struct mr_hook *hook = mr_list_add(&spec->hooks);
	size_t none = 0;

	*hook = (struct mr_hook){
		.point = mr_copy(text_of(edit, "hookName")),
		.path = mr_copy(text_of(edit, "path")),
		.env = env ? texts_of(env) : NULL,
		.timeout_s = (unsigned int)number_of(edit, "timeout", 0),
	};
	if (json_array_size(args)) {
		hook->argv = texts_of(args);
		return 0;
	}
	hook->argv = mr_grow(NULL, &none, sizeof(*hook->argv));
	hook->argv = mr_grow(hook->argv, &none, sizeof(*hook->argv));
	hook->argv[0] = mr_copy(hook->path);
	return 0;
}

static int edit_spec(struct mr_spec *spec, const json_t *edits, struct mr_error *err)
{
	static const char *const lacking[] = {"netDevices", "intelRdt", "additionalGids"};
	const json_t *one;
	size_t i;

	for (i = 0; i < sizeof(lacking) / sizeof(*lacking); i++) {
		one = json_object_get(edits, lacking[i]);
		if (json_array_size(one) || json_object_size(one))
			return mr_fail(err, ENOTSUP,
				       "the device brings %s, which minirt can't apply",
				       lacking[i]);
	}
	json_array_foreach (json_object_get(edits, "env"), i, one)
		mr_spec_env(spec, json_string_value(one));
	json_array_foreach (json_object_get(edits, "deviceNodes"), i, one)
		if (add_node(spec, one, err))
			return -1;
	json_array_foreach (json_object_get(edits, "mounts"), i, one)
		add_mount(spec, one);
	json_array_foreach (json_object_get(edits, "hooks"), i, one)
		add_hook(spec, one);
	return 0;
}

int cdi_edit(struct mr_spec *spec, const struct cdi_device *const *devices, size_t count,
	     bool shared_only, struct mr_error *err)
{
	size_t i, earlier;

	for (i = 0; i < count; i++) {
		for (earlier = 0; earlier < i; earlier++)
			if (devices[earlier]->document == devices[i]->document)
				break;
		if (earlier == i && edit_spec(spec, devices[i]->shared, err))
			return -1;
		if (!shared_only && edit_spec(spec, devices[i]->edits, err))
			return -1;
	}
	return 0;
}
