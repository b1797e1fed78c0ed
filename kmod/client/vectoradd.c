// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-vectoradd: adds two vectors on the device and checks every sum.
 *
 *	fakegpu-vectoradd [--count N] [--ioctl]
 */
#include <getopt.h>
#include "common_cuda.h"

#define BLOCK 256

static const struct option options[] = {
	{"count", required_argument, NULL, 'c'},
	{"ioctl", no_argument, NULL, 'i'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Reproducible values with fractions, so that sums must be rounded. */
static void make_inputs(float *a, float *b, uint32_t count)
{
	uint32_t state = 12345;

	for (uint32_t i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		a[i] = (float)(state >> 8) / 65536.0f;
		state = state * 1664525 + 1013904223;
		b[i] = (float)(state >> 8) / 16777216.0f;
	}
}

static void add_on_device(const float *a, const float *b, float *c, uint32_t count)
{
	size_t bytes = (size_t)count * sizeof(float);
	unsigned int grid = (count + BLOCK - 1) / BLOCK;
	void *device_a, *device_b, *device_c;
	void *args[] = {&device_a, &device_b, &device_c, &count};

	CUDA_CHECK(fcudaMalloc(&device_a, bytes));
	CUDA_CHECK(fcudaMalloc(&device_b, bytes));
	CUDA_CHECK(fcudaMalloc(&device_c, bytes));
	printf("Copy input data from the host memory to the device\n");
	CUDA_CHECK(fcudaMemcpy(device_a, a, bytes, fcudaMemcpyHostToDevice));
	CUDA_CHECK(fcudaMemcpy(device_b, b, bytes, fcudaMemcpyHostToDevice));
	printf("Kernel launch with %u blocks of %d threads\n", grid, BLOCK);
	CUDA_CHECK(fcudaLaunchKernel("vectorAdd", grid, BLOCK, args, NULL));
	CUDA_CHECK(fcudaDeviceSynchronize());
	printf("Copy output data from the device to the host memory\n");
	CUDA_CHECK(fcudaMemcpy(c, device_c, bytes, fcudaMemcpyDeviceToHost));
	CUDA_CHECK(fcudaFree(device_a));
	CUDA_CHECK(fcudaFree(device_b));
	CUDA_CHECK(fcudaFree(device_c));
}

static int verify(const float *a, const float *b, const float *c, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		float sum = a[i] + b[i];

		if (c[i] != sum) {
			printf("Result verification failed at element %u: %a, not %a\n", i,
			       (double)c[i], (double)sum);
			return EXIT_FAILED;
		}
	}
	printf("Test PASSED\n");
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	uint32_t count = 50000;
	float *a, *b, *c;
	int option, code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			count = (uint32_t)number_argument("--count", optarg, 1, 1 << 28);
		else if (option == 'i')
			CUDA_CHECK(fcudaSetDeviceFlags(fcudaDeviceSubmitIoctl));
		else
			usage("[--count N] [--ioctl]");
	}
	if (optind < argc)
		usage("takes no argument '%s'", argv[optind]);
	a = calloc(count, sizeof(float));
	b = calloc(count, sizeof(float));
	c = calloc(count, sizeof(float));
	if (!a || !b || !c) {
		fprintf(stderr, "fakegpu-vectoradd: no memory for %u elements; use --count\n",
			count);
		return EXIT_FAILED;
	}
	make_inputs(a, b, count);
	printf("[Vector addition of %u elements]\n", count);
	add_on_device(a, b, c, count);
	code = verify(a, b, c, count);
	CUDA_CHECK(fcudaDeviceReset());
	if (!code)
		printf("Done\n");
	free(a);
	free(b);
	free(c);
	return code;
}
