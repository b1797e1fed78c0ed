// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Injected faults: armed, counted down by jobs, fired. They act on the device
 * itself; what is seen of them elsewhere follows from that.
 */
#include "internal.h"

static bool concerns(const struct fgpu_fault *fault, const struct fgpu_context *context)
{
	return !fault->context || fault->context == context->id;
}

/* Take one use off fault `i`; the last one disarms it. Returns whether it is gone. */
static bool use_up(struct fgpu_device *device, uint32_t i)
{
	struct fgpu_fault *fault = &device->faults[i];

	if (!fault->count || --fault->count)
		return false;
	device->fault_count--;
	memmove(fault, fault + 1, (device->fault_count - i) * sizeof(*fault));
	return true;
}

static enum fgpu_result hang(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;

	device->hung = channel;
	device->hung_until = device->now + FGPU_HANG_NS;
	return FGPU_HELD;
}

/* Do what the fault does to a job that begins; FGPU_IDLE: nothing, it waits for something else. */
static enum fgpu_result fire(struct fgpu_channel *channel, const struct fgpu_fault *fault)
{
	switch (fault->kind) {
	case FGPU_FAULT_XID:
		return fgpu_trouble(channel, (uint32_t)fault->value, "%s",
				    fgpu_xid_text((uint32_t)fault->value));
	case FGPU_FAULT_ECC:
		return fgpu_trouble(channel, FGPU_XID_ECC_CONTAINED, "%s",
				    fgpu_xid_text(FGPU_XID_ECC_CONTAINED));
	case FGPU_FAULT_HANG:
		return hang(channel);
	case FGPU_FAULT_OFF_BUS:
		fgpu_fault_off_bus(channel->context->device);
		return FGPU_HELD;
	case FGPU_FAULT_SLOW:
		channel->job.slow_ns += fault->value;
		return FGPU_DONE;
	case FGPU_FAULT_NO_FENCE:
		channel->job.no_fence = true;
		return FGPU_DONE;
	default:
		return FGPU_IDLE;
	}
}

static bool ends_job(enum fgpu_fault_kind kind)
{
	return kind == FGPU_FAULT_XID || kind == FGPU_FAULT_ECC || kind == FGPU_FAULT_HANG ||
	       kind == FGPU_FAULT_OFF_BUS;
}

/*
 * A job begins: every fault counts it. Only one of those that stop a job can
 * have it; the others stay armed for the next.
 */
enum fgpu_result fgpu_fault_job(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;
	enum fgpu_result result = FGPU_DONE, fired;
	struct fgpu_fault *fault;
	uint32_t i = 0;

	while (i < device->fault_count) {
		fault = &device->faults[i++];
		if (!concerns(fault, channel->context))
			continue;
		if (fault->after) {
			fault->after--;
			continue;
		}
		if (result != FGPU_DONE && ends_job(fault->kind))
			continue;
		fired = fire(channel, fault);
		if (fired == FGPU_IDLE)
			continue;
		if (fired != FGPU_DONE)
			result = fired;
		if (use_up(device, i - 1))
			i--;
	}
	return result;
}

/* Nothing is signalled any more, and a WAIT returns ENODEV. */
static void end_bindings(struct fgpu_device *device)
{
	struct fgpu_context *context;
	struct fgpu_list *at;
	uint32_t i;

	fgpu_list_for_each(at, &device->contexts)
	{
		context = fgpu_entry(at, struct fgpu_context, link);
		for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++)
			if (context->channels[i])
				fgpu_eventfd_signal(context->channels[i], UINT64_MAX);
	}
}

/* The device no longer answers. */
void fgpu_fault_off_bus(struct fgpu_device *device)
{
	fgpu_store(&device->lost, true);
	end_bindings(device);
	fgpu_log_xid(device, NULL, NULL, FGPU_XID_OFF_BUS, fgpu_xid_text(FGPU_XID_OFF_BUS));
	fgpu_port_kick(device); /* waits in progress end with ENODEV */
}

/* The first fault of this kind that is due for the context, or fault_count. */
static uint32_t find_due(const struct fgpu_context *context, enum fgpu_fault_kind kind)
{
	const struct fgpu_device *device = context->device;
	uint32_t i;

	for (i = 0; i < device->fault_count; i++)
		if (device->faults[i].kind == kind && !device->faults[i].after &&
		    concerns(&device->faults[i], context))
			break;
	return i;
}

/* Whether this doorbell change is lost. */
bool fgpu_fault_doorbell(struct fgpu_channel *channel)
{
	struct fgpu_device *device = channel->context->device;
	uint32_t i = find_due(channel->context, FGPU_FAULT_LOST_DOORBELL);

	if (i == device->fault_count)
		return false;
	use_up(device, i);
	return true;
}

/* Whether the firmware would not answer this context; with `use`, that it just did not. */
bool fgpu_fault_firmware(struct fgpu_context *context, bool use)
{
	struct fgpu_device *device = context->device;
	uint32_t i = find_due(context, FGPU_FAULT_FW_TIMEOUT);

	if (i == device->fault_count)
		return false;
	if (use)
		use_up(device, i);
	return true;
}

static int arm(struct fgpu_device *device, const struct fgpu_fault *fault, char *why,
	       size_t why_size)
{
	struct fgpu_fault *armed;

	if (device->fault_count == FGPU_FAULTS_MAX) {
		snprintf(why, why_size, "%d faults are armed already: clear them first",
			 FGPU_FAULTS_MAX);
		return -EINVAL;
	}
	armed = &device->faults[device->fault_count++];
	*armed = *fault;
	if (armed->kind == FGPU_FAULT_OFF_BUS && !armed->after && !device->lost)
		fgpu_fault_off_bus(device);
	return 0;
}

int fgpu_fault_set(struct fgpu_device *device, const char *spec, char *why, size_t why_size)
{
	struct fgpu_fault fault;
	bool here;
	int error;

	error = fgpu_fault_parse(device, spec, &fault, &here, why, why_size);
	if (error || !here)
		return error;
	fgpu_device_lock(device);
	error = arm(device, &fault, why, why_size);
	fgpu_device_unlock(device);
	return error;
}

/* What was stopped goes on where it was. */
void fgpu_fault_clear(struct fgpu_device *device)
{
	fgpu_device_lock(device);
	device->fault_count = 0;
	device->hung = NULL;
	fgpu_store(&device->lost, false);
	fgpu_port_kick(device);
	fgpu_device_unlock(device);
}

int fgpu_fault_list(struct fgpu_device *device, char *text, size_t size)
{
	size_t used = 0;
	uint32_t i;
	int count;

	if (size)
		*text = '\0';
	fgpu_device_lock(device);
	count = (int)device->fault_count;
	for (i = 0; i < device->fault_count && used < size; i++)
		used += (size_t)fgpu_fault_print(device, &device->faults[i], text + used,
						 size - used);
	fgpu_device_unlock(device);
	return count;
}
