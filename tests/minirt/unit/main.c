// SPDX-License-Identifier: MIT
/* Runs every test of minirt's pure parts; exits 1 when one failed. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

extern const struct test test_devrules[], test_seccomp[], test_cgroup[], test_options[],
	test_step[];

static const struct test *const suites[] = {test_devrules, test_seccomp, test_cgroup, test_options,
					    test_step};

/* minirt keeps what it allocates until it ends, so leaks are not looked for. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static char why[512];

void fail(const char *file, int line, const char *format, ...)
{
	va_list args;
	int used;

	if (why[0])
		return; /* the first one is the cause */
	used = snprintf(why, sizeof(why), "%s:%d: ", basename(file), line);
	va_start(args, format);
	vsnprintf(why + used, sizeof(why) - (size_t)used, format, args);
	va_end(args);
}

bool failed(void)
{
	return why[0];
}

int main(void)
{
	bool good = true;

	for (size_t i = 0; i < sizeof(suites) / sizeof(*suites); i++)
		for (const struct test *test = suites[i]; test->name; test++) {
			why[0] = '\0';
			test->run();
			printf("%s %s%s%s\n", why[0] ? "not ok" : "ok", test->name,
			       why[0] ? ": " : "", why);
			good &= !why[0];
		}
	return !good;
}
