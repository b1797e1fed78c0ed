// SPDX-License-Identifier: MIT
/* The words of mount(8)'s -o: those that are flags, and those that are the file system's. Pure. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "start.h"

static const struct {
	const char *name;
	unsigned long set, clear;
} words[] = {
	{"ro", MS_RDONLY, 0},
	{"rw", 0, MS_RDONLY},
	{"nosuid", MS_NOSUID, 0},
	{"suid", 0, MS_NOSUID},
	{"nodev", MS_NODEV, 0},
	{"dev", 0, MS_NODEV},
	{"noexec", MS_NOEXEC, 0},
	{"exec", 0, MS_NOEXEC},
	{"nodiratime", MS_NODIRATIME, 0},
	{"bind", MS_BIND, 0},
	{"rbind", MS_BIND | MS_REC, 0},
	/* The kernel's default, or what every mount of a container is anyway. */
	{"defaults", 0, 0},
	{"relatime", 0, 0},
	{"strictatime", 0, 0},
	{"noatime", 0, 0},
	{"private", 0, 0},
	{"rprivate", 0, 0},
	{"slave", 0, 0},
	{"rslave", 0, 0},
};

static void take_word(struct mr_mount *mount, const char *word)
{
	char *longer;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i].name, word))
			continue;
		mount->flags |= words[i].set;
		mount->flags &= ~words[i].clear;
		return;
	}
	longer = mount->data ? mr_text("%s,%s", mount->data, word) : mr_copy(word);
	free(mount->data);
	mount->data = longer;
}

void mr_mount_options(struct mr_mount *mount, const char *text)
{
	char *copy = mr_copy(text), *rest = copy, *word;

	while ((word = strsep(&rest, ",")))
		if (*word)
			take_word(mount, word);
	free(copy);
}
