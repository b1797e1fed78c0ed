// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Real threads on one device, for ThreadSanitizer: an engine, programs on
 * rings that check what was computed, one on SUBMIT and WAIT, one that opens,
 * works a little and closes, one that sets and clears harmless faults.
 * Exits 0 when every result was right.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "rig.h"

#define ROUNDS 3000
#define OPENS 150

static struct fgpu_device *device;
static bool stop;

void fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

bool failed(void)
{
	return false;
}

static void *engine(void *unused)
{
	(void)unused;
	while (!fgpu_load(&stop))
		if (fgpu_engine_step(device) || !fgpu_engine_polls(device))
			usleep(1); /* lets the others have the lock */
	return NULL;
}

static void wait_seqno(const struct ring *ring, uint64_t seqno)
{
	while (fgpu_load_acquire(&ring->slot->seqno) < seqno) {
		if (fgpu_load_acquire(&ring->slot->error))
			fail(__FILE__, __LINE__, "the context was poisoned");
		usleep(1);
	}
}

/* Jobs by doorbell; every 16th result is looked at. */
static void *by_ring(void *unused)
{
	struct program *program = gpu_open(device);
	struct ring ring = ring_new(program, 4096);
	uint32_t handle = buffer_new(program, 65536), n, *memory = buffer_memory(program, handle);

	(void)unused;
	for (n = 1; n <= ROUNDS; n++) {
		ring_fill(&ring, handle, n, 0, n % 2 ? 64 : 4096);
		ring_fence(&ring, n);
		ring_bell(&ring);
		if (n % 16)
			continue;
		wait_seqno(&ring, n);
		if (memory[0] != n || memory[15] != n)
			fail(__FILE__, __LINE__, "job %u did not do its work", n);
	}
	wait_seqno(&ring, ROUNDS);
	program_close(program);
	return NULL;
}

static void *by_submit(void *unused)
{
	struct program *program = gpu_open(device);
	uint32_t channel = channel_new(program), handle = buffer_new(program, 4096), n;
	uint32_t *memory = buffer_memory(program, handle);
	struct fakegpu_packet_fill fill;
	__u64 seqno;

	(void)unused;
	for (n = 1; n <= ROUNDS / 4; n++) {
		fill = fill_packet(handle, n, 0, 4096);
		if (submit(program, channel, &fill, sizeof(fill), &seqno) || seqno != n)
			fail(__FILE__, __LINE__, "SUBMIT %u", n);
		while (wait_for(program, channel, seqno, UINT64_MAX) == -EINPROGRESS)
			usleep(1);
		if (memory[1023] != n)
			fail(__FILE__, __LINE__, "job %u did not do its work", n);
	}
	program_close(program);
	return NULL;
}

/* Contexts that vanish in the middle of a job. */
static void *comes_and_goes(void *unused)
{
	struct program *program;
	struct ring ring;
	uint32_t handle, n;

	(void)unused;
	for (n = 0; n < OPENS; n++) {
		program = gpu_open(device);
		ring = ring_new(program, 4096);
		handle = buffer_new(program, MIB);
		ring_fill(&ring, handle, n, 0, MIB);
		ring_fence(&ring, 1);
		ring_bell(&ring);
		if (n % 2)
			wait_seqno(&ring, 1);
		program_close(program);
	}
	return NULL;
}

static void *faults(void *unused)
{
	char text[256];

	(void)unused;
	while (!fgpu_load(&stop)) {
		fgpu_fault_set(device, "slow=2000,count=3", text, sizeof(text));
		fgpu_fault_list(device, text, sizeof(text));
		usleep(1000);
		fgpu_fault_clear(device);
	}
	return NULL;
}

int main(void)
{
	void *(*const work[])(void *) = {by_ring, by_ring, by_submit, comes_and_goes};
	pthread_t workers[4], helpers[2];
	size_t i;

	device = device_new(0, 1);
	real_clock = true;
	pthread_create(&helpers[0], NULL, engine, NULL);
	pthread_create(&helpers[1], NULL, faults, NULL);
	for (i = 0; i < 4; i++)
		pthread_create(&workers[i], NULL, work[i], NULL);
	for (i = 0; i < 4; i++)
		pthread_join(workers[i], NULL);
	fgpu_store(&stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(helpers[i], NULL);
	fgpu_device_destroy(device);
	return 0;
}
