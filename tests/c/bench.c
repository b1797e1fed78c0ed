// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Throughput of the core alone on one thread: jobs per second by ring and by
 * SUBMIT, bytes and additions per second. The real clock is read as a driver
 * would; the program's side (packets, doorbells) is part of the time.
 */
#include <stdlib.h>

#include "rig.h"

#define SECONDS 0.5

static struct fgpu_device *device;
static struct program *program;
static struct ring ring;
static uint32_t buffer;

void fail(const char *file, int line, const char *format, ...)
{
	(void)format;
	fprintf(stderr, "%s:%d\n", file, line);
	exit(1);
}

bool failed(void)
{
	return false;
}

static double now(void)
{
	return (double)fgpu_port_now() / 1e9;
}

static void report(const char *what, double amount, double seconds, const char *unit)
{
	printf("%-28s %8.2f %s\n", what, amount / seconds, unit);
}

/* Keeps the ring full of jobs: a FILL of `bytes`, if any, and a FENCE. */
static void by_ring(const char *what, uint64_t bytes)
{
	uint64_t seqno, first;
	double begin;

	while (fgpu_engine_step(device) != UINT64_MAX)
		; /* what the one before left */
	seqno = first = ring.slot->seqno;
	begin = now();
	do {
		while (ring.wptr - ring.slot->rptr < ring.size - 128) {
			if (bytes)
				ring_fill(&ring, buffer, 1, 0, bytes);
			ring_fence(&ring, ++seqno);
		}
		ring_bell(&ring);
		fgpu_engine_step(device);
	} while (now() - begin < SECONDS);
	report(what, (double)(ring.slot->seqno - first) / 1e6, now() - begin, "M jobs/s");
}

static void by_submit(void)
{
	struct fakegpu_packet_fill fill = fill_packet(buffer, 1, 0, 64);
	uint32_t channel = channel_new(program);
	double begin = now();
	__u64 seqno = 0;
	int i;

	do {
		for (i = 0; i < 64; i++)
			submit(program, channel, &fill, sizeof(fill), &seqno);
		while (fgpu_engine_step(device) != UINT64_MAX)
			;
	} while (now() - begin < SECONDS);
	report("SUBMIT FILL 64 B", (double)seqno / 1e6, now() - begin, "M jobs/s");
}

static void additions(void)
{
	const uint32_t count = 262144;
	struct fakegpu_packet_vecadd add = vecadd_packet(buffer, buffer, buffer, count);
	float *memory = buffer_memory(program, buffer);
	uint64_t seqno, first;
	double begin;
	uint32_t i;

	while (fgpu_engine_step(device) != UINT64_MAX)
		;
	seqno = first = ring.slot->seqno;
	add.b_offset = count * 4;
	add.c_offset = count * 8;
	for (i = 0; i < 2 * count; i++)
		memory[i] = (float)rand() / 1e4f;
	begin = now();
	do {
		ring_put(&ring, &add);
		ring_fence(&ring, ++seqno);
		ring_bell(&ring);
		while (ring.slot->seqno < seqno)
			fgpu_engine_step(device);
	} while (now() - begin < SECONDS);
	report("VECADD", (double)(seqno - first) * count / 1e6, now() - begin, "M additions/s");
}

static void idle_steps(uint32_t channels)
{
	double begin;
	long steps = 0;
	uint32_t i;

	for (i = 1; i < channels; i++)
		ring_new(program, 4096);
	begin = now();
	for (; steps % 1024 || now() - begin < SECONDS; steps++)
		fgpu_engine_step(device);
	printf("idle step, %2u rings           %8.1f ns\n", channels,
	       (now() - begin) * 1e9 / (double)steps);
}

int main(void)
{
	device = device_new(0, 1);
	real_clock = true;
	program = gpu_open(device);
	buffer = buffer_new(program, 4 * MIB);
	ring = ring_new(program, 65536);
	by_ring("ring FENCE", 0);
	by_ring("ring FILL 64 B + FENCE", 64);
	by_ring("ring FILL 4 KiB + FENCE", 4096);
	by_submit();
	additions();
	idle_steps(1);
	idle_steps(31);
	program_close(program);
	fgpu_device_destroy(device);
	return 0;
}
