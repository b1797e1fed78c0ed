// SPDX-License-Identifier: GPL-2.0-only OR MIT
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common.h"

#define STOP_WITHIN_S 2
#define NS_PER_S UINT64_C(1000000000)

static volatile sig_atomic_t stop;

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_USAGE);
}

uint64_t number_argument(const char *option, const char *text, uint64_t low, uint64_t high)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < low || value > high)
		usage("%s takes a number from %llu to %llu, not '%s'", option,
		      (unsigned long long)low, (unsigned long long)high, text);
	return value;
}

static void on_signal(int number)
{
	(void)number;
	stop = 1;
	alarm(STOP_WITHIN_S);
}

void stop_on_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool stopping(void)
{
	return stop;
}

/* The signals are blocked but while it sleeps, or one could come just before. */
void wait_for_stop(void)
{
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, &before);
	while (!stop)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

bool pace(uint64_t start_ns, uint64_t n, uint64_t rate_hz)
{
	uint64_t at;
	struct timespec when;

	if (!rate_hz || stop)
		return !stop;
	at = start_ns + n / rate_hz * NS_PER_S + n % rate_hz * NS_PER_S / rate_hz;
	when.tv_sec = (time_t)(at / NS_PER_S);
	when.tv_nsec = (long)(at % NS_PER_S);
	/* EINTR: stopping, or a stop and continue: then sleep on, the time is absolute */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR && !stop)
		;
	return !stop;
}
