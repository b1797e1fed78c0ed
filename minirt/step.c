// SPDX-License-Identifier: MIT
/*
 * The steps of a start as JSON lines, one write each, from whichever process
 * makes them. Owns the descriptor; must not fail a start.
 *
 * The detail is given as words of a format: "target=%s flags=%#lx", each a key
 * and its value. A value that is one %d or %u (or a long form) becomes a number,
 * any other a string.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "start.h"

#define LINE_MAX_BYTES 4096 /* PIPE_BUF: a line is never mixed with another's */
#define TAIL_BYTES 8

struct line {
	char text[LINE_MAX_BYTES];
	size_t used;
};

static char owner[MR_ID_MAX];
static int out = -1;
static int proc = -1;

void mr_step_open(const char *id, int fd)
{
	snprintf(owner, sizeof(owner), "%s", id);
	out = fd;
}

void mr_step_keep_proc(void)
{
	if (out >= 0)
		proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In the host's PID namespace, as the host's /proc tells it. */
static int own_pid(void)
{
	char text[16];
	ssize_t n = proc < 0 ? -1 : readlinkat(proc, "self", text, sizeof(text) - 1);

	if (n <= 0)
		return getpid();
	text[n] = '\0';
	return atoi(text);
}

/* Appends @size bytes, all or none: the end of the line always fits. */
static void put(struct line *line, const char *text, size_t size)
{
	if (line->used + size > sizeof(line->text) - TAIL_BYTES)
		return;
	memcpy(line->text + line->used, text, size);
	line->used += size;
}

static void puts_to(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* Cut where the line would become too long; bytes that are no UTF-8 are the reader's to replace. */
static void put_string(struct line *line, const char *text)
{
	char escaped[8];

	puts_to(line, "\"");
	for (; *text && line->used < sizeof(line->text) - 4 * TAIL_BYTES; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			snprintf(escaped, sizeof(escaped), "\\%c", byte);
		else if (byte < ' ' || byte == 0x7f)
			snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
		else
			snprintf(escaped, sizeof(escaped), "%c", byte);
		puts_to(line, escaped);
	}
	puts_to(line, "\"");
}

/* One conversion such as %s, %d, %lu, %#lx, whose argument is taken; @text gets it. */
static void convert(const char *conversion, va_list *args, char *text, size_t size)
{
	size_t length = strcspn(conversion, "diuxos");
	char kind = conversion[length];
	bool wide = memchr(conversion, 'l', length) || memchr(conversion, 'z', length);

	if (kind == 's') {
		const char *value = va_arg(*args, const char *);

		snprintf(text, size, "%s", value ? value : "");
	} else if (kind == 'd' || kind == 'i') {
		int64_t value = wide ? va_arg(*args, int64_t) : va_arg(*args, int);

		snprintf(text, size, "%" PRId64, value);
	} else {
		uint64_t value = wide ? va_arg(*args, uint64_t) : va_arg(*args, unsigned int);

		snprintf(text, size,
			 kind == 'x'   ? "%#" PRIx64
			 : kind == 'o' ? "%#" PRIo64
				       : "%" PRIu64,
			 value);
	}
}

/* The value of a word: its conversions and what stands between them, as one string or number. */
static void put_value(struct line *line, const char *format, va_list *args)
{
	char text[LINE_MAX_BYTES];
	size_t used = 0, length = strcspn(format + (*format == '%'), "diuxos");
	bool number = *format == '%' && strchr("diu", format[1 + length]) && !format[2 + length];

	text[0] = '\0';
	while (*format && used < sizeof(text) - 1) {
		if (*format != '%') {
			text[used++] = *format++;
			text[used] = '\0';
			continue;
		}
		convert(format + 1, args, text + used, sizeof(text) - used);
		used += strlen(text + used);
		format += 1 + strcspn(format + 1, "diuxos") + 1;
	}
	if (number)
		puts_to(line, text);
	else
		put_string(line, text);
}

static void put_detail(struct line *line, const char *format, va_list *args)
{
	char word[64];
	bool first = true;

	while (*format) {
		size_t length = strcspn(format, " ");
		char *value;

		snprintf(word, sizeof(word), "%.*s", (int)length, format);
		format += length + (format[length] == ' ');
		value = strchr(word, '=');
		if (!value)
			continue;
		*value++ = '\0';
		if (!first)
			puts_to(line, ",");
		first = false;
		put_string(line, word);
		puts_to(line, ":");
		put_value(line, value, args);
	}
}

struct mr_step mr_step_begin(const char *name)
{
	return (struct mr_step){.name = name, .begin_ns = out < 0 ? 0 : now_ns()};
}

void mr_step_end(const struct mr_step *step, int code, const char *format, ...)
{
	struct line line = {.used = 0};
	int kept = errno;
	va_list args;
	ssize_t ignored;
	int n;

	if (out < 0)
		return;
	n = snprintf(line.text, sizeof(line.text),
		     "{\"ts\":%" PRIu64 ",\"id\":\"%s\",\"pid\":%d,\"step\":\"%s\","
		     "\"duration_ns\":%" PRIu64 ",\"errno\":%d,\"detail\":{",
		     step->begin_ns, owner, own_pid(), step->name, now_ns() - step->begin_ns, code);
	line.used = (size_t)n;
	va_start(args, format);
	put_detail(&line, format, &args);
	va_end(args);
	memcpy(line.text + line.used, "}}\n", 3);
	ignored = write(out, line.text, line.used + 3);
	(void)ignored;
	errno = kept;
}
