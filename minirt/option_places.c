// SPDX-License-Identifier: MIT
/* The flags that bring something of the host into the container: nodes, folders, rules. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "options.h"

/* Splits @text at ':' into at most @most parts, in place; how many there were. */
static size_t split(char *text, char **parts, size_t most)
{
	size_t n = 0;

	for (; text; n++) {
		char *next = strchr(text, ':');

		if (next)
			*next++ = '\0';
		if (n < most)
			parts[n] = text;
		text = next;
	}
	return n;
}

static int device_of(struct mr_spec *spec, const char *host, const char *path, unsigned int access,
		     struct mr_error *err)
{
	struct mr_device device = {0};
	struct stat info;

	if (stat(host, &info))
		return mr_fail(err, errno, "--device %s: %m", host);
	if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode))
		return mr_usage(err, "--device %s: that is no device node", host);
	device = (struct mr_device){
		.path = mr_copy(path),
		.host = mr_copy(host),
		.type = S_ISBLK(info.st_mode) ? 'b' : 'c',
		.major = major(info.st_rdev),
		.minor = minor(info.st_rdev),
		.mode = info.st_mode & 07777,
		.uid = info.st_uid,
		.gid = info.st_gid,
	};
	*mr_list_add(&spec->devices) = device;
	*mr_list_add(&spec->rules) =
		(struct mr_rule){true, device.type, device.major, device.minor, access};
	return 0;
}

MR_APPLY(add_device)
{
	unsigned int access = MR_READ | MR_WRITE | MR_MKNOD;
	char *text = mr_copy(value), *parts[3] = {NULL};
	size_t count = split(text, parts, 3);
	const char *path = parts[0];
	int ret = 0;

	(void)choice;
	if (count == 3 || (count == 2 && *parts[1] == '/'))
		path = parts[1];
	if (count > 3 || *path != '/' ||
	    (count > 1 && parts[count - 1] != path && mr_access_parse(parts[count - 1], &access)))
		ret = mr_usage(err, "--device takes NODE[:PATH][:rwm], not: %s", value);
	else
		ret = device_of(spec, parts[0], path, access, err);
	free(text);
	return ret;
}

MR_APPLY(add_rule)
{
	struct mr_rule rule;

	(void)choice;
	if (mr_rule_parse(value, &rule, err))
		return -1;
	*mr_list_add(&spec->rules) = rule;
	return 0;
}

MR_APPLY(add_mount)
{
	char *text = mr_copy(value), *parts[3] = {NULL}, *source = NULL;
	size_t count = split(text, parts, 3);
	struct mr_mount *mount;

	(void)choice;
	if (count < 2 || count > 3 || *parts[1] != '/')
		return mr_usage(err, "--mount takes SOURCE:TARGET[:OPTIONS], not: %s", value);
	source = realpath(parts[0], NULL);
	if (!source)
		return mr_fail(err, errno, "--mount %s: %m", parts[0]);
	mount = mr_list_add(&spec->mounts);
	*mount = (struct mr_mount){.source = source,
				   .target = mr_copy(parts[1]),
				   .type = mr_copy("bind"),
				   .flags = MS_BIND | MS_REC | MS_NOSUID | MS_NODEV};
	if (count == 3)
		mr_mount_options(mount, parts[2]);
	free(text);
	if (!mount->data)
		return 0;
	return mr_usage(err, "--mount %s: no such option: %s", value, mount->data);
}

MR_APPLY(add_tmpfs)
{
	(void)choice;
	if (*value != '/')
		return mr_usage(err, "--tmpfs takes a path in the container, not: %s", value);
	*mr_list_add(&spec->mounts) = (struct mr_mount){.source = mr_copy("tmpfs"),
							.target = mr_copy(value),
							.type = mr_copy("tmpfs"),
							.flags = MS_NOSUID | MS_NODEV,
							.data = mr_copy("mode=1777")};
	return 0;
}
