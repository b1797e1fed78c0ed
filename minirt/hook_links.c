// SPDX-License-Identifier: MIT
/* Symbolic links to the driver's libraries in a container's root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook.h"

/* @text: "TARGET::LINK". A link that is there is made anew; a file is nobody's to remove. */
int hook_link(int root, const char *text, struct mr_error *err)
{
	const char *middle = strstr(text, "::");
	char target[4096], name[256];
	struct stat info;

	if (!middle || middle == text || (size_t)(middle - text) >= sizeof(target))
		return mr_usage(err, "a link is TARGET::LINK, not: %s", text);
	memcpy(target, text, (size_t)(middle - text));
	target[middle - text] = '\0';
	MR_FD folder = mr_root_parent(root, middle + 2, name, sizeof(name));
	if (folder < 0)
		return mr_fail(err, errno, "the folder of %s in the root: %m", middle + 2);
	if (!fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) && S_ISLNK(info.st_mode))
		unlinkat(folder, name, 0);
	if (symlinkat(target, folder, name))
		return mr_fail(err, errno, "link %s in the root to %s: %m", middle + 2, target);
	return 0;
}
