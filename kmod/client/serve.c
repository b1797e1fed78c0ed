// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-serve: a service that answers requests on the device and, as services
 * do, logs a request that fails and takes the next one.
 *
 *	fakegpu-serve [--rate HZ] [--requests N] [--memory MIB] [--pinned MIB]
 *
 * It holds --memory of device memory and --pinned of page-locked host memory.
 */
#include <getopt.h>
#include "common_cuda.h"

#define MIB ((size_t)1 << 20)
#define COUNT 1024
#define BLOCK 256

static const struct option options[] = {
	{"rate", required_argument, NULL, 'r'},	  {"requests", required_argument, NULL, 'n'},
	{"memory", required_argument, NULL, 'm'}, {"pinned", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},	  {0},
};

/**
 * struct service - what it holds
 * @words: device memory that a request fills
 * @cache: device memory that is only held
 * @pinned: host memory that is only held
 */
struct service {
	void *words;
	void *cache;
	void *pinned;
};

static void set_up(struct service *service, size_t memory, size_t pinned)
{
	CUDA_CHECK(fcudaMalloc(&service->words, COUNT * sizeof(uint32_t)));
	if (memory)
		CUDA_CHECK(fcudaMalloc(&service->cache, memory * MIB));
	if (pinned)
		CUDA_CHECK(fcudaMallocHost(&service->pinned, pinned * MIB));
}

/* Word by word what the request asked for, or the error that it ended with. */
static fcudaError_t answer(struct service *service, uint32_t number, bool *right)
{
	uint32_t words[COUNT], count = COUNT;
	void *args[] = {&service->words, &number, &count};
	fcudaError_t error = fcudaLaunchKernel("fill", COUNT / BLOCK, BLOCK, args, NULL);

	if (!error)
		error = fcudaDeviceSynchronize();
	if (!error)
		error = fcudaMemcpy(words, service->words, sizeof(words), fcudaMemcpyDeviceToHost);
	*right = !error;
	for (uint32_t i = 0; i < COUNT && *right; i++)
		*right = words[i] == number;
	return error;
}

/* Whether it was answered well. */
static bool serve(struct service *service, uint64_t number)
{
	fcudaError_t error;
	bool right;

	error = answer(service, (uint32_t)number, &right);
	printf("request %llu: ", (unsigned long long)number);
	if (error)
		printf("error %d (%s) %s\n", (int)error, fcudaGetErrorName(error),
		       fcudaGetErrorString(error));
	else
		printf("%s\n", right ? "ok" : "wrong answer");
	return right;
}

static int run(struct service *service, uint64_t rate, uint64_t requests)
{
	uint64_t start = now_ns(), number = 0, failed = 0;

	while (!stopping() && (!requests || number < requests)) {
		failed += !serve(service, ++number);
		if (!requests || number < requests)
			pace(start, number, rate);
	}
	return failed ? EXIT_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
	uint64_t rate = 5, requests = 0;
	size_t memory = 0, pinned = 0;
	struct service service = {0};
	int option;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			rate = number_argument("--rate", optarg, 1, 1000);
		else if (option == 'n')
			requests = number_argument("--requests", optarg, 1, UINT64_MAX / 2);
		else if (option == 'm')
			memory = number_argument("--memory", optarg, 1, 1 << 20);
		else if (option == 'p')
			pinned = number_argument("--pinned", optarg, 1, 1 << 20);
		else
			usage("[--rate HZ] [--requests N] [--memory MIB] [--pinned MIB]");
	}
	if (optind < argc)
		usage("takes no argument '%s'", argv[optind]);
	stop_on_signals();
	set_up(&service, memory, pinned);
	return run(&service, rate, requests);
}
