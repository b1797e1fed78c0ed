// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-smi: what the devices are and do, with the habits of nvidia-smi.
 *
 *	fakegpu-smi [-L | -q | --query-gpu=FIELDS --format=csv[,noheader][,nounits]]
 *		    [-i DEVICES] [-l SECONDS]
 *	fakegpu-smi dmon | pmon [-i DEVICES] [-d SECONDS] [-c COUNT]
 *
 * Exit status, as nvidia-smi's: 0, 2 usage, or the number of the library's
 * error: 3 not supported, 4 no permission, 6 no such device, 9 no driver,
 * 12 no library, 15 a GPU is lost; 255 for numbers above that.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common.h"
#include "smi.h"

#define NS_PER_S UINT64_C(1000000000)

enum mode { TABLE, LIST, FULL, QUERY, DMON, PMON };

/**
 * struct options - the command line
 * @devices: as -i has it; NULL = all
 * @period_s: of the beat; 0 = once
 * @rounds: beats; 0 = until stopped
 */
static struct options {
	enum mode mode;
	unsigned int what;
	const char *devices;
	uint64_t period_s;
	uint64_t rounds;
	bool csv, header, units;
} options = {.what = SMI_ALL, .header = true, .units = true};

static struct smi_device devices[SMI_DEVICES_MAX];

static const char help[] =
	"usage: fakegpu-smi [-L | -q | --query-gpu=FIELDS --format=csv[,noheader][,nounits]]\n"
	"                   [-i DEVICES] [-l SECONDS]\n"
	"       fakegpu-smi dmon | pmon [-i DEVICES] [-d SECONDS] [-c COUNT]\n\n"
	"  -L, --list-gpus     one line per device\n"
	"  -q, --query         everything\n"
	"  --query-gpu=FIELDS  chosen fields, see --help-query-gpu\n"
	"  -i, --id=DEVICES    by index, UUID or bus id, comma-separated\n"
	"  -l, --loop=SECONDS  again and again\n"
	"  dmon, pmon          a row per device or process each second\n";

static const struct option long_options[] = {
	{"list-gpus", no_argument, NULL, 'L'},
	{"query", no_argument, NULL, 'q'},
	{"query-gpu", required_argument, NULL, 'Q'},
	{"format", required_argument, NULL, 'f'},
	{"id", required_argument, NULL, 'i'},
	{"loop", required_argument, NULL, 'l'},
	{"delay", required_argument, NULL, 'd'},
	{"count", required_argument, NULL, 'c'},
	{"help", no_argument, NULL, 'h'},
	{"help-query-gpu", no_argument, NULL, 'H'},
	{0},
};

static void parse_format(char *text)
{
	char *word, *rest;

	for (word = strtok_r(text, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
		if (!strcmp(word, "csv"))
			options.csv = true;
		else if (!strcmp(word, "noheader"))
			options.header = false;
		else if (!strcmp(word, "nounits"))
			options.units = false;
		else
			usage("--format takes csv, noheader and nounits, not '%s'", word);
	}
}

static void set_mode(enum mode mode)
{
	if (options.mode != TABLE)
		usage("only one of -L, -q, --query-gpu, dmon and pmon");
	options.mode = mode;
}

static void parse_option(int option)
{
	switch (option) {
	case 'L':
		set_mode(LIST);
		options.what = SMI_IDENTITY;
		break;
	case 'q':
		set_mode(FULL);
		break;
	case 'Q':
		set_mode(QUERY);
		options.what = smi_query_parse(optarg);
		break;
	case 'f':
		parse_format(optarg);
		break;
	case 'i':
		options.devices = optarg;
		break;
	case 'l':
	case 'd':
		options.period_s = number_argument(option == 'l' ? "-l" : "-d", optarg, 1, 86400);
		break;
	case 'c':
		options.rounds = number_argument("-c", optarg, 1, UINT32_MAX);
		break;
	case 'h':
		fputs(help, stdout);
		exit(EXIT_OK);
	case 'H':
		smi_query_help();
		exit(EXIT_OK);
	default:
		usage("see fakegpu-smi --help");
	}
}

static void parse(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int option;

	if (!strcmp(word, "dmon") || !strcmp(word, "pmon")) {
		options.mode = *word == 'd' ? DMON : PMON;
		options.what = *word == 'd' ? SMI_MEMORY | SMI_USAGE : SMI_PROCESSES;
		options.period_s = 1;
		optind = 2;
	}
	while ((option = getopt_long(argc, argv, "Lqi:l:d:c:h", long_options, NULL)) != -1)
		parse_option(option);
	if (optind < argc)
		usage("takes no argument '%s'; see --help", argv[optind]);
	if (options.mode == QUERY && !options.csv)
		usage("--query-gpu needs --format=csv");
	if (!options.period_s)
		options.rounds = 1;
}

static int exit_code(fmlResult result)
{
	return (int)result > 254 ? 255 : (int)result;
}

/* In the words that people search for. */
static int explain(fmlResult result, const char *library)
{
	switch (result) {
	case FML_ERROR_LIBRARY_NOT_FOUND:
		fprintf(stderr, "FAKEGPU-SMI couldn't find libfakeml.so.1; is the driver package "
				"installed, and LD_LIBRARY_PATH right?\n");
		break;
	case FML_ERROR_DRIVER_NOT_LOADED:
		fprintf(stderr, "FAKEGPU-SMI has failed because it couldn't communicate with the "
				"fakegpu driver; load it, or use fakegpu-run\n");
		break;
	default:
		fprintf(stderr, "Failed to initialize FGML: %s\n",
			result == FML_ERROR_FUNCTION_NOT_FOUND ? "Function Not Found"
							       : ml.fmlErrorString(result));
		if (result == FML_ERROR_LIB_RM_VERSION_MISMATCH)
			fprintf(stderr, "FGML library version: %s\n", library);
	}
	return exit_code(result);
}

/* Looks at those that are wanted; their number. */
static uint32_t look(const struct smi_system *system, fmlResult *result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < system->count && i < SMI_DEVICES_MAX; i++) {
		smi_device_look(i, SMI_IDENTITY, &devices[count]);
		if (options.devices && !smi_device_named(&devices[count], options.devices))
			continue;
		if (devices[count].error) {
			*result = devices[count].error;
			fprintf(stderr,
				"Unable to determine the device handle for GPU%" PRIu32 ": %s\n", i,
				ml.fmlErrorString(*result));
		}
		smi_device_look(i, options.what, &devices[count++]);
	}
	return count;
}

static void print(const struct smi_system *system, uint32_t count, uint64_t round)
{
	switch (options.mode) {
	case TABLE:
		smi_print_table(system, devices, count);
		break;
	case LIST:
		smi_print_list(devices, count);
		break;
	case FULL:
		smi_print_full(system, devices, count);
		break;
	case QUERY:
		if (options.header && !round)
			smi_query_head();
		for (uint32_t i = 0; i < count; i++)
			if (!devices[i].error)
				smi_query_row(system, &devices[i], options.units);
		break;
	case DMON:
		smi_dmon(devices, count, round);
		break;
	case PMON:
		smi_pmon(devices, count, round);
		break;
	}
}

/* Until the beat after `round`; a signal ends it early. */
static void wait_for_beat(uint64_t start_ns, uint64_t round)
{
	uint64_t at = start_ns + (round + 1) * options.period_s * NS_PER_S;
	struct timespec when = {.tv_sec = (time_t)(at / NS_PER_S),
				.tv_nsec = (long)(at % NS_PER_S)};

	while (!stopping() && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

static int run(const struct smi_system *system)
{
	uint64_t start_ns = now_ns(), round;
	fmlResult result = FML_SUCCESS;
	uint32_t count;

	for (round = 0; !stopping(); round++) {
		result = FML_SUCCESS;
		count = look(system, &result);
		if (!count) {
			fprintf(stderr, "No devices were found\n");
			return exit_code(FML_ERROR_NOT_FOUND);
		}
		print(system, count, round);
		fflush(stdout);
		if (options.rounds && round + 1 == options.rounds)
			break;
		wait_for_beat(start_ns, round);
	}
	return exit_code(result);
}

int main(int argc, char **argv)
{
	struct smi_system system = {0};
	fmlResult result;
	int code;

	parse(argc, argv);
	result = smi_load();
	if (!result)
		result = smi_system_look(&system);
	if (result)
		return explain(result, system.library);
	stop_on_signals();
	code = run(&system);
	ml.fmlShutdown();
	return code;
}
