// SPDX-License-Identifier: MIT
// bpf_storm N [RATE]: opens /dev/null, makes N ioctls of the embedded device's type on it as fast as it can,
// prints how many ns they took and waits for its input to end. With RATE it keeps to that many a second.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct argument {
	unsigned long long number, answer;
};

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 23;
	unsigned long rate = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct argument argument;
	unsigned long long start;
	char byte;

	for (unsigned long i = 0; i < 2; i++) { // settles what the descriptor is before anything counts
		ioctl(fd, _IOWR(0xfa, 0x3e, struct argument), &argument);
		usleep(200000);
	}
	start = now();
	for (unsigned long i = 0; i < n; i++) {
		argument.number = i;
		ioctl(fd, _IOWR(0xfa, 0x3f, struct argument), &argument);
		if (rate && i % 500 == 0)
			while ((now() - start) * rate < i * 1000000000ULL)
				;
	}
	printf("%llu\n", now() - start);
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
