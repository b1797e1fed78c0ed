// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine thread: steps all devices. Doorbells are plain memory, so while
 * a ring exists it must look again and again: at once after work, then ever
 * less often. Without rings and work it sleeps until it is kicked.
 */
#define _GNU_SOURCE
#include "user.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define US 1000ULL
#define MS 1000000ULL

/* How long to sleep between looks, by how long nothing has happened. */
static const struct {
	uint64_t quiet;
	uint64_t pause;
} pauses[] = {{50 * US, 0}, {20 * MS, 100 * US}, {1000 * MS, 500 * US}, {UINT64_MAX, 2 * MS}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t kicked;
static bool kick;
static int wake;
static bool watched; /* somebody waits for a fence */
static bool moved;   /* since the last step: a doorbell or a job */
static int callers;  /* that wait for a device's lock */

void engine_kick(void)
{
	pthread_mutex_lock(&lock);
	kick = true;
	pthread_cond_signal(&kicked);
	pthread_mutex_unlock(&lock);
}

void engine_watch(bool on)
{
	__atomic_store_n(&watched, on, __ATOMIC_RELEASE);
}

void engine_moved(void)
{
	__atomic_store_n(&moved, true, __ATOMIC_RELAXED);
}

void engine_give_way(int change)
{
	__atomic_fetch_add(&callers, change, __ATOMIC_RELAXED);
}

static void tell(void)
{
	uint64_t one = 1;

	if (__atomic_load_n(&watched, __ATOMIC_ACQUIRE))
		(void)!write(wake, &one, sizeof(one));
}

static uint64_t pause_after(uint64_t quiet)
{
	size_t i = 0;

	while (quiet >= pauses[i].quiet)
		i++;
	return pauses[i].pause;
}

/* Sleeps until `until` at most; a kick ends it. */
static void rest(uint64_t until)
{
	struct timespec time = {.tv_sec = (time_t)(until / 1000000000ULL),
				.tv_nsec = (long)(until % 1000000000ULL)};

	pthread_mutex_lock(&lock);
	while (!kick) {
		if (until == UINT64_MAX)
			pthread_cond_wait(&kicked, &lock);
		else if (pthread_cond_timedwait(&kicked, &lock, &time))
			break;
	}
	kick = false;
	pthread_mutex_unlock(&lock);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void *engine(void *unused)
{
	uint64_t now, next, last = now_ns(), pause;
	bool polls;
	unsigned int i;

	prctl(PR_SET_NAME, "engine");
	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		next = UINT64_MAX;
		polls = false;
		for (i = 0; i < options.devices; i++) {
			uint64_t at = fgpu_engine_step(devices[i]);

			next = at < next ? at : next;
			polls = polls || fgpu_engine_polls(devices[i]);
		}
		if (__atomic_exchange_n(&moved, false, __ATOMIC_RELAXED)) {
			last = now_ns();
			tell();
		}
		while (__atomic_load_n(&callers, __ATOMIC_RELAXED))
			sched_yield();
		if (!next)
			continue;
		now = now_ns();
		pause = polls ? pause_after(now - last) : UINT64_MAX;
		if (!pause) {
			relax();
			continue;
		}
		if (pause != UINT64_MAX && now + pause < next)
			next = now + pause;
		rest(next);
	}
	return unused;
}

bool engine_start(int wake_fd)
{
	pthread_condattr_t attributes;
	pthread_t thread;

	wake = wake_fd;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&kicked, &attributes);
	return !pthread_create(&thread, NULL, engine, NULL);
}
