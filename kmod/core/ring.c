// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Command rings: doorbells seen, packets fetched. Everything read here was
 * written by a program and may change while it is looked at, so each word is
 * loaded once into memory of our own and judged there.
 */
#include "internal.h"

static struct fgpu_mark *mark_at(struct fgpu_channel *channel, uint32_t i)
{
	return &channel->marks[(channel->mark_first + i) % FGPU_MARKS];
}

/* Forget the marks that the engine has passed, but not the newest. */
static void prune_marks(struct fgpu_channel *channel)
{
	while (channel->mark_count > 1 &&
	       (int32_t)(mark_at(channel, 0)->wptr - channel->rptr) <= 0) {
		channel->mark_first = (channel->mark_first + 1) % FGPU_MARKS;
		channel->mark_count--;
	}
}

/* With all marks in use the newest grows: some jobs then seem to be queued earlier. */
static void add_mark(struct fgpu_channel *channel, uint64_t now)
{
	prune_marks(channel);
	if (channel->mark_count < FGPU_MARKS)
		mark_at(channel, channel->mark_count++)->ns = now;
	mark_at(channel, channel->mark_count - 1)->wptr = channel->wptr;
}

/* When the doorbell was seen that covers the packet at rptr. */
uint64_t fgpu_ring_queued_ns(struct fgpu_channel *channel)
{
	prune_marks(channel);
	return mark_at(channel, 0)->ns;
}

/* Returns false when the context did not survive it. */
static bool doorbell(struct fgpu_channel *channel, uint32_t value)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_device *device = context->device;
	uint32_t room = channel->ring_size - (channel->wptr - channel->rptr);

	channel->doorbell_value = value;
	if (device->fault_count && fgpu_fault_doorbell(channel))
		return true;
	channel->doorbells_seen++;
	context->doorbells_seen++;
	fgpu_store(&channel->slot->doorbells, channel->doorbells_seen);
	fgpu_event(device, FGPU_EVENT_DOORBELL, channel, value, 0);

	/* One test for both: too far ahead, and back behind what it said before. */
	if (value - channel->wptr > room || value % 8) {
		fgpu_trouble(channel, FGPU_XID_PUSH_BUFFER,
			     "Corrupted push buffer: bad wptr 0x%08x, was 0x%08x, rptr 0x%08x",
			     value, channel->wptr, channel->rptr);
		fgpu_context_poison(context, channel);
		return false;
	}
	channel->wptr = value;
	add_mark(channel, device->now);
	fgpu_engine_wake(channel);
	return true;
}

void fgpu_ring_scan(struct fgpu_device *device)
{
	struct fgpu_list *at;
	struct fgpu_channel *channel;
	uint32_t value;

restart:
	fgpu_list_for_each(at, &device->rings)
	{
		channel = fgpu_entry(at, struct fgpu_channel, ring_link);
		value = fgpu_load_acquire(&channel->doorbell->wptr);
		if (fgpu_likely(value == channel->doorbell_value))
			continue;
		/* A poisoned context's channels have left the list we walk. */
		if (!doorbell(channel, value))
			goto restart;
	}
}

static enum fgpu_result corrupted(struct fgpu_channel *channel, const char *why)
{
	return fgpu_trouble(channel, FGPU_XID_PUSH_BUFFER,
			    "Corrupted push buffer: %s, op %u size %u at rptr 0x%08x", why,
			    channel->packet.head.op, channel->packet.head.size, channel->rptr);
}

enum fgpu_result fgpu_ring_fetch(struct fgpu_channel *channel)
{
	uint32_t position = channel->rptr & (channel->ring_size - 1);
	uint32_t available = channel->wptr - channel->rptr;
	const uint64_t *from = channel->ring + position / 8;
	struct fakegpu_packet *head = &channel->packet.head;
	enum fgpu_result result;
	const char *why;
	uint32_t i;

	if (!available)
		return FGPU_IDLE;
	channel->packet.words[0] = fgpu_load(&from[0]);
	if (!channel->job.active && head->op != FAKEGPU_OP_NOP) {
		result = fgpu_job_begin(channel);
		if (result != FGPU_DONE)
			return result;
	}
	why = fgpu_packet_head_error(head);
	if (why)
		return corrupted(channel, why);
	if (head->size > available)
		return corrupted(channel, "behind wptr");
	if (head->size > channel->ring_size - position)
		return corrupted(channel, "across the end of the ring");
	if (head->op != FAKEGPU_OP_NOP)
		for (i = 1; i < head->size / 8u; i++)
			channel->packet.words[i] = fgpu_load(&from[i]);
	why = fgpu_packet_error(&channel->packet);
	if (why)
		return corrupted(channel, why);
	return FGPU_DONE;
}

/* The packet has run: its room in the ring is the program's again. */
void fgpu_ring_advance(struct fgpu_channel *channel)
{
	channel->rptr += channel->packet.head.size;
	channel->loaded = false;
	fgpu_store_release(&channel->slot->rptr, channel->rptr);
}
