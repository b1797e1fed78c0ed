// SPDX-License-Identifier: MIT
/* Errors, lists that grow, descriptors that close: what every file needs. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

static int tell(struct mr_error *err, int code, int status, const char *format, va_list args)
{
	err->code = code;
	err->status = status;
	vsnprintf(err->text, sizeof(err->text), format, args);
	return -1;
}

int mr_fail(struct mr_error *err, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(err, code, MR_EXIT_FAILED, format, args);
	va_end(args);
	return -1;
}

int mr_lacks(struct mr_error *err, const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	tell(err, code, MR_EXIT_PREREQUISITE, format, args);
	va_end(args);
	return -1;
}

int mr_usage(struct mr_error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(err, EINVAL, MR_EXIT_USAGE, format, args);
	va_end(args);
	return -1;
}

void *mr_grow(void *items, size_t *count, size_t size)
{
	size_t n = *count + 1;
	char *grown = reallocarray(items, n, size);

	if (!grown)
		mr_no_memory();
	memset(grown + *count * size, 0, size);
	*count = n;
	return grown;
}

void mr_no_memory(void)
{
	static const char text[] = "minirt: no memory\n";

	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	_exit(MR_EXIT_FAILED);
}

char *mr_copy(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		mr_no_memory();
	return copy;
}

char *mr_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		mr_no_memory();
	va_end(args);
	return text;
}

void mr_close(const int *fd)
{
	int code = errno;

	if (*fd >= 0)
		close(*fd);
	errno = code;
}
