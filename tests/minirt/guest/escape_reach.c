// SPDX-License-Identifier: MIT
/* Attempts to reach what is outside: by handles, descriptors, processes, sockets, old roots. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"

/* Shocker: a file of the host by its handle, which no mount namespace hides. */
static int handle(char **unused)
{
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} file = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount_id, at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	(void)unused;
	if (at < 0)
		return failed("/");
	if (name_to_handle_at(at, "", &file.head, &mount_id, AT_EMPTY_PATH)) {
		/* The original guessed one: inode 2 is the root of most file systems. */
		file.head.handle_bytes = 8;
		file.head.handle_type = 1;
		memcpy(file.bytes, "\2\0\0\0\0\0\0\0", 8);
	}
	fd = open_by_handle_at(at, &file.head, O_RDONLY | O_CLOEXEC);
	close(at);
	if (fd >= 0)
		close(fd);
	/* A guess that missed was looked up all the same: nothing keeps from guessing on. */
	return verdict("open_by_handle_at", fd < 0 && errno == ESTALE ? 0 : fd);
}

/* DEV:INODE of @path is @wanted. */
static int is_file(int fd, const char *path, const char *wanted)
{
	struct stat status;
	char text[64];

	if (fstatat(fd, path, &status, 0))
		return 0;
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)status.st_dev,
		 (unsigned long long)status.st_ino);
	return !strcmp(text, wanted);
}

/* From the folder @at up as far as it goes: whether that is the root of the host. */
static int climbs(int at, const char *root)
{
	char path[512] = ".";

	for (int i = 0; i < 64; i++)
		strcat(path, "/..");
	return is_file(at, path, root);
}

/* CVE-2024-21626: a descriptor or a working directory of the host that came in with us. */
static int leaked(char **arguments)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *entry;

	if (climbs(AT_FDCWD, arguments[0]))
		return verdict("the working directory is outside", 0);
	while (list && (entry = readdir(list))) {
		int fd = atoi(entry->d_name);

		if (fd <= 2 || fd == dirfd(list))
			continue;
		printf("descriptor %d leaked\n", fd);
		return verdict("a descriptor of the runtime's or of its caller's", 0);
	}
	if (list)
		closedir(list);
	errno = EBADF;
	return verdict("no descriptor but 0, 1 and 2", -1);
}

/* A second chroot forgets the first where the first was one: then ".." from outside it goes on. */
static int double_chroot(char **arguments)
{
	char *folder = scratch();
	int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), out;

	if (!folder || at < 0)
		return failed("scratch");
	if (chroot(folder)) {
		rmdir(folder);
		return verdict("chroot", -1);
	}
	out = climbs(at, arguments[0]);
	if (!out)
		errno = EXDEV;
	unlinkat(at, folder + 1, AT_REMOVEDIR);
	return verdict("climb over the root", out ? 0 : -1);
}

/* PID 1 is the runtime's own process in here; the tests name another to see it work. */
static const char *process(char **arguments)
{
	return arguments[0] ? arguments[0] : "1";
}

static int join(char **arguments)
{
	static const char *const kinds[] = {"mnt", "uts", "net"};
	long result = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && result < 0; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/ns/%s", process(arguments), kinds[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		result = fd < 0 ? -1 : setns(fd, 0);
		if (fd >= 0)
			close(fd);
	}
	return verdict("setns to PID 1", result);
}

/* setns() by itself, to a namespace that nobody minds us seeing: our own. */
static int join_own(char **unused)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC), ret;

	(void)unused;
	if (fd < 0)
		return failed("/proc/self/ns/uts");
	ret = verdict("setns", setns(fd, CLONE_NEWUTS));
	close(fd);
	return ret;
}

static int memory(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/mem", process(arguments));
	return try_open(path, O_RDWR);
}

/* Seized only: it is not stopped, and let go at our end. */
static int trace(char **arguments)
{
	return verdict("ptrace", ptrace(PTRACE_SEIZE, atoi(process(arguments)), NULL, NULL));
}

/* The root, working directory or a descriptor of a process, which lead to where it came from. */
static int follow(const char *pid, const char *link, const char *root)
{
	char path[320];
	int fd, out;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, link);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	out = !strncmp(link, "fd/", 3) || climbs(fd, root);
	close(fd);
	if (out)
		verdict(path, 0);
	return out;
}

static int links_of_init(char **arguments)
{
	const char *pid = process(arguments + 1);
	char path[320];
	DIR *list;
	struct dirent *entry;
	int out;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	list = opendir(path);
	out = follow(pid, "root", arguments[0]) || follow(pid, "cwd", arguments[0]);
	while (!out && list && (entry = readdir(list))) {
		snprintf(path, sizeof(path), "fd/%s", entry->d_name);
		out = entry->d_name[0] != '.' && follow(pid, path, arguments[0]);
	}
	if (list)
		closedir(list);
	if (out)
		return DONE;
	errno = EACCES;
	return verdict("root, cwd and descriptors of PID 1", -1);
}

/* CVE-2020-15257: names of abstract sockets belong to the network namespace, not to a mount. */
static int abstract(char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strnlen(arguments[0], sizeof(address.sun_path) - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return failed("socket");
	memcpy(address.sun_path + 1, arguments[0], length);
	ret = connect(fd, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	ret = verdict("connect to a socket of the host", ret);
	close(fd);
	return ret;
}

/* The host's file by a path: that a link or a mount of the image led to it. */
static int visible(char **arguments)
{
	return try_open(arguments[0], O_RDONLY);
}

const struct verb reach_attempts[] = {
	{"try-handle", handle, 0, NULL},
	{"try-leaked", leaked, 1, "ROOT-DEV:INODE"},
	{"try-double-chroot", double_chroot, 1, "ROOT-DEV:INODE"},
	{"try-join", join, 0, "[PID]"},
	{"try-setns", join_own, 0, NULL},
	{"try-init-memory", memory, 0, "[PID]"},
	{"try-init-trace", trace, 0, "[PID]"},
	{"try-init-links", links_of_init, 1, "ROOT-DEV:INODE [PID]"},
	{"try-abstract", abstract, 1, "NAME"},
	{"try-path", visible, 1, "PATH"},
	{0},
};
