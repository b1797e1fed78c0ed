// SPDX-License-Identifier: MIT
/*
 * What /proc/1/cmdline and /proc/1/environ of a container tell: not the host's
 * command line and environment, which PID 1 has from the caller.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

static char *begin, *end;

void mr_title_keep(char **argv)
{
	char **text;

	begin = end = argv[0];
	/* The kernel puts all of them one after the other. */
	for (text = argv; *text; text++)
		if (*text == end)
			end += strlen(*text) + 1;
	for (text = environ; *text; text++)
		if (*text == end)
			end += strlen(*text) + 1;
}

void mr_title_set(const char *title)
{
	if (end <= begin)
		return;
	memset(begin, 0, (size_t)(end - begin));
	snprintf(begin, (size_t)(end - begin), "%s", title);
}
