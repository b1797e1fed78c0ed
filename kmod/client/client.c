// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-client: checks a driver against its SPEC.md, from the outside.
 *
 *	fakegpu-client [--device N] [--list] [--only NAME]
 *
 * Prints PASS or FAIL per check and a count. Exit code: 0 all passed, 1 some
 * failed, 2 usage, 4 no device. Calls are made one after the other in an order
 * that does not depend on timing, so that two traces of it can be compared.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client.h"
#include "common.h"

static const struct option options[] = {
	{"device", required_argument, NULL, 'd'},
	{"list", no_argument, NULL, 'l'},
	{"only", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const struct check *const tables[] = {
	checks_context, checks_job, checks_ring, checks_poison, checks_refuse, checks_eventfd,
};
#define TABLES (sizeof(tables) / sizeof(*tables))

static char reason[256];

bool fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return false;
}

const char *fail_reason(void)
{
	return reason;
}

static void list(void)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct check *check = tables[i]; check->name; check++)
			printf("%s\n", check->name);
}

static int run(const char *only)
{
	int passed = 0, failed = 0;

	for (size_t i = 0; i < TABLES; i++) {
		for (const struct check *check = tables[i]; check->name; check++) {
			if (only && strcmp(only, check->name) != 0)
				continue;
			if (check->run()) {
				passed++;
				printf("PASS %s\n", check->name);
			} else {
				failed++;
				printf("FAIL %s: %s\n", check->name, fail_reason());
			}
		}
	}
	if (only && !passed && !failed)
		usage("no check is called '%s'; see --list", only);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? EXIT_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	int option, fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			device_index = (unsigned int)number_argument("--device", optarg, 0,
								     FAKEGPU_MAX_DEVICES - 1);
			break;
		case 'l':
			list();
			return EXIT_OK;
		case 'o':
			only = optarg;
			break;
		default:
			usage("[--device N] [--list] [--only NAME]");
		}
	}
	if (optind < argc)
		usage("takes no argument '%s'", argv[optind]);
	fd = device_open(O_RDWR);
	if (fd < 0) {
		fprintf(stderr,
			"fakegpu-client: /dev/fakegpu%u: %s; start it under fakegpu-run, or load "
			"the module\n",
			device_index, strerror(-fd));
		return EXIT_MISSING;
	}
	close(fd);
	return run(only);
}
