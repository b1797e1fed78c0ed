// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fence slots and the completion ring: all that the device tells a program.
 * These pages are written, never read back.
 */
#include "internal.h"

#define ENTRIES (FAKEGPU_COMPLETION_SIZE / FAKEGPU_SLOT - 1)

static void add_completion(struct fgpu_channel *channel, uint32_t status, uint64_t now)
{
	struct fgpu_context *context = channel->context;
	const struct fgpu_job *job = &channel->job;
	struct fakegpu_completion *entry;

	entry = (struct fakegpu_completion *)(context->completions + 1) +
		context->written % ENTRIES;
	*entry = (struct fakegpu_completion){
		.seqno = job->seqno,
		.queued_ns = job->queued_ns,
		.start_ns = job->start_ns,
		.done_ns = now,
		.channel = channel->index,
		.status = status,
		.bytes = job->bytes,
	};
	context->written++;
	fgpu_store_release(&context->completions->written, context->written);
}

/* The channel's job has ended: well, or with the Xid `status`. */
void fgpu_fence_complete(struct fgpu_channel *channel, uint32_t status)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_device *device = context->device;
	struct fgpu_job *job = &channel->job;

	device->now = fgpu_port_now();
	channel->jobs++;
	context->jobs_done++;
	device->jobs_done++;
	if (!status)
		channel->timeline = job->seqno;
	add_completion(channel, status, device->now);
	fgpu_store(&channel->slot->jobs, channel->jobs);
	fgpu_store(&channel->slot->done_ns, device->now);
	if (!status && !job->no_fence) {
		channel->signalled = channel->timeline;
		fgpu_store_release(&channel->slot->seqno, channel->signalled);
		fgpu_event(device, FGPU_EVENT_FENCE, channel, channel->signalled, 0);
		fgpu_eventfd_signal(channel, channel->signalled);
	}
	job->active = false;
	fgpu_event(device, FGPU_EVENT_JOB_DONE, channel, job->seqno, status);
}

void fgpu_fence_error(struct fgpu_channel *channel, uint32_t xid)
{
	fgpu_store_release(&channel->slot->error, xid);
}
