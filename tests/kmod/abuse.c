// SPDX-License-Identifier: MIT
/*
 * abuse [--calls N] [--seconds S] [--threads T] [--seed X]
 *
 * Throws random ioctls, mappings, ring contents and doorbells at a device,
 * from T threads that share their contexts, until N calls are made or S
 * seconds have passed. Nothing is expected of the answers but that there is
 * one, and that a fresh context works in the end. Prints counts by errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

#define CONTEXTS 4
#define MAPS 8

static const unsigned long commands[] = {
	FAKEGPU_IOC_INFO,
	FAKEGPU_IOC_CHECK_VERSION,
	FAKEGPU_IOC_ALLOC,
	FAKEGPU_IOC_FREE,
	FAKEGPU_IOC_MAP,
	FAKEGPU_IOC_CHANNEL_CREATE,
	FAKEGPU_IOC_CHANNEL_DESTROY,
	FAKEGPU_IOC_SUBMIT,
	FAKEGPU_IOC_WAIT,
	FAKEGPU_IOC_CTX_INFO,
	FAKEGPU_IOC_UVM_INIT,
	FAKEGPU_IOC_FENCE_EVENTFD,
};
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static long calls = 1000000, made;
static long seconds = 600;
static long threads = 4;
static unsigned long seed = 23;
static uint64_t end_ns;
static int contexts[CONTEXTS]; /* shared by all threads, opened and closed under their feet */
static long answers[134];
static __thread sigjmp_buf before;
static __thread volatile sig_atomic_t touching;

struct thrower {
	pthread_t thread;
	uint64_t state;
	struct {
		uint32_t *at;
		size_t size;
		uint32_t what;
	} maps[MAPS];
	int eventfd;
	uint64_t packets[64];
	uint64_t arg[32];
};

static uint32_t any(struct thrower *thrower, uint32_t below)
{
	thrower->state ^= thrower->state << 13;
	thrower->state ^= thrower->state >> 7;
	thrower->state ^= thrower->state << 17;
	return (uint32_t)(thrower->state >> 32) % below;
}

static void on_bus_error(int number)
{
	if (touching)
		siglongjmp(before, number);
	_exit(3);
}

/* Mostly like a packet, with one thing wrong at times. */
static void any_packet(struct thrower *thrower, uint64_t *to)
{
	static const uint16_t sizes[] = {8, 32, 48, 48, 16, 16, 16, 64};
	struct fakegpu_packet head = {.op = (uint16_t)any(thrower, 8)};

	head.size = any(thrower, 9) ? sizes[head.op] : (uint16_t)any(thrower, 65536);
	head.flags = !any(thrower, 50);
	for (int i = 0; i < 6; i++)
		to[i] = any(thrower, 4) ? any(thrower, 5) : any(thrower, 1 << 20) * 4;
	if (head.op == FAKEGPU_OP_DELAY)
		to[1] = any(thrower, 100000);
	memcpy(to, &head, sizeof(head));
}

/* Arguments that get past the checks about as often as not. */
static void any_argument(struct thrower *thrower, unsigned long command)
{
	uint32_t *words = (uint32_t *)thrower->arg;

	for (int i = 0; i < 16; i++)
		words[i] = any(thrower, 3) ? any(thrower, 7) : 0;
	if (!any(thrower, 16))
		words[any(thrower, 16)] = any(thrower, UINT32_MAX);
	if (command == FAKEGPU_IOC_ALLOC)
		thrower->arg[0] = any(thrower, 20) ? any(thrower, 1 << 18) : thrower->arg[1] << 32;
	if (command == FAKEGPU_IOC_CHANNEL_CREATE)
		words[1] = words[0] & 1 ? 4096U << any(thrower, 5) : 0;
	if (command == FAKEGPU_IOC_WAIT)
		thrower->arg[2] = any(thrower, 2) ? 0 : now_ns() + any(thrower, 200000);
	if (command == FAKEGPU_IOC_SUBMIT) {
		for (int i = 0; i < 8; i++)
			any_packet(thrower, &thrower->packets[i * 6]);
		thrower->arg[1] = any(thrower, 20) ? (uintptr_t)thrower->packets : 64;
		words[4] = any(thrower, 20) ? any(thrower, 48) * 8 : any(thrower, UINT32_MAX);
		words[1] = words[5] = 0;
	}
	if (command == FAKEGPU_IOC_FENCE_EVENTFD) {
		words[1] = words[5] = 0;
		words[4] = (uint32_t)(any(thrower, 9) ? thrower->eventfd : (int)any(thrower, 64));
	}
	if (command == FAKEGPU_IOC_MAP)
		words[2] = words[3] = 0;
}

/* Good memory, most of the time; else none, a page that can't be written, or a device's own. */
static void *any_place(struct thrower *thrower)
{
	static const char constant[256];
	uint32_t n = any(thrower, 40), map = any(thrower, MAPS);

	if (n == 0)
		return NULL;
	if (n == 1)
		return (void *)constant;
	if (n == 2)
		return (void *)(uintptr_t)any(thrower, UINT32_MAX);
	if (n == 3 && thrower->maps[map].at)
		return thrower->maps[map].at;
	return thrower->arg;
}

static void throw_ioctl(struct thrower *thrower)
{
	unsigned long command = commands[any(thrower, COMMANDS)];
	int ret;

	any_argument(thrower, command);
	if (!any(thrower, 30))
		command ^= 1UL << any(thrower, 32);
	ret = ioctl(contexts[any(thrower, CONTEXTS)], command, any_place(thrower));
	__atomic_fetch_add(&answers[ret ? errno : 0], 1, __ATOMIC_RELAXED);
}

static void throw_map(struct thrower *thrower)
{
	static const uint64_t offsets[] = {FAKEGPU_OFF_DOORBELL,   FAKEGPU_OFF_FENCE,
					   FAKEGPU_OFF_COMPLETION, FAKEGPU_OFF_RING,
					   FAKEGPU_OFF_BUFFER,	   FAKEGPU_OFF_END};
	uint32_t n = any(thrower, MAPS), what = any(thrower, 6);
	int shared = any(thrower, 8) ? MAP_SHARED : MAP_PRIVATE;
	size_t size = 4096UL << any(thrower, 6);
	void *at;

	if (thrower->maps[n].at)
		munmap(thrower->maps[n].at, thrower->maps[n].size);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, shared, contexts[any(thrower, CONTEXTS)],
		  (off_t)(offsets[what] + any(thrower, 4) * 4096ULL * (what > 2)));
	thrower->maps[n].at = at == MAP_FAILED ? NULL : at;
	thrower->maps[n].size = size;
	thrower->maps[n].what = what;
}

/* Into a ring packets, into a doorbell page a wptr that may be right. */
static void throw_store(struct thrower *thrower)
{
	uint32_t n = any(thrower, MAPS);
	volatile uint32_t *words = thrower->maps[n].at;
	uint64_t packet[6];
	uint32_t at;

	if (!words || sigsetjmp(before, 1))
		goto out;
	touching = true;
	if (thrower->maps[n].what == 0) {
		words[any(thrower, 4) * 16] += any(thrower, 9) ? 16 * any(thrower, 4) : 4;
	} else {
		any_packet(thrower, packet);
		at = any(thrower, (uint32_t)thrower->maps[n].size / 64) * 16;
		for (int i = 0; i < 12; i++)
			words[at + (uint32_t)i] = ((uint32_t *)packet)[i];
	}
out:
	touching = false;
}

/* A poisoned context answers little, so none grows old. */
static void throw_open(struct thrower *thrower)
{
	static const char *const nodes[] = {"/dev/fakegpu0", "/dev/fakegpu0", "/dev/fakegpu0",
					    "/dev/fakegpuctl", "/dev/fakegpu-uvm"};
	int fd = open(nodes[any(thrower, 5)], O_RDWR);

	if (fd < 0)
		return;
	dup2(fd, contexts[any(thrower, CONTEXTS)]);
	close(fd);
}

static void *throw_all(void *data)
{
	struct thrower *thrower = data;
	uint32_t n;

	while (__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) < calls && now_ns() < end_ns) {
		throw_ioctl(thrower);
		n = any(thrower, 256);
		if (n < 6)
			throw_map(thrower);
		else if (n < 80)
			throw_store(thrower);
		else if (n == 80)
			throw_open(thrower);
	}
	return NULL;
}

/* After all that, somebody who behaves gets what is due. */
static void behave(void)
{
	struct rig rig;

	rig_open(&rig);
	rig_launch(&rig);
	rig_await(&rig);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {{"calls", 1, NULL, 'c'},
						{"seconds", 1, NULL, 's'},
						{"threads", 1, NULL, 't'},
						{"seed", 1, NULL, 'x'},
						{0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == 'c')
			calls = atol(optarg);
		else if (option == 's')
			seconds = atol(optarg);
		else if (option == 't')
			threads = atol(optarg);
		else if (option == 'x')
			seed = strtoul(optarg, NULL, 0);
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_bus_error};
	struct thrower *throwers;

	parse(argc, argv);
	throwers = calloc((size_t)threads, sizeof(*throwers));
	end_ns = now_ns() + (uint64_t)seconds * 1000 * MS;
	sigaction(SIGBUS, &action, NULL);
	for (int i = 0; i < CONTEXTS; i++)
		CHECK((contexts[i] = open(NODE, O_RDWR)) >= 0);
	for (long i = 0; i < threads; i++) {
		throwers[i].eventfd = eventfd(0, EFD_CLOEXEC);
		throwers[i].state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15ULL + 1;
		CHECK(!pthread_create(&throwers[i].thread, NULL, throw_all, &throwers[i]));
	}
	for (long i = 0; i < threads; i++)
		pthread_join(throwers[i].thread, NULL);
	behave();
	printf("%ld calls, seed %lu:", made < calls ? made : calls, seed);
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (answers[i])
			printf(" %s %ld", i ? strerrorname_np((int)i) : "ok", answers[i]);
	putchar('\n');
	return 0;
}
