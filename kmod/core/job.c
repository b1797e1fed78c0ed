// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Jobs: where each begins and ends, which is also where injected faults act.
 */
#include "internal.h"

/*
 * A ring's job has told its seqno only when its FENCE is reached; until then
 * it goes by the one that should come next.
 */
enum fgpu_result fgpu_job_begin(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_device *device = context->device;
	struct fgpu_job *job = &channel->job;
	const struct fgpu_submission *submission;

	memset(job, 0, sizeof(*job));
	job->active = true;
	job->start_ns = device->now;
	if (channel->ring) {
		job->seqno = channel->timeline + 1;
		job->queued_ns = fgpu_ring_queued_ns(channel);
		context->submits++;
	} else {
		submission = fgpu_submit_first(channel);
		job->seqno = submission->seqno;
		job->queued_ns = submission->queued_ns;
	}
	fgpu_event(device, FGPU_EVENT_JOB_START, channel, job->seqno, 0);
	return device->fault_count ? fgpu_fault_job(channel) : FGPU_DONE;
}

/* Room is given back before the fence tells: who sees the fence finds the room. */
enum fgpu_result fgpu_job_end(struct fgpu_channel *channel)
{
	struct fgpu_job *job = &channel->job;

	if (job->slow_ns) {
		channel->delay_left = job->slow_ns;
		job->slow_ns = 0;
		return FGPU_HELD;
	}
	if (channel->ring)
		fgpu_ring_advance(channel);
	else
		fgpu_submit_pop(channel);
	fgpu_fence_complete(channel, 0);
	return FGPU_DONE;
}
