// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-bench: one measurement per run, one JSON line on stdout.
 *
 *	fakegpu-bench ioctl N         the INFO ioctl, each timed
 *	fakegpu-bench launch-ring N   launches through ring and doorbell
 *	fakegpu-bench launch-ioctl N  the same launches through SUBMIT
 *	fakegpu-bench fence-ring N    from each launch to its fence, through ring and doorbell
 *	fakegpu-bench fence-ioctl N   the same through SUBMIT and WAIT
 *	fakegpu-bench devnull N       an ioctl the kernel answers itself
 *	fakegpu-bench syscalls N      getppid, getuid and a read of /dev/zero
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#include "../uapi/fakegpu.h"
#include "common_cuda.h"

#define BATCH 10000 /* launches between synchronisations */

static int open_or_exit(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "fakegpu-bench: %s: %s; start it under fakegpu-run\n", path,
			strerror(errno));
		exit(EXIT_MISSING);
	}
	return fd;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void report_times(const char *what, uint64_t *times, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += (double)times[i];
	qsort(times, n, sizeof(*times), by_value);
	printf("{\"bench\":\"%s\",\"n\":%llu,\"p50_ns\":%llu,\"p99_ns\":%llu,\"max_ns\":%llu,"
	       "\"mean_ns\":%.1f}\n",
	       what, (unsigned long long)n, (unsigned long long)times[n / 2],
	       (unsigned long long)times[n * 99 / 100], (unsigned long long)times[n - 1],
	       sum / (double)n);
}

static void report_total(const char *what, uint64_t n, uint64_t ns)
{
	printf("{\"bench\":\"%s\",\"n\":%llu,\"total_ns\":%llu,\"each_ns\":%.2f,"
	       "\"per_second\":%.1f}\n",
	       what, (unsigned long long)n, (unsigned long long)ns, (double)ns / (double)n,
	       (double)n * 1e9 / (double)ns);
}

static void bench_ioctl(uint64_t n)
{
	uint64_t *times = calloc(n, sizeof(*times));
	int fd = open_or_exit("/dev/fakegpu0");
	struct fakegpu_info info;

	if (!times)
		usage("no memory for %llu times", (unsigned long long)n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = now_ns();

		info.flags = 0;
		if (ioctl(fd, FAKEGPU_IOC_INFO, &info)) {
			fprintf(stderr, "fakegpu-bench: INFO: %s\n", strerror(errno));
			exit(EXIT_FAILED);
		}
		times[i] = now_ns() - start;
	}
	report_times("ioctl", times, n);
	free(times);
	close(fd);
}

/* The same kernel both ways: one word stored. */
static void bench_launch(const char *what, unsigned int flags, uint64_t n)
{
	uint32_t value = 0, one = 1, seen;
	void *word;
	void *args[] = {&word, &value, &one};
	uint64_t start, ns;

	CUDA_CHECK(fcudaSetDeviceFlags(flags));
	CUDA_CHECK(fcudaMalloc(&word, sizeof(value)));
	CUDA_CHECK(fcudaDeviceSynchronize());
	start = now_ns();
	for (uint64_t i = 1; i <= n; i++) {
		value = (uint32_t)i;
		CUDA_CHECK(fcudaLaunchKernel("fill", 1, 1, args, NULL));
		if (i % BATCH == 0 || i == n)
			CUDA_CHECK(fcudaDeviceSynchronize());
	}
	ns = now_ns() - start;
	CUDA_CHECK(fcudaMemcpy(&seen, word, sizeof(seen), fcudaMemcpyDeviceToHost));
	if (seen != (uint32_t)n) {
		fprintf(stderr, "fakegpu-bench: the last launch stored %u, not %u\n", seen,
			(uint32_t)n);
		exit(EXIT_FAILED);
	}
	CUDA_CHECK(fcudaDeviceReset());
	report_total(what, n, ns);
}

static void bench_ring(uint64_t n)
{
	bench_launch("launch-ring", fcudaDeviceSubmitRing, n);
}

static void bench_submit(uint64_t n)
{
	bench_launch("launch-ioctl", fcudaDeviceSubmitIoctl, n);
}

/* One launch at a time, each timed from before the call until its fence has been seen. */
static void bench_fence(const char *what, unsigned int flags, uint64_t n)
{
	uint64_t *times = calloc(n, sizeof(*times));
	uint32_t value = 23, one = 1;
	void *word;
	void *args[] = {&word, &value, &one};

	if (!times)
		usage("no memory for %llu times", (unsigned long long)n);
	CUDA_CHECK(fcudaSetDeviceFlags(flags));
	CUDA_CHECK(fcudaMalloc(&word, sizeof(value)));
	CUDA_CHECK(fcudaDeviceSynchronize());
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = now_ns();

		CUDA_CHECK(fcudaLaunchKernel("fill", 1, 1, args, NULL));
		CUDA_CHECK(fcudaDeviceSynchronize());
		times[i] = now_ns() - start;
	}
	CUDA_CHECK(fcudaDeviceReset());
	report_times(what, times, n);
	free(times);
}

static void bench_fence_ring(uint64_t n)
{
	bench_fence("fence-ring", fcudaDeviceSubmitRing, n);
}

static void bench_fence_ioctl(uint64_t n)
{
	bench_fence("fence-ioctl", fcudaDeviceSubmitIoctl, n);
}

static void bench_devnull(uint64_t n)
{
	int fd = open_or_exit("/dev/null");
	struct termios unused;
	uint64_t start = now_ns();

	for (uint64_t i = 0; i < n; i++) {
		if (ioctl(fd, TCGETS, &unused) != -1 || errno != ENOTTY) {
			fprintf(stderr, "fakegpu-bench: /dev/null did not answer ENOTTY\n");
			exit(EXIT_FAILED);
		}
	}
	report_total("devnull", n, now_ns() - start);
	close(fd);
}

static void bench_syscalls(uint64_t n)
{
	int fd = open_or_exit("/dev/zero");
	char byte = 1;
	uint64_t start = now_ns();

	for (uint64_t i = 0; i < n; i++) {
		syscall(SYS_getppid);
		syscall(SYS_getuid);
		if (read(fd, &byte, 1) != 1 || byte) {
			fprintf(stderr, "fakegpu-bench: /dev/zero gave no zero\n");
			exit(EXIT_FAILED);
		}
	}
	report_total("syscalls", 3 * n, now_ns() - start);
	close(fd);
}

static const struct bench {
	const char *name;
	void (*run)(uint64_t n);
} benches[] = {
	{"ioctl", bench_ioctl},
	{"launch-ring", bench_ring},
	{"launch-ioctl", bench_submit},
	{"fence-ring", bench_fence_ring},
	{"fence-ioctl", bench_fence_ioctl},
	{"devnull", bench_devnull},
	{"syscalls", bench_syscalls},
};

int main(int argc, char **argv)
{
	if (argc == 3) {
		for (size_t i = 0; i < sizeof(benches) / sizeof(*benches); i++) {
			if (strcmp(argv[1], benches[i].name) == 0) {
				benches[i].run(number_argument("N", argv[2], 1, 1000000000));
				return EXIT_OK;
			}
		}
	}
	usage("ioctl|launch-ring|launch-ioctl|fence-ring|fence-ioctl|devnull|syscalls N");
}
