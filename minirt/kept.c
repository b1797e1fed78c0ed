// SPDX-License-Identifier: MIT
/*
 * The steps of the newest starts, kept for whoever asks how a container came to
 * be: a file each, beside the states, also of containers that are gone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "start.h"

#define FOLDER ".steps"
#define KEPT 64

/* The file that was not written to for the longest time; how many there are. */
static unsigned int oldest(int folder, char *name, size_t size)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct timespec first = {0};
	unsigned int count = 0;
	struct dirent *entry;
	struct stat info;

	while (list && (entry = readdir(list))) {
		if (entry->d_name[0] == '.' ||
		    fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!count++ || info.st_mtim.tv_sec < first.tv_sec ||
		    (info.st_mtim.tv_sec == first.tv_sec && info.st_mtim.tv_nsec < first.tv_nsec)) {
			first = info.st_mtim;
			snprintf(name, size, "%s", entry->d_name);
		}
	}
	if (list)
		closedir(list);
	return count;
}

/* -1 where nothing can be kept: a start does not fail by that. */
int mr_steps_keep(int states, const char *id, bool fresh)
{
	char name[MR_ID_MAX + 8], first[NAME_MAX + 1];

	if (mkdirat(states, FOLDER, 0700) && errno != EEXIST)
		return -1;
	MR_FD folder = openat(states, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	if (fresh && oldest(folder, first, sizeof(first)) >= KEPT)
		unlinkat(folder, first, 0);
	snprintf(name, sizeof(name), "%s.jsonl", id);
	return openat(folder, name,
		      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
			      (fresh ? O_TRUNC : 0),
		      0600);
}
