/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A test is a function in a table; a CHECK that does not hold ends it. Each
 * prints `ok NAME` or `not ok NAME: WHY`.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(function)                                                                             \
	{                                                                                          \
#function, function                                                                \
	}

/* Each test file ends with its table; main.c runs them all. */
#define SUITE(suite, ...) const struct test suite[] = {__VA_ARGS__, {NULL, NULL}}

void fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool failed(void);

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fail(__FILE__, __LINE__, "%s", #condition);                                \
			return;                                                                    \
		}                                                                                  \
	} while (0)

/* Integers, shown when they differ. */
#define CHECK_EQ(got, wanted)                                                                      \
	do {                                                                                       \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);                  \
		if (got_ != wanted_) {                                                             \
			fail(__FILE__, __LINE__, "%s is %lld, not %lld", #got, got_, wanted_);     \
			return;                                                                    \
		}                                                                                  \
	} while (0)

/* A helper may have failed: stop here too. */
#define CHECK_OK()                                                                                 \
	do {                                                                                       \
		if (failed())                                                                      \
			return;                                                                    \
	} while (0)

#endif
