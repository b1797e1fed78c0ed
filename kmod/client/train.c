// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-train: the steady state of a training job. Each step fills a vector,
 * adds another to it and waits for the fence, all through the mapped ring, so
 * that once it runs no syscall is made but the sleep between steps (none at
 * all with --rate 0).
 *
 *	fakegpu-train [--rate HZ] [--steps N] [--seconds S] [--count N] [--stay] [-v]
 *
 * With --stay it keeps the device when its steps are done, until a signal.
 */
#include <getopt.h>
#include "common_cuda.h"

#define BLOCK 256

static const struct option options[] = {
	{"rate", required_argument, NULL, 'r'},	   {"steps", required_argument, NULL, 's'},
	{"seconds", required_argument, NULL, 't'}, {"count", required_argument, NULL, 'c'},
	{"stay", no_argument, NULL, 'k'},	   {"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},	   {0},
};

/**
 * struct job - what to do, and where it is done
 * @rate_hz: steps per second, 0 = as fast as the device
 * @steps: how many, 0 = until told to stop
 * @seconds: for how long, 0 = until told to stop
 * @count: elements of each vector
 * @stay: keep the device afterwards
 * @verbose: a line every @report steps
 * @report: steps between lines
 * @a: device memory, filled anew each step
 * @b: device memory, all ones
 * @c: device memory, their sum
 * @stream: a channel of its own
 */
struct job {
	uint64_t rate_hz;
	uint64_t steps;
	uint64_t seconds;
	uint32_t count;
	bool stay;
	bool verbose;
	uint64_t report;
	void *a, *b, *c;
	fcudaStream_t stream;
};

static float step_value(uint64_t step)
{
	return (float)(step % 1000) + 0.25f;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void set_up(struct job *job)
{
	size_t bytes = (size_t)job->count * sizeof(float);
	unsigned int grid = (job->count + BLOCK - 1) / BLOCK;
	uint32_t one = bits_of(1.0f);
	void *args[] = {&job->b, &one, &job->count};

	CUDA_CHECK(fcudaSetDeviceFlags(fcudaDeviceSubmitRing));
	CUDA_CHECK(fcudaMalloc(&job->a, bytes));
	CUDA_CHECK(fcudaMalloc(&job->b, bytes));
	CUDA_CHECK(fcudaMalloc(&job->c, bytes));
	CUDA_CHECK(fcudaStreamCreate(&job->stream));
	CUDA_CHECK(fcudaLaunchKernel("fill", grid, BLOCK, args, NULL));
	CUDA_CHECK(fcudaDeviceSynchronize());
}

static void do_step(struct job *job, uint64_t step)
{
	unsigned int grid = (job->count + BLOCK - 1) / BLOCK;
	uint32_t value = bits_of(step_value(step));
	void *fill[] = {&job->a, &value, &job->count};
	void *add[] = {&job->a, &job->b, &job->c, &job->count};

	CUDA_CHECK(fcudaLaunchKernel("fill", grid, BLOCK, fill, job->stream));
	CUDA_CHECK(fcudaLaunchKernel("vectorAdd", grid, BLOCK, add, job->stream));
	CUDA_CHECK(fcudaStreamSynchronize(job->stream));
}

static uint64_t run(struct job *job)
{
	uint64_t start = now_ns(), end = start + job->seconds * 1000000000, step = 0;

	while (!job->steps || step < job->steps) {
		if (stopping() || (job->seconds && now_ns() >= end))
			break;
		do_step(job, step++);
		if (job->verbose && step % job->report == 0)
			printf("step %llu: %.1f steps/s\n", (unsigned long long)step,
			       (double)step * 1e9 / (double)(now_ns() - start));
		if (!pace(start, step, job->rate_hz))
			break;
	}
	return step;
}

/* The last step's sums, all of them. */
static int verify(struct job *job, uint64_t steps)
{
	size_t bytes = (size_t)job->count * sizeof(float);
	float expected = step_value(steps - 1) + 1.0f;
	float *sums = calloc(1, bytes);
	int code = EXIT_OK;

	if (!sums) {
		fprintf(stderr, "fakegpu-train: no memory to check the sums; use --count\n");
		return EXIT_FAILED;
	}
	CUDA_CHECK(fcudaMemcpy(sums, job->c, bytes, fcudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < job->count && !code; i++) {
		if (sums[i] != expected) {
			fprintf(stderr, "fakegpu-train: element %u of step %llu is %g, not %g\n", i,
				(unsigned long long)steps, (double)sums[i], (double)expected);
			code = EXIT_FAILED;
		}
	}
	free(sums);
	return code;
}

int main(int argc, char **argv)
{
	struct job job = {.rate_hz = 200, .count = 1024, .report = 100};
	uint64_t steps;
	int option, code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		if (option == 'r')
			job.rate_hz = number_argument("--rate", optarg, 0, 1000000);
		else if (option == 's')
			job.steps = number_argument("--steps", optarg, 1, UINT64_MAX / 2);
		else if (option == 't')
			job.seconds = number_argument("--seconds", optarg, 1, 1000000000);
		else if (option == 'c')
			job.count = (uint32_t)number_argument("--count", optarg, 1, 1 << 28);
		else if (option == 'k')
			job.stay = true;
		else if (option == 'v')
			job.verbose = true;
		else
			usage("[--rate HZ] [--steps N] [--seconds S] [--count N] [--stay] [-v]");
	}
	if (optind < argc)
		usage("takes no argument '%s'", argv[optind]);
	stop_on_signals();
	set_up(&job);
	steps = run(&job);
	code = steps ? verify(&job, steps) : EXIT_OK;
	if (!code)
		printf("%llu steps, last one verified\n", (unsigned long long)steps);
	if (job.stay)
		wait_for_stop();
	CUDA_CHECK(fcudaStreamDestroy(job.stream));
	CUDA_CHECK(fcudaDeviceReset());
	return code;
}
