// SPDX-License-Identifier: MIT
// Device calls from everywhere a tracer must follow: threads, forks, vforks, execs, and an exec from
// a thread that is not the leader. Every actor makes a known prime number of ioctls.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 23, THREADS = 3, SIZE = 8192 };

static const char *self;
static int shared;

static void calls(int fd, int tag, int count)
{
	for (int i = 0; i < count; i++)
		ioctl(fd, 0x1000 + tag, i);
}

static void *thread(void *tag)
{
	calls(shared, (int)(long)tag, CALLS);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, thread, (void *)(0x10 + i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void descriptors(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	int copy = dup(fd), second = dup2(fd, 100), third = fcntl(fd, F_DUPFD_CLOEXEC, 50);

	calls(copy, 0x20, 2);
	calls(second, 0x21, 2);
	calls(third, 0x22, 2);
	dup3(second, third, O_CLOEXEC);
	munmap(at, SIZE);
	close(fd);
	close(copy);
	close(second);
	close(third);
	close(third); // EBADF: no device any more
	open("/dev/fakegpu7777", O_RDWR);
}

static void leaf(const char *tag)
{
	execl(self, self, tag, (char *)NULL);
	_exit(127);
}

static void *exec_from_thread(void *unused)
{
	(void)unused;
	calls(shared, 0x30, 5);
	leaf("49");
	return NULL;
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		exit(3);
}

static void children(void)
{
	pid_t pid = fork();

	if (!pid) {
		calls(shared, 0x31, CALLS);
		leaf("52");
	}
	wait_for(pid);
	pid = vfork();
	if (!pid)
		leaf("51");
	wait_for(pid);
	pid = fork();
	if (!pid) {
		pthread_t id;

		pthread_create(&id, NULL, exec_from_thread, NULL);
		pthread_join(id, NULL);
		_exit(4);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	self = argv[0];
	shared = open("/dev/null", O_RDWR);
	if (argc > 1) {
		calls(shared, atoi(argv[1]), 7);
		return 0;
	}
	calls(shared, 1, CALLS);
	descriptors();
	threads();
	children();
	calls(shared, 2, CALLS);
	return 0;
}
