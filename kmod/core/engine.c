// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: one, shared between contexts by engine time used, whatever their
 * number of channels.
 *
 * A DELAY does not sleep: it holds the engine until a time, and gives way
 * after a quantum when somebody else has work.
 */
#include "internal.h"

enum fgpu_result fgpu_trouble(struct fgpu_channel *channel, uint32_t xid, const char *format, ...)
{
	struct fgpu_trouble *trouble = &channel->context->device->trouble;
	va_list args;

	trouble->xid = xid;
	va_start(args, format);
	vsnprintf(trouble->text, sizeof(trouble->text), format, args);
	va_end(args);
	return FGPU_TROUBLE;
}

/* The channel has work. */
void fgpu_engine_wake(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;

	if (fgpu_list_empty(&context->device->sharing.waiting))
		context->device->busy_since = fgpu_port_now();
	fgpu_sharer_join(&context->sharing, &channel->sharer);
	fgpu_sharer_join(&context->device->sharing, &context->sharer);
}

static void sleep_channel(struct fgpu_channel *channel)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_device *device = context->device;
	bool had_work = !fgpu_list_empty(&device->sharing.waiting);

	fgpu_sharer_leave(&channel->sharer);
	if (fgpu_list_empty(&context->sharing.waiting))
		fgpu_sharer_leave(&context->sharer);
	if (had_work && fgpu_list_empty(&device->sharing.waiting))
		device->busy_ns += fgpu_port_now() - device->busy_since;
}

/* Time in which a context had work. */
uint64_t fgpu_engine_busy_ns(const struct fgpu_device *device, uint64_t now)
{
	if (fgpu_list_empty(&device->sharing.waiting))
		return device->busy_ns;
	return device->busy_ns + (now - device->busy_since);
}

static uint64_t held_ns(const struct fgpu_device *device, uint64_t now)
{
	return (now < device->held_until ? now : device->held_until) - device->held_since;
}

/* Engine time spent on a context, with that of a DELAY under way. */
uint64_t fgpu_engine_context_ns(const struct fgpu_context *context, uint64_t now)
{
	const struct fgpu_device *device = context->device;

	if (!device->held || device->held->context != context)
		return context->busy_ns;
	return context->busy_ns + held_ns(device, now);
}

static void charge(struct fgpu_channel *channel, uint64_t time)
{
	channel->sharer.vtime += time;
	channel->context->sharer.vtime += time;
}

/* The channel stops or goes away. */
void fgpu_engine_forget(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;

	sleep_channel(channel);
	if (device->held != channel && device->hung != channel)
		return;
	if (device->held == channel) {
		channel->context->busy_ns += held_ns(device, fgpu_port_now());
		device->held = NULL;
	}
	if (device->hung == channel)
		device->hung = NULL;
	fgpu_port_kick(device);
}

static bool others_wait(const struct fgpu_channel *channel)
{
	const struct fgpu_context *context = channel->context;

	return fgpu_list_many(&context->device->sharing.waiting) ||
	       fgpu_list_many(&context->sharing.waiting);
}

static void hold(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;
	uint64_t ns = channel->delay_left;

	if (ns > FGPU_QUANTUM_NS && others_wait(channel))
		ns = FGPU_QUANTUM_NS;
	device->held = channel;
	device->held_since = device->now;
	device->held_until = device->now + ns;
}

/* Returns whether the channel in a DELAY lets go of the engine now. */
static bool held_is_over(struct fgpu_device *device)
{
	struct fgpu_channel *channel = device->held;
	uint64_t limit = device->held_since + FGPU_QUANTUM_NS;
	uint64_t used;

	if (device->held_until > limit && others_wait(channel))
		device->held_until = limit > device->now ? limit : device->now;
	if (device->now < device->held_until)
		return false;
	used = device->held_until - device->held_since;
	channel->delay_left -= used;
	charge(channel, used);
	channel->context->busy_ns += used;
	device->held = NULL;
	return true;
}

/* Returns whether the engine can work; else `wake` is when to look again. */
static bool engine_is_free(struct fgpu_device *device, uint64_t *wake)
{
	struct fgpu_channel *channel = device->hung;

	if (channel) {
		*wake = device->hung_until;
		if (device->now < device->hung_until)
			return false;
		device->hung = NULL;
		fgpu_trouble(channel, FGPU_XID_CTX_SWITCH, "%s",
			     fgpu_xid_text(FGPU_XID_CTX_SWITCH));
		fgpu_context_poison(channel->context, channel);
	}
	if (device->held && !held_is_over(device)) {
		*wake = device->held_until;
		return false;
	}
	return true;
}

static enum fgpu_result run_packet(struct fgpu_channel *channel, int64_t *budget)
{
	enum fgpu_result result;

	if (channel->delay_left)
		return FGPU_HELD;
	if (!channel->loaded) {
		result = channel->ring ? fgpu_ring_fetch(channel) : fgpu_submit_fetch(channel);
		if (result == FGPU_JOB_END)
			return fgpu_job_end(channel);
		if (result != FGPU_DONE)
			return result;
		channel->loaded = true;
		channel->progress = 0;
	}
	result = fgpu_exec(channel, budget);
	if (result == FGPU_JOB_END)
		return fgpu_job_end(channel);
	if (result == FGPU_DONE) {
		if (channel->ring)
			fgpu_ring_advance(channel);
		else
			fgpu_submit_advance(channel);
	}
	return result;
}

static void run_channel(struct fgpu_channel *channel, int64_t *budget)
{
	struct fgpu_device *device = channel->context->device;
	enum fgpu_result result;

	do {
		result = run_packet(channel, budget);
	} while (*budget > 0 && (result == FGPU_DONE || result == FGPU_AGAIN));

	if (result == FGPU_TROUBLE)
		fgpu_context_poison(channel->context, channel);
	else if (result == FGPU_IDLE)
		sleep_channel(channel);
	else if (result == FGPU_HELD && !device->lost && !device->hung)
		hold(channel);
}

/* A turn, with its time on the context's account. */
static void run_for(struct fgpu_channel *channel, int64_t *budget)
{
	struct fgpu_device *device = channel->context->device;
	uint64_t from = device->now;

	run_channel(channel, budget);
	if (!device->held) /* else held_since is now, and what follows is the hold's */
		device->now = fgpu_port_now();
	channel->context->busy_ns += device->now - from;
}

/* The channel whose turn it is, or NULL. */
static struct fgpu_channel *next_channel(struct fgpu_device *device)
{
	struct fgpu_sharer *next = fgpu_sharing_next(&device->sharing);

	if (!next)
		return NULL;
	next = fgpu_sharing_next(&fgpu_entry(next, struct fgpu_context, sharer)->sharing);
	return fgpu_entry(next, struct fgpu_channel, sharer);
}

static uint64_t step(struct fgpu_device *device)
{
	struct fgpu_channel *channel;
	int64_t budget = FGPU_STEP_COST, before;
	uint64_t wake;

	if (device->lost)
		return FGPU_NEVER;
	device->now = fgpu_port_now();
	fgpu_ring_scan(device);
	if (!engine_is_free(device, &wake))
		return wake;
	while (budget > 0 && !device->held && !device->hung && !device->lost) {
		channel = next_channel(device);
		if (!channel)
			return FGPU_NEVER;
		before = budget;
		run_for(channel, &budget);
		charge(channel, (uint64_t)(before - budget));
	}
	if (device->lost)
		return FGPU_NEVER;
	if (device->hung)
		return device->hung_until;
	return device->held ? device->held_until : 0;
}

uint64_t fgpu_engine_step(struct fgpu_device *device)
{
	uint64_t wake;

	fgpu_device_lock(device);
	wake = step(device);
	fgpu_device_unlock(device);
	return wake;
}

/* No lock: a host asks at every turn, and a stale answer is put right by a kick. */
bool fgpu_engine_polls(struct fgpu_device *device)
{
	return fgpu_load(&device->ring_count) != 0 && !fgpu_load(&device->lost);
}
