// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The stand-in's kernel log: the newest lines, as dmesg prints them.
 */
#define _GNU_SOURCE
#include "user.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LINES 256
#define LINE 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[LINES][LINE];
static unsigned int count;

void log_add(uint64_t now, int level, const char *text)
{
	(void)level;
	pthread_mutex_lock(&lock);
	snprintf(lines[count++ % LINES], LINE, "[%5llu.%06llu] %s",
		 (unsigned long long)(now / 1000000000ULL),
		 (unsigned long long)(now / 1000ULL % 1000000ULL), text);
	pthread_mutex_unlock(&lock);
}

size_t log_text(char *text, size_t size)
{
	unsigned int i = count > LINES ? count - LINES : 0;
	size_t used = 0, length;

	pthread_mutex_lock(&lock);
	for (; i < count; i++) {
		length = strlen(lines[i % LINES]);
		if (used + length + 2 > size)
			break;
		memcpy(text + used, lines[i % LINES], length);
		used += length;
		text[used++] = '\n';
	}
	pthread_mutex_unlock(&lock);
	text[used] = '\0';
	return used;
}
