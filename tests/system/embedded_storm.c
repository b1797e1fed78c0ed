// SPDX-License-Identifier: MIT
/*
 * Makes calls while signals rain, with handlers that restart calls: each must
 * happen once, so that handles and seqnos stay exact. Static and without any
 * library call for the device, as the least a program can be. Prints how many
 * calls and signals there were; exits with 1 and a reason when one went wrong.
 * Arguments: microseconds between signals (100), rounds of five calls (460).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../kmod/uapi/fakegpu.h"

#define ROUNDS 460

static volatile sig_atomic_t signals;

static void count(int number)
{
	(void)number;
	signals++;
}

static int fd;
static int calls;

static int call(unsigned long command, void *arg)
{
	calls++;
	return (int)syscall(SYS_ioctl, fd, command, arg);
}

static int fail(const char *what, int round)
{
	fprintf(stderr, "%s, round %d: %s\n", what, round, strerror(errno));
	return 1;
}

static int one_round(__u32 channel, int round)
{
	struct fakegpu_alloc alloc = {.size = 4096};
	struct fakegpu_packet_fill fill = {.head = {.op = FAKEGPU_OP_FILL, .size = sizeof(fill)},
					   .length = 4096};
	struct fakegpu_submit submit = {.channel = channel, .length = sizeof(fill)};
	struct fakegpu_wait wait = {.channel = channel};
	struct fakegpu_ctx_info info = {0};
	struct timespec now;

	if (call(FAKEGPU_IOC_ALLOC, &alloc))
		return fail("ALLOC", round);
	fill.handle = alloc.handle;
	submit.packets = (__u64)(unsigned long)&fill;
	if (call(FAKEGPU_IOC_SUBMIT, &submit))
		return fail("SUBMIT", round);
	if (submit.seqno != (__u64)round)
		return fail("a submit was made twice or lost", round);
	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.seqno = submit.seqno;
	wait.deadline_ns = ((__u64)now.tv_sec + 10) * 1000000000 + (__u64)now.tv_nsec;
	if (call(FAKEGPU_IOC_WAIT, &wait))
		return fail("WAIT", round);
	if (call(FAKEGPU_IOC_CTX_INFO, &info) || info.buffers != 1 || info.submits != (__u64)round)
		return fail("an allocation was made twice or lost", round);
	return call(FAKEGPU_IOC_FREE, &(struct fakegpu_free){.handle = alloc.handle})
		       ? fail("FREE", round)
		       : 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
	long pause = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	struct itimerval storm = {{0, pause}, {0, pause}};
	struct fakegpu_channel_create create = {0};
	int round;

	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/fakegpu0", O_RDWR);
	if (fd < 0 || syscall(SYS_ioctl, fd, FAKEGPU_IOC_CHANNEL_CREATE, &create))
		return fail("open", 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &storm, NULL);
	for (round = 1; round <= rounds; round++)
		if (one_round(create.handle, round))
			return 1;
	memset(&storm, 0, sizeof(storm));
	setitimer(ITIMER_REAL, &storm, NULL);
	printf("%d %d\n", calls, (int)signals);
	return 0;
}
