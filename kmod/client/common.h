/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the lab's programs share: arguments, clock, stopping, exit codes. */
#ifndef FAKEGPU_COMMON_H
#define FAKEGPU_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#define EXIT_OK 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_MISSING 4

uint64_t now_ns(void); /* CLOCK_MONOTONIC */

/* A number in [low, high] from the command line; exits 2 with one line otherwise. */
uint64_t number_argument(const char *option, const char *text, uint64_t low, uint64_t high);

/* Exits 2 with one line. */
__attribute__((noreturn, format(printf, 1, 2))) void usage(const char *format, ...);

/*
 * SIGINT and SIGTERM ask for an orderly end: stopping() turns true. When the
 * program has not ended two seconds later (the device hangs, say), SIGALRM
 * ends it.
 */
void stop_on_signals(void);
bool stopping(void);
void wait_for_stop(void); /* sleeps until stopping() */

/* Paces a loop: returns at start + n * period; at once with @rate_hz 0. False once stopping. */
bool pace(uint64_t start_ns, uint64_t n, uint64_t rate_hz);

#endif
