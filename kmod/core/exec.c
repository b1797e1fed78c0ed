// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Running a packet, a chunk at a time so that the lock is never held long.
 * Between two chunks a program may free the buffers, so each chunk looks them
 * up again. Costs are taken off the step's budget in about nanoseconds.
 */
#include "internal.h"

#define PACKET_COST 100
#define BYTES_PER_COST 8
#define VECADD_COST 8

enum access { ACCESS_READ, ACCESS_WRITE };

static void mmu_fault(struct fgpu_channel *channel, uint64_t address, bool present,
		      enum access access)
{
	fgpu_trouble(channel, FGPU_XID_MMU,
		     "MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_0 faulted @ 0x%x_%08x. "
		     "Fault is of type %s ACCESS_TYPE_VIRT_%s",
		     (uint32_t)(address >> 32), (uint32_t)address,
		     present ? "FAULT_PTE" : "FAULT_PDE", access == ACCESS_READ ? "READ" : "WRITE");
}

/* The bytes a packet names, or NULL after an MMU fault. Pages are what counts, as to any MMU. */
static uint8_t *resolve(struct fgpu_channel *channel, uint32_t handle, uint64_t offset,
			uint64_t length, enum access access)
{
	struct fgpu_buffer *buffer = fgpu_buffer_get(channel->context, handle);

	if (!buffer) {
		mmu_fault(channel, offset, false, access);
		return NULL;
	}
	if (offset > buffer->size || length > buffer->size - offset) {
		if (offset < buffer->size)
			offset = buffer->size; /* the first byte that is not there */
		mmu_fault(channel, buffer->offset + offset, true, access);
		return NULL;
	}
	return buffer->memory + offset;
}

/* `count` more were done out of `total`: the packet's progress, and whether it is over. */
static enum fgpu_result progress(struct fgpu_channel *channel, uint64_t count, uint64_t total)
{
	channel->progress += count;
	return channel->progress == total ? FGPU_DONE : FGPU_AGAIN;
}

static uint64_t next_chunk(const struct fgpu_channel *channel, uint64_t total, uint64_t most)
{
	uint64_t left = total - channel->progress;

	return left < most ? left : most;
}

static enum fgpu_result exec_fill(struct fgpu_channel *channel, int64_t *budget)
{
	const struct fakegpu_packet_fill *fill = &channel->packet.fill;
	uint8_t *memory = resolve(channel, fill->handle, fill->offset, fill->length, ACCESS_WRITE);
	uint64_t chunk = next_chunk(channel, fill->length, FGPU_CHUNK);
	uint32_t value = fill->value;
	uint32_t *to;
	uint64_t i;

	if (!memory)
		return FGPU_TROUBLE;
	to = (uint32_t *)(memory + channel->progress);
	for (i = 0; i < chunk / 4; i++)
		to[i] = value;
	channel->job.bytes += chunk;
	*budget -= (int64_t)(chunk / BYTES_PER_COST);
	return progress(channel, chunk, fill->length);
}

/* Overlapping ranges are copied from the end that does not eat what is still to be read. */
static enum fgpu_result exec_copy(struct fgpu_channel *channel, int64_t *budget)
{
	const struct fakegpu_packet_copy *copy = &channel->packet.copy;
	uint64_t chunk = next_chunk(channel, copy->length, FGPU_CHUNK);
	uint64_t at = channel->progress;
	const uint8_t *from;
	uint8_t *to;

	from = resolve(channel, copy->src, copy->src_offset, copy->length, ACCESS_READ);
	if (!from)
		return FGPU_TROUBLE;
	to = resolve(channel, copy->dst, copy->dst_offset, copy->length, ACCESS_WRITE);
	if (!to)
		return FGPU_TROUBLE;
	if (copy->src == copy->dst && copy->dst_offset > copy->src_offset)
		at = copy->length - channel->progress - chunk;
	memmove(to + at, from + at, chunk);
	channel->job.bytes += chunk;
	*budget -= (int64_t)(chunk / BYTES_PER_COST);
	return progress(channel, chunk, copy->length);
}

static enum fgpu_result exec_vecadd(struct fgpu_channel *channel, int64_t *budget)
{
	const struct fakegpu_packet_vecadd *add = &channel->packet.vecadd;
	uint64_t chunk = next_chunk(channel, add->count, FGPU_VECADD_CHUNK);
	uint64_t length = (uint64_t)add->count * 4;
	uint64_t at = channel->progress * 4;
	const uint8_t *a, *b;
	uint8_t *c;
	uint64_t i;

	a = resolve(channel, add->a, add->a_offset, length, ACCESS_READ);
	if (!a)
		return FGPU_TROUBLE;
	b = resolve(channel, add->b, add->b_offset, length, ACCESS_READ);
	if (!b)
		return FGPU_TROUBLE;
	c = resolve(channel, add->c, add->c_offset, length, ACCESS_WRITE);
	if (!c)
		return FGPU_TROUBLE;
	for (i = at; i < at + chunk * 4; i += 4)
		*(uint32_t *)(c + i) =
			fgpu_float32_add(*(const uint32_t *)(a + i), *(const uint32_t *)(b + i));
	channel->job.bytes += chunk * 4;
	*budget -= (int64_t)(chunk * VECADD_COST);
	return progress(channel, chunk, add->count);
}

static enum fgpu_result exec_delay(struct fgpu_channel *channel)
{
	if (channel->progress)
		return FGPU_DONE;
	channel->progress = 1;
	channel->delay_left = channel->packet.delay.ns;
	return channel->delay_left ? FGPU_HELD : FGPU_DONE;
}

static enum fgpu_result exec_fence(struct fgpu_channel *channel)
{
	uint64_t seqno = channel->packet.fence.seqno;

	if (seqno <= channel->timeline)
		return fgpu_trouble(channel, FGPU_XID_PUSH_BUFFER,
				    "Corrupted push buffer: fence " FGPU_U64 " after " FGPU_U64,
				    (fgpu_print_t)seqno, (fgpu_print_t)channel->timeline);
	channel->job.seqno = seqno;
	return FGPU_JOB_END;
}

static enum fgpu_result exec_fault(struct fgpu_channel *channel)
{
	uint32_t xid = channel->packet.fault.xid;

	return fgpu_trouble(channel, xid, "%s", fgpu_xid_text(xid));
}

enum fgpu_result fgpu_exec(struct fgpu_channel *channel, int64_t *budget)
{
	*budget -= PACKET_COST;
	switch (channel->packet.head.op) {
	case FAKEGPU_OP_FILL:
		return exec_fill(channel, budget);
	case FAKEGPU_OP_COPY:
		return exec_copy(channel, budget);
	case FAKEGPU_OP_VECADD:
		return exec_vecadd(channel, budget);
	case FAKEGPU_OP_DELAY:
		return exec_delay(channel);
	case FAKEGPU_OP_FENCE:
		return exec_fence(channel);
	case FAKEGPU_OP_FAULT:
		return exec_fault(channel);
	default:
		return FGPU_DONE; /* NOP */
	}
}
