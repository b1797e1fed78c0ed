// SPDX-License-Identifier: MIT
// Makes an ioctl and counts it in a file that the test maps, for ever, on every thread it is told to
// start. With "handler", SIGINT and SIGUSR1 are counted too, and SIGTERM ends it with status 9.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t *page; // [0] rounds, [1] SIGINTs, [2] SIGUSR1s

static void on_signal(int number)
{
	if (number == SIGTERM)
		_exit(9);
	__atomic_fetch_add(&page[number == SIGINT ? 1 : 2], 1, __ATOMIC_SEQ_CST);
}

static void *rounds(void *unused)
{
	int fd = open("/dev/null", O_RDWR);
	struct timespec pause = {0, 200000};

	(void)unused;
	for (;;) {
		ioctl(fd, 0x1700, 0);
		__atomic_fetch_add(&page[0], 1, __ATOMIC_SEQ_CST);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR);
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t id;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (argc > 3 && !strcmp(argv[3], "handler")) {
		signal(SIGINT, on_signal);
		signal(SIGUSR1, on_signal);
		signal(SIGTERM, on_signal);
	}
	for (int i = 1; i < threads; i++)
		pthread_create(&id, NULL, rounds, NULL);
	rounds(NULL);
	return 0;
}
