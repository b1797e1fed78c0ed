// SPDX-License-Identifier: MIT
/* Finds the verb; what the verbs share. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static const struct verb *const tables[] = {
	look_verbs,    act_verbs,      device_verbs,   file_attempts,
	call_attempts, mount_attempts, reach_attempts,
};

const char *errno_name(int code)
{
	const char *name = strerrorname_np(code);

	return name ? name : "unknown";
}

int failed(const char *what)
{
	printf("%s: %s\n", what, errno_name(errno));
	return FAILED;
}

int verdict(const char *what, long result)
{
	if (result >= 0) {
		printf("done %s\n", what);
		return DONE;
	}
	printf("refused %s %s\n", errno_name(errno), what);
	return REFUSED;
}

int untried(const char *why)
{
	printf("untried: %s\n", why);
	return UNTRIED;
}

int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC), ret = verdict(path, fd);

	if (fd >= 0)
		close(fd);
	return ret;
}

char *scratch(void)
{
	static char path[64];
	static const char *const places[] = {"/tmp", "/dev/shm", "/run", ""};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/guest.XXXXXX", places[i]);
		if (mkdtemp(path))
			return path;
	}
	return NULL;
}

static int usage(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct verb *verb = tables[i]; verb->name; verb++)
			printf("%s %s\n", verb->name, verb->usage ? verb->usage : "");
	return USAGE;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return usage();
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct verb *verb = tables[i]; verb->name; verb++)
			if (!strcmp(verb->name, argv[1]) && argc - 2 >= verb->arguments)
				return verb->run(argv + 2);
	return usage();
}
