// SPDX-License-Identifier: MIT
/* What a process sees from inside. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static int copy_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[4096];
	size_t got;

	if (!file)
		return failed(path);
	while ((got = fread(text, 1, sizeof(text), file)))
		fwrite(text, 1, got, stdout);
	fclose(file);
	return DONE;
}

/* The lines of @path that begin with one of @keys, which ends with NULL. */
static int copy_lines(const char *path, const char *const *keys)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	if (!file)
		return failed(path);
	while (fgets(line, sizeof(line), file))
		for (const char *const *key = keys; *key; key++)
			if (!strncmp(line, *key, strlen(*key)))
				fputs(line, stdout);
	fclose(file);
	return DONE;
}

/* PID PPID NAME of each process. */
static int ps(char **unused)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	(void)unused;
	if (!proc)
		return failed("/proc");
	while ((entry = readdir(proc))) {
		char path[300], line[512], *name, *end;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (atoi(entry->d_name) <= 0 || !(file = fopen(path, "re")))
			continue;
		if (fgets(line, sizeof(line), file) && (name = strchr(line, '(')) &&
		    (end = strrchr(line, ')'))) {
			*end = '\0';
			printf("%s %d %s\n", entry->d_name, atoi(end + 4), name + 1);
		}
		fclose(file);
	}
	closedir(proc);
	return DONE;
}

static int hostname(char **unused)
{
	char name[256];

	(void)unused;
	if (gethostname(name, sizeof(name)))
		return failed("gethostname");
	puts(name);
	return DONE;
}

static int mounts(char **unused)
{
	(void)unused;
	return copy_file("/proc/self/mountinfo");
}

static int caps(char **unused)
{
	static const char *const keys[] = {"Cap", "NoNewPrivs", NULL};

	(void)unused;
	return copy_lines("/proc/self/status", keys);
}

static int seccomp(char **unused)
{
	static const char *const keys[] = {"Seccomp", NULL};

	(void)unused;
	return copy_lines("/proc/self/status", keys);
}

/* UID GID, then all groups. */
static int ids(char **unused)
{
	static const char *const keys[] = {"Uid", "Gid", "Groups", NULL};

	(void)unused;
	return copy_lines("/proc/self/status", keys);
}

/* NUMBER TARGET of each open descriptor but the one that reads the list. */
static int fds(char **unused)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;

	(void)unused;
	if (!list)
		return failed("/proc/self/fd");
	while ((entry = readdir(list))) {
		char target[512];
		ssize_t length;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(list))
			continue;
		length = readlinkat(dirfd(list), entry->d_name, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		printf("%s %s\n", entry->d_name, target);
	}
	closedir(list);
	return DONE;
}

static int environment(char **unused)
{
	(void)unused;
	for (char **entry = environ; *entry; entry++)
		puts(*entry);
	return DONE;
}

static int echo(char **arguments)
{
	for (; *arguments; arguments++)
		printf("%s%s", *arguments, arguments[1] ? " " : "");
	putchar('\n');
	return DONE;
}

static int cat(char **arguments)
{
	return copy_file(arguments[0]);
}

static int list(char **arguments)
{
	DIR *folder = opendir(arguments[0]);
	struct dirent *entry;

	if (!folder)
		return failed(arguments[0]);
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			puts(entry->d_name);
	closedir(folder);
	return DONE;
}

/* MODE UID GID MAJOR:MINOR, of the node or of the file system it is on. */
static int show_stat(char **arguments)
{
	struct stat status;
	dev_t device;

	if (lstat(arguments[0], &status))
		return failed(arguments[0]);
	device =
		S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
	printf("%o %u %u %u:%u\n", status.st_mode, status.st_uid, status.st_gid, major(device),
	       minor(device));
	return DONE;
}

static int cwd(char **unused)
{
	char path[4096];

	(void)unused;
	if (!getcwd(path, sizeof(path)))
		return failed("getcwd");
	puts(path);
	return DONE;
}

static int tty(char **unused)
{
	(void)unused;
	printf("stdin=%d stdout=%d name=%s\n", isatty(0), isatty(1),
	       isatty(0) ? ttyname(0) : "none");
	return DONE;
}

static int namespaces(char **unused)
{
	static const char *const kinds[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};

	(void)unused;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char path[64], target[64];
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		puts(target);
	}
	return DONE;
}

const struct verb look_verbs[] = {
	{"ps", ps, 0, NULL},
	{"hostname", hostname, 0, NULL},
	{"mounts", mounts, 0, NULL},
	{"caps", caps, 0, NULL},
	{"seccomp", seccomp, 0, NULL},
	{"ids", ids, 0, NULL},
	{"fds", fds, 0, NULL},
	{"env", environment, 0, NULL},
	{"echo", echo, 0, "WORD…"},
	{"cat", cat, 1, "PATH"},
	{"ls", list, 1, "PATH"},
	{"stat", show_stat, 1, "PATH"},
	{"cwd", cwd, 0, NULL},
	{"tty", tty, 0, NULL},
	{"namespaces", namespaces, 0, NULL},
	{0},
};
