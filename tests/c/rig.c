// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <stdlib.h>

#include "rig.h"

#define HEAD(packet, op_) .head = {.op = (op_), .size = (uint16_t)sizeof(struct packet)}

struct fgpu_device *device_new(uint32_t index, uint32_t count)
{
	struct fgpu_config config = {
		.index = index,
		.count = count,
		.vram = VRAM,
		.quota = QUOTA,
		.version = VERSION,
	};

	port_reset();
	return fgpu_device_create(&config, NULL);
}

int program_open(struct fgpu_device *device, enum fgpu_node node, struct program *program)
{
	return fgpu_context_open(device, node, PID, "app", &program->backing, &program->context);
}

struct program *gpu_open(struct fgpu_device *device)
{
	struct program *program = calloc(1, sizeof(*program));
	int error = program_open(device, FGPU_NODE_GPU, program);

	if (error)
		fail(__FILE__, __LINE__, "open: %d", error);
	return program;
}

void program_close(struct program *program)
{
	fgpu_context_close(program->context);
	backing_destroy(&program->backing);
	free(program);
}

int call(struct program *program, unsigned int command, void *arg)
{
	uint64_t pointer = 0;
	int size = fgpu_ioctl_size(command);
	int payload;

	if (size < 0)
		return size;
	payload = fgpu_ioctl_payload(command, arg, &pointer);
	if (payload < 0)
		return payload;
	return fgpu_ioctl(program->context, command, arg, (void *)(uintptr_t)pointer);
}

uint32_t buffer_new(struct program *program, uint64_t size)
{
	struct fakegpu_alloc alloc = {.size = size};
	int error = call(program, FAKEGPU_IOC_ALLOC, &alloc);

	if (error)
		fail(__FILE__, __LINE__, "ALLOC of %llu: %d", (unsigned long long)size, error);
	return alloc.handle;
}

void *buffer_memory(struct program *program, uint32_t handle)
{
	struct fakegpu_map map = {.what = FAKEGPU_MAP_BUFFER, .handle = handle};

	if (call(program, FAKEGPU_IOC_MAP, &map))
		fail(__FILE__, __LINE__, "MAP of buffer %u", handle);
	return backing_at(&program->backing, map.offset);
}

uint32_t channel_new(struct program *program)
{
	struct fakegpu_channel_create create = {0};
	int error = call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create);

	if (error)
		fail(__FILE__, __LINE__, "CHANNEL_CREATE: %d", error);
	return create.handle;
}

int submit(struct program *program, uint32_t channel, const void *packets, uint32_t length,
	   __u64 *seqno)
{
	struct fakegpu_submit arg = {
		.channel = channel,
		.packets = (uintptr_t)packets,
		.length = length,
	};
	int error = call(program, FAKEGPU_IOC_SUBMIT, &arg);

	if (seqno)
		*seqno = arg.seqno;
	return error;
}

int wait_for(struct program *program, uint32_t channel, uint64_t seqno, uint64_t deadline_ns)
{
	struct fakegpu_wait wait = {
		.channel = channel,
		.seqno = seqno,
		.deadline_ns = deadline_ns,
	};

	return call(program, FAKEGPU_IOC_WAIT, &wait);
}

struct fakegpu_ctx_info ctx_info(struct program *program)
{
	struct fakegpu_ctx_info info = {0};

	if (call(program, FAKEGPU_IOC_CTX_INFO, &info))
		fail(__FILE__, __LINE__, "CTX_INFO");
	return info;
}

const struct fakegpu_fence_slot *fence_slot(struct program *program, uint32_t index)
{
	return (struct fakegpu_fence_slot *)backing_at(&program->backing, FAKEGPU_OFF_FENCE) +
	       index;
}

static const struct fakegpu_completion_head *completion_head(struct program *program)
{
	return backing_at(&program->backing, FAKEGPU_OFF_COMPLETION);
}

uint64_t completions(struct program *program)
{
	return completion_head(program)->written;
}

const struct fakegpu_completion *completion(struct program *program, uint64_t n)
{
	const struct fakegpu_completion_head *head = completion_head(program);

	return (const struct fakegpu_completion *)(head + 1) + n % head->entries;
}

struct ring ring_new(struct program *program, uint32_t size)
{
	struct fakegpu_channel_create create = {.flags = FAKEGPU_CHANNEL_RING, .ring_size = size};
	struct fakegpu_map map = {.what = FAKEGPU_MAP_RING};
	struct ring ring = {.program = program, .size = size};

	if (call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create))
		fail(__FILE__, __LINE__, "CHANNEL_CREATE with a ring");
	ring.handle = map.handle = create.handle;
	ring.index = create.index;
	if (call(program, FAKEGPU_IOC_MAP, &map) || map.length != size)
		fail(__FILE__, __LINE__, "MAP of a ring");
	ring.memory = backing_at(&program->backing, map.offset);
	ring.doorbell = (struct fakegpu_doorbell_slot *)backing_at(&program->backing,
								   FAKEGPU_OFF_DOORBELL) +
			ring.index;
	ring.slot = fence_slot(program, ring.index);
	return ring;
}

void ring_put_raw(struct ring *ring, const void *bytes, uint32_t length)
{
	uint32_t at = ring->wptr % ring->size;

	if (length > ring->size - at) {
		fail(__FILE__, __LINE__, "the test writes across the ring's end");
		return;
	}
	memcpy(ring->memory + at, bytes, length);
	ring->wptr += length;
}

void ring_put(struct ring *ring, const void *packet)
{
	const struct fakegpu_packet *head = packet;
	uint32_t rest = ring->size - ring->wptr % ring->size;
	struct fakegpu_packet pad = {.op = FAKEGPU_OP_NOP, .size = (uint16_t)rest};

	if (rest < head->size) {
		memcpy(ring->memory + ring->wptr % ring->size, &pad, sizeof(pad));
		ring->wptr += rest;
	}
	ring_put_raw(ring, packet, head->size);
}

void ring_fence(struct ring *ring, uint64_t seqno)
{
	struct fakegpu_packet_fence packet = fence_packet(seqno);

	ring_put(ring, &packet);
}

void ring_fill(struct ring *ring, uint32_t handle, uint32_t value, uint64_t offset, uint64_t length)
{
	struct fakegpu_packet_fill packet = fill_packet(handle, value, offset, length);

	ring_put(ring, &packet);
}

void ring_delay(struct ring *ring, uint64_t ns)
{
	struct fakegpu_packet_delay packet = delay_packet(ns);

	ring_put(ring, &packet);
}

void ring_bell(struct ring *ring)
{
	fgpu_store_release(&ring->doorbell->wptr, ring->wptr);
}

void settle(struct fgpu_device *device)
{
	int patience = 1000000;
	uint64_t wake;

	while (patience--) {
		wake = fgpu_engine_step(device);
		if (wake == UINT64_MAX)
			return;
		if (wake > fake_now)
			fake_now = wake;
	}
	fail(__FILE__, __LINE__, "the engine does not come to rest");
}

void run_until(struct fgpu_device *device, uint64_t until)
{
	uint64_t wake;

	while (fake_now < until) {
		wake = fgpu_engine_step(device);
		if (wake > until)
			wake = until;
		if (wake > fake_now)
			fake_now = wake;
	}
}

struct fakegpu_packet_fill fill_packet(uint32_t handle, uint32_t value, uint64_t offset,
				       uint64_t length)
{
	return (struct fakegpu_packet_fill){
		HEAD(fakegpu_packet_fill, FAKEGPU_OP_FILL),
		.handle = handle,
		.value = value,
		.offset = offset,
		.length = length,
	};
}

struct fakegpu_packet_copy copy_packet(uint32_t src, uint64_t src_offset, uint32_t dst,
				       uint64_t dst_offset, uint64_t length)
{
	return (struct fakegpu_packet_copy){
		HEAD(fakegpu_packet_copy, FAKEGPU_OP_COPY),
		.src = src,
		.dst = dst,
		.src_offset = src_offset,
		.dst_offset = dst_offset,
		.length = length,
	};
}

struct fakegpu_packet_vecadd vecadd_packet(uint32_t a, uint32_t b, uint32_t c, uint32_t count)
{
	return (struct fakegpu_packet_vecadd){
		HEAD(fakegpu_packet_vecadd, FAKEGPU_OP_VECADD),
		.a = a,
		.b = b,
		.c = c,
		.count = count,
	};
}

struct fakegpu_packet_delay delay_packet(uint64_t ns)
{
	return (struct fakegpu_packet_delay){
		HEAD(fakegpu_packet_delay, FAKEGPU_OP_DELAY),
		.ns = ns,
	};
}

struct fakegpu_packet_fence fence_packet(uint64_t seqno)
{
	return (struct fakegpu_packet_fence){
		HEAD(fakegpu_packet_fence, FAKEGPU_OP_FENCE),
		.seqno = seqno,
	};
}

struct fakegpu_packet_fault fault_packet(uint32_t xid)
{
	return (struct fakegpu_packet_fault){
		HEAD(fakegpu_packet_fault, FAKEGPU_OP_FAULT),
		.xid = xid,
	};
}
