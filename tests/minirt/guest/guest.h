/* SPDX-License-Identifier: MIT */
/*
 * The program that containers of the tests run: one static file with many
 * verbs, so that a root file system needs nothing else. What a verb finds it
 * prints in plain lines.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>

/* Exit codes of a verb. */
#define DONE 0 /* of an attempt to escape: it worked */
#define FAILED 1
#define USAGE 2
#define REFUSED 10 /* of an attempt: the kernel said no; its errno is printed */
#define UNTRIED 77 /* of an attempt: there is nothing to try it on, whatever guards there are */

/**
 * struct verb - one row of a file's table, which ends with a row without a name
 * @run: gets its own arguments; gives the exit code
 * @arguments: least number of them
 */
struct verb {
	const char *name;
	int (*run)(char **arguments);
	int arguments;
	const char *usage;
};

extern const struct verb look_verbs[], act_verbs[], device_verbs[], file_attempts[],
	call_attempts[], mount_attempts[], reach_attempts[];

/* Prints "WHAT: why" with errno's name; gives FAILED. */
int failed(const char *what);
/* The end of an attempt: @result below 0 is a refusal with errno. */
int verdict(const char *what, long result);
int untried(const char *why);
/* Opens and closes; verdict on that. */
int try_open(const char *path, int flags);
const char *errno_name(int code);
/* A directory of one's own in /tmp, or on a new /dev/shm; NULL with errno. */
char *scratch(void);

#endif
