// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs every test of the core, or those whose name starts with an argument.
 * Exits 1 when one failed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

extern const struct test test_calls[], test_context[], test_ring[], test_engine[], test_exec[],
	test_faults[], test_fault_specs[], test_float32[], test_usage[], test_eventfd[];

static const struct test *const suites[] = {
	test_calls,  test_context,     test_ring,    test_engine, test_exec,
	test_faults, test_fault_specs, test_float32, test_usage,  test_eventfd,
};

static char why[512];

void fail(const char *file, int line, const char *format, ...)
{
	const char *name = strrchr(file, '/');
	va_list args;
	int used;

	if (why[0])
		return; /* the first one is the cause */
	used = snprintf(why, sizeof(why), "%s:%d: ", name ? name + 1 : file, line);
	va_start(args, format);
	vsnprintf(why + used, sizeof(why) - (size_t)used, format, args);
	va_end(args);
}

bool failed(void)
{
	return why[0];
}

static bool run(const struct test *test)
{
	why[0] = '\0';
	test->run();
	if (why[0])
		printf("not ok %s: %s\n", test->name, why);
	else
		printf("ok %s\n", test->name);
	return !why[0];
}

int main(int argc, char **argv)
{
	const char *prefix = argc > 1 ? argv[1] : "";
	const struct test *test;
	bool good = true;
	size_t i;

	for (i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		for (test = suites[i]; test->name; test++)
			if (!strncmp(test->name, prefix, strlen(prefix)))
				good &= run(test);
	return !good;
}
