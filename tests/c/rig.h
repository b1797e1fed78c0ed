/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A device with programs on it, as short to write as the tests need: opens,
 * calls made the way a driver makes them, packets into rings, steps.
 */
#ifndef RIG_H
#define RIG_H

#include "harness.h"
#include "port_test.h"

#define MIB (1024ULL * 1024)
#define VRAM (8 * MIB)
#define QUOTA (4 * MIB)
#define VERSION "550.54.14"
#define PID 4242

/* One open file. */
struct program {
	struct fgpu_context *context;
	struct fake_backing backing;
};

/* A channel with a ring, seen from the program. */
struct ring {
	struct program *program;
	uint32_t handle;
	uint32_t index;
	uint32_t size;
	uint32_t wptr;
	uint8_t *memory;
	struct fakegpu_doorbell_slot *doorbell;
	const struct fakegpu_fence_slot *slot;
};

struct fgpu_device *device_new(uint32_t index, uint32_t count);
int program_open(struct fgpu_device *device, enum fgpu_node node, struct program *program);
struct program *gpu_open(struct fgpu_device *device);
void program_close(struct program *program); /* checks that nothing is left */

/* As a driver does it: size, payload, then the call. */
int call(struct program *program, unsigned int command, void *arg);

uint32_t buffer_new(struct program *program, uint64_t size);
void *buffer_memory(struct program *program, uint32_t handle);
uint32_t channel_new(struct program *program); /* by SUBMIT */
int submit(struct program *program, uint32_t channel, const void *packets, uint32_t length,
	   __u64 *seqno);
int wait_for(struct program *program, uint32_t channel, uint64_t seqno, uint64_t deadline_ns);
struct fakegpu_ctx_info ctx_info(struct program *program);
const struct fakegpu_fence_slot *fence_slot(struct program *program, uint32_t index);
const struct fakegpu_completion *completion(struct program *program, uint64_t n);
uint64_t completions(struct program *program);

struct ring ring_new(struct program *program, uint32_t size);
void ring_put(struct ring *ring, const void *packet); /* pads before the end */
void ring_put_raw(struct ring *ring, const void *bytes, uint32_t length);
void ring_fence(struct ring *ring, uint64_t seqno);
void ring_fill(struct ring *ring, uint32_t handle, uint32_t value, uint64_t offset,
	       uint64_t length);
void ring_delay(struct ring *ring, uint64_t ns);
void ring_bell(struct ring *ring);

/* Step until nothing is left to do; the clock jumps to where the engine waits. */
void settle(struct fgpu_device *device);
/* Step, with such jumps, while the clock is before `until`. */
void run_until(struct fgpu_device *device, uint64_t until);

struct fakegpu_packet_fill fill_packet(uint32_t handle, uint32_t value, uint64_t offset,
				       uint64_t length);
struct fakegpu_packet_copy copy_packet(uint32_t src, uint64_t src_offset, uint32_t dst,
				       uint64_t dst_offset, uint64_t length);
struct fakegpu_packet_vecadd vecadd_packet(uint32_t a, uint32_t b, uint32_t c, uint32_t count);
struct fakegpu_packet_delay delay_packet(uint64_t ns);
struct fakegpu_packet_fence fence_packet(uint64_t seqno);
struct fakegpu_packet_fault fault_packet(uint32_t xid);

#endif
