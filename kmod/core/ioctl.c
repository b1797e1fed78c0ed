// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ioctl, up to the call itself: which there are, on which node, whether the
 * argument is well-formed and whether the context may still call.
 *
 * Errors come in this order: ENOTTY, ENODEV, EINVAL, EIO, then the call's own.
 */
#include "internal.h"

#define ON_GPU (1U << FGPU_NODE_GPU)
#define ON_CTL (1U << FGPU_NODE_CTL)
#define ON_UVM (1U << FGPU_NODE_UVM)

/**
 * struct call - one ioctl
 * @command: its number with size and direction
 * @nodes: where it is answered
 * @poisoned: whether a poisoned context may still call it
 * @check: looks at the argument alone: 0 or -errno
 * @run: does it
 * @drops: for a call that can't be undone: whether what it drops is there
 */
struct call {
	unsigned int command;
	unsigned int nodes;
	bool poisoned;
	int (*check)(const void *arg);
	int (*run)(struct fgpu_context *context, void *arg, const void *payload);
	bool (*drops)(struct fgpu_context *context, const void *arg);
};

static int zero(uint64_t value)
{
	return value ? -EINVAL : 0;
}

static int check_info(const void *arg)
{
	return zero(((const struct fakegpu_info *)arg)->flags);
}

static int check_check_version(const void *arg)
{
	const struct fakegpu_check_version *check = arg;

	if (check->mode != FAKEGPU_VERSION_STRICT && check->mode != FAKEGPU_VERSION_QUERY)
		return -EINVAL;
	if (strnlen(check->version, sizeof(check->version)) == sizeof(check->version))
		return -EINVAL;
	return 0;
}

static int check_alloc(const void *arg)
{
	const struct fakegpu_alloc *alloc = arg;

	return alloc->size ? zero(alloc->flags) : -EINVAL;
}

static int check_free(const void *arg)
{
	return zero(((const struct fakegpu_free *)arg)->pad);
}

static int check_map(const void *arg)
{
	const struct fakegpu_map *map = arg;

	if (map->what > FAKEGPU_MAP_COMPLETION)
		return -EINVAL;
	if (map->what > FAKEGPU_MAP_RING && map->handle)
		return -EINVAL;
	return zero(map->flags | map->pad);
}

static int check_channel_create(const void *arg)
{
	const struct fakegpu_channel_create *create = arg;
	uint32_t size = create->ring_size;

	if (create->flags & ~(uint32_t)FAKEGPU_CHANNEL_RING)
		return -EINVAL;
	if (!(create->flags & FAKEGPU_CHANNEL_RING))
		return zero(size);
	if (size < FAKEGPU_RING_MIN || size > FAKEGPU_RING_MAX)
		return -EINVAL;
	return zero(size & (size - 1));
}

static int check_channel_destroy(const void *arg)
{
	return zero(((const struct fakegpu_channel_destroy *)arg)->pad);
}

static int check_submit(const void *arg)
{
	const struct fakegpu_submit *submit = arg;

	if (submit->flags || submit->pad)
		return -EINVAL;
	if (submit->length > FAKEGPU_SUBMIT_MAX)
		return -E2BIG;
	return submit->length ? zero(submit->length % 8) : -EINVAL;
}

static int check_wait(const void *arg)
{
	return zero(((const struct fakegpu_wait *)arg)->flags);
}

static int check_ctx_info(const void *arg)
{
	return zero(((const struct fakegpu_ctx_info *)arg)->flags);
}

static int check_usage(const void *arg)
{
	const struct fakegpu_usage *usage = arg;

	return zero(usage->flags | usage->pad);
}

static int check_processes(const void *arg)
{
	return zero(((const struct fakegpu_processes *)arg)->flags);
}

static int check_fence_eventfd(const void *arg)
{
	const struct fakegpu_fence_eventfd *bind = arg;

	return zero(bind->flags | bind->pad);
}

static int check_uvm_init(const void *arg)
{
	const struct fakegpu_uvm_init *init = arg;

	return zero(init->flags | init->pad);
}

static bool has_buffer(struct fgpu_context *context, const void *arg)
{
	return fgpu_buffer_get(context, ((const struct fakegpu_free *)arg)->handle);
}

static bool has_channel(struct fgpu_context *context, const void *arg)
{
	return fgpu_channel_get(context, ((const struct fakegpu_channel_destroy *)arg)->handle);
}

static const struct call calls[] = {
	{FAKEGPU_IOC_INFO, ON_GPU | ON_CTL, true, check_info, fgpu_call_info, NULL},
	{FAKEGPU_IOC_CHECK_VERSION, ON_GPU | ON_CTL, true, check_check_version,
	 fgpu_call_check_version, NULL},
	{FAKEGPU_IOC_ALLOC, ON_GPU, false, check_alloc, fgpu_call_alloc, NULL},
	{FAKEGPU_IOC_FREE, ON_GPU, true, check_free, fgpu_call_free, has_buffer},
	{FAKEGPU_IOC_MAP, ON_GPU, false, check_map, fgpu_call_map, NULL},
	{FAKEGPU_IOC_CHANNEL_CREATE, ON_GPU, false, check_channel_create, fgpu_call_channel_create,
	 NULL},
	{FAKEGPU_IOC_CHANNEL_DESTROY, ON_GPU, false, check_channel_destroy,
	 fgpu_call_channel_destroy, has_channel},
	{FAKEGPU_IOC_SUBMIT, ON_GPU, false, check_submit, fgpu_call_submit, NULL},
	{FAKEGPU_IOC_WAIT, ON_GPU, false, check_wait, fgpu_call_wait, NULL},
	{FAKEGPU_IOC_CTX_INFO, ON_GPU, true, check_ctx_info, fgpu_call_ctx_info, NULL},
	{FAKEGPU_IOC_USAGE, ON_GPU, true, check_usage, fgpu_call_usage, NULL},
	{FAKEGPU_IOC_PROCESSES, ON_GPU, true, check_processes, fgpu_call_processes, NULL},
	{FAKEGPU_IOC_FENCE_EVENTFD, ON_GPU, false, check_fence_eventfd, fgpu_call_fence_eventfd,
	 NULL},
	{FAKEGPU_IOC_UVM_INIT, ON_UVM, true, check_uvm_init, fgpu_call_uvm_init, NULL},
};

static const struct call *find_call(unsigned int command)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].command == command)
			return &calls[i];
	return NULL;
}

int fgpu_ioctl_size(unsigned int command)
{
	const struct call *call = find_call(command);

	return call ? (int)_IOC_SIZE(call->command) : -ENOTTY;
}

int fgpu_ioctl_payload(unsigned int command, const void *arg, uint64_t *user_pointer)
{
	const struct fakegpu_submit *submit = arg;
	int error;

	if (command != FAKEGPU_IOC_SUBMIT)
		return 0;
	error = check_submit(submit);
	if (error)
		return error;
	*user_pointer = submit->packets;
	return (int)submit->length;
}

/* Whether the call may be made: all that stands before its own errors. */
static int admit(const struct fgpu_context *context, const struct call *call, const void *arg)
{
	int error;

	if (!call || !(call->nodes & (1U << context->node)))
		return -ENOTTY;
	/* The control nodes are the driver's, not the device's: they stay. */
	if (context->node == FGPU_NODE_GPU && context->device->lost)
		return -ENODEV;
	error = call->check(arg);
	if (error)
		return error;
	return context->xid && !call->poisoned ? -EIO : 0;
}

int fgpu_ioctl_locked(struct fgpu_context *context, unsigned int command, void *arg,
		      const void *payload)
{
	const struct call *call = find_call(command);
	int error = admit(context, call, arg);

	return error ? error : call->run(context, arg, payload);
}

bool fgpu_ioctl_foresee_locked(struct fgpu_context *context, unsigned int command, const void *arg,
			       int *ret)
{
	const struct call *call = find_call(command);

	if (!call || !call->drops)
		return false;
	*ret = admit(context, call, arg);
	if (!*ret && !call->drops(context, arg))
		*ret = -ENOENT;
	return true;
}

int fgpu_ioctl(struct fgpu_context *context, unsigned int command, void *arg, const void *payload)
{
	int ret;

	fgpu_device_lock(context->device);
	ret = fgpu_ioctl_locked(context, command, arg, payload);
	fgpu_device_unlock(context->device);
	return ret;
}

int fgpu_wait_ready(struct fgpu_context *context, struct fakegpu_wait *arg)
{
	return fgpu_ioctl(context, FAKEGPU_IOC_WAIT, arg, NULL);
}

void fgpu_ioctl_undo_locked(struct fgpu_context *context, unsigned int command, const void *arg)
{
	const struct fakegpu_fence_eventfd *bind = arg;
	const struct fakegpu_submit *submit = arg;
	struct fgpu_channel *channel;
	struct fgpu_buffer *buffer;

	switch (command) {
	case FAKEGPU_IOC_ALLOC:
		buffer = fgpu_buffer_get(context, ((const struct fakegpu_alloc *)arg)->handle);
		if (buffer)
			fgpu_buffer_free(context, buffer);
		break;
	case FAKEGPU_IOC_CHANNEL_CREATE:
		channel = fgpu_channel_get(context,
					   ((const struct fakegpu_channel_create *)arg)->handle);
		if (channel) {
			fgpu_channel_stop(channel);
			fgpu_channel_free(channel);
		}
		break;
	case FAKEGPU_IOC_SUBMIT:
		channel = fgpu_channel_get(context, submit->channel);
		if (channel)
			fgpu_submit_undo(channel, submit->seqno);
		break;
	case FAKEGPU_IOC_FENCE_EVENTFD:
		channel = fgpu_channel_get(context, bind->channel);
		if (channel)
			fgpu_eventfd_undo(channel, bind->seqno);
		break;
	}
}

uint64_t fgpu_ioctl_delay(struct fgpu_context *context, unsigned int command)
{
	struct fgpu_device *device = context->device;
	bool slow;

	if (context->node != FGPU_NODE_GPU ||
	    (command != FAKEGPU_IOC_ALLOC && command != FAKEGPU_IOC_CHANNEL_CREATE))
		return 0;
	fgpu_device_lock(device);
	slow = !device->lost && !context->xid && fgpu_fault_firmware(context, false);
	fgpu_device_unlock(device);
	return slow ? FGPU_FIRMWARE_NS : 0;
}
