// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SUBMIT: jobs that come by ioctl. The packets are checked and copied when
 * they are accepted, so the engine need not doubt their form.
 */
#include "internal.h"

static int check_packets(const uint64_t *packets, uint32_t length)
{
	union fgpu_any_packet packet;
	uint32_t at, size;

	for (at = 0; at < length; at += size) {
		packet.words[0] = packets[at / 8];
		if (fgpu_packet_head_error(&packet.head) || packet.head.op == FAKEGPU_OP_FENCE)
			return -EINVAL;
		size = packet.head.size;
		if (size > length - at)
			return -EINVAL;
		if (packet.head.op == FAKEGPU_OP_NOP)
			continue;
		memcpy(&packet, &packets[at / 8], size);
		if (fgpu_packet_error(&packet))
			return -EINVAL;
	}
	return 0;
}

/* `length` is a multiple of 8. */
int fgpu_submit(struct fgpu_channel *channel, const void *packets, uint32_t length, uint64_t *seqno)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_submission *submission;
	int error;

	if (context->queued >= FGPU_QUEUE_MAX)
		return -EAGAIN;
	submission = fgpu_port_alloc(sizeof(*submission) + length);
	if (!submission)
		return -ENOMEM;
	memcpy(submission->packets, packets, length);
	error = check_packets(submission->packets, length);
	if (error) {
		fgpu_port_free(submission);
		return error;
	}
	submission->length = length;
	submission->queued_ns = fgpu_port_now();
	submission->seqno = ++channel->submitted;
	fgpu_list_append(&channel->queue, &submission->link);
	context->queued++;
	context->submits++;
	*seqno = submission->seqno;
	fgpu_engine_wake(channel);
	fgpu_port_kick(context->device);
	return 0;
}

static void drop(struct fgpu_channel *channel, struct fgpu_submission *submission)
{
	fgpu_list_remove(&submission->link);
	channel->context->queued--;
	fgpu_port_free(submission);
}

/* Take back the newest job, if it is this one and has not begun. */
void fgpu_submit_undo(struct fgpu_channel *channel, uint64_t seqno)
{
	struct fgpu_submission *submission;

	if (fgpu_list_empty(&channel->queue))
		return;
	submission = fgpu_entry(channel->queue.prev, struct fgpu_submission, link);
	if (submission->seqno != seqno)
		return;
	if (channel->job.active && submission == fgpu_submit_first(channel))
		return;
	drop(channel, submission);
	channel->submitted--;
	channel->context->submits--;
}

struct fgpu_submission *fgpu_submit_first(const struct fgpu_channel *channel)
{
	if (fgpu_list_empty(&channel->queue))
		return NULL;
	return fgpu_entry(channel->queue.next, struct fgpu_submission, link);
}

enum fgpu_result fgpu_submit_fetch(struct fgpu_channel *channel)
{
	struct fgpu_submission *submission = fgpu_submit_first(channel);
	const uint64_t *from;
	enum fgpu_result result;

	if (!submission)
		return FGPU_IDLE;
	if (!channel->job.active) {
		result = fgpu_job_begin(channel);
		if (result != FGPU_DONE)
			return result;
	}
	if (submission->position == submission->length)
		return FGPU_JOB_END;
	from = &submission->packets[submission->position / 8];
	channel->packet.words[0] = from[0];
	if (channel->packet.head.op != FAKEGPU_OP_NOP)
		memcpy(&channel->packet, from, channel->packet.head.size);
	return FGPU_DONE;
}

/* The packet has run. */
void fgpu_submit_advance(struct fgpu_channel *channel)
{
	fgpu_submit_first(channel)->position += channel->packet.head.size;
	channel->loaded = false;
}

/* The job has ended. */
void fgpu_submit_pop(struct fgpu_channel *channel)
{
	drop(channel, fgpu_submit_first(channel));
}

void fgpu_submit_drop_all(struct fgpu_channel *channel)
{
	while (!fgpu_list_empty(&channel->queue))
		drop(channel, fgpu_submit_first(channel));
}
