// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-burst: work in bursts of SUBMIT ioctls, each burst ended by a WAIT.
 * The easy way to see jobs go by with strace.
 *
 *	fakegpu-burst [--rate HZ] [--size JOBS] [--seconds S] [--bursts N]
 */
#include <getopt.h>
#include "common_cuda.h"

static const struct option options[] = {
	{"rate", required_argument, NULL, 'r'},	   {"size", required_argument, NULL, 'n'},
	{"seconds", required_argument, NULL, 't'}, {"bursts", required_argument, NULL, 'b'},
	{"help", no_argument, NULL, 'h'},	   {0},
};

/* Job j of a burst stores its own number in word j. */
static void burst(void *words, uint32_t size, uint64_t number)
{
	uint32_t one = 1;

	for (uint32_t job = 0; job < size; job++) {
		uint32_t value = (uint32_t)number + job;
		void *word = (char *)words + job * sizeof(uint32_t);
		void *args[] = {&word, &value, &one};

		CUDA_CHECK(fcudaLaunchKernel("fill", 1, 1, args, NULL));
	}
	CUDA_CHECK(fcudaDeviceSynchronize());
}

static int verify(const void *words, uint32_t size, uint64_t number)
{
	uint32_t *seen = calloc(size, sizeof(*seen));
	int code = EXIT_OK;

	if (!seen)
		return EXIT_FAILED;
	CUDA_CHECK(fcudaMemcpy(seen, words, size * sizeof(*seen), fcudaMemcpyDeviceToHost));
	for (uint32_t job = 0; job < size && !code; job++) {
		if (seen[job] != (uint32_t)number + job) {
			fprintf(stderr, "fakegpu-burst: job %u of burst %llu stored %u, not %u\n",
				job, (unsigned long long)number, seen[job], (uint32_t)number + job);
			code = EXIT_FAILED;
		}
	}
	free(seen);
	return code;
}

int main(int argc, char **argv)
{
	uint64_t rate = 2, seconds = 0, bursts = 0, number = 0, start, end;
	uint32_t size = 16;
	int option, code = EXIT_OK;
	void *words;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			rate = number_argument("--rate", optarg, 0, 1000000);
		else if (option == 'n')
			size = (uint32_t)number_argument("--size", optarg, 1, 1000000);
		else if (option == 't')
			seconds = number_argument("--seconds", optarg, 1, 1000000000);
		else if (option == 'b')
			bursts = number_argument("--bursts", optarg, 1, UINT64_MAX / 2);
		else
			usage("[--rate HZ] [--size JOBS] [--seconds S] [--bursts N]");
	}
	if (optind < argc)
		usage("takes no argument '%s'", argv[optind]);
	stop_on_signals();
	CUDA_CHECK(fcudaSetDeviceFlags(fcudaDeviceSubmitIoctl));
	CUDA_CHECK(fcudaMalloc(&words, size * sizeof(uint32_t)));
	start = now_ns();
	end = start + seconds * 1000000000;
	while (!code && !stopping() && (!bursts || number < bursts) &&
	       (!seconds || now_ns() < end)) {
		burst(words, size, number);
		code = verify(words, size, number);
		number++;
		if (!bursts || number < bursts)
			pace(start, number, rate);
	}
	CUDA_CHECK(fcudaDeviceReset());
	if (!code)
		printf("%llu bursts of %u jobs, all verified\n", (unsigned long long)number, size);
	return code;
}
