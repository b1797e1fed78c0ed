// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ioctls one by one: every refused input with its errno, all else valid; what
 * each node answers; versions.
 */
#include "rig.h"

/* Every test here has a device, a program, a buffer and both kinds of channel. */
static struct fgpu_device *device;
static struct program *program;
static uint32_t buffer, channel, ring_handle;

static void set_up(void)
{
	device = device_new(0, 1);
	program = gpu_open(device);
	buffer = buffer_new(program, 8192);
	channel = channel_new(program);
	ring_handle = ring_new(program, 4096).handle;
}

static void tear_down(void)
{
	program_close(program);
	fgpu_device_destroy(device);
}

/* The call is refused with `error` for `field` being `value`, and accepted without that. */
#define REFUSED(command, good, field, value, error)                                                \
	do {                                                                                       \
		__typeof__(good) good_ = good, bad_ = good_;                                       \
		bad_.field = (value);                                                              \
		CHECK_EQ(call(program, command, &bad_), -(error));                                 \
		CHECK_EQ(call(program, command, &good_), 0);                                       \
	} while (0)

#define INFO ((struct fakegpu_info){.flags = 0})
#define CTX_INFO ((struct fakegpu_ctx_info){.flags = 0})
#define USAGE ((struct fakegpu_usage){.flags = 0})
#define PROCESSES ((struct fakegpu_processes){.flags = 0})
#define ALLOC ((struct fakegpu_alloc){.size = 4096})
#define FREE ((struct fakegpu_free){.handle = buffer_new(program, 1)})
#define MAP_BUFFER ((struct fakegpu_map){.handle = buffer})
#define MAP_RING ((struct fakegpu_map){.what = FAKEGPU_MAP_RING, .handle = ring_handle})
#define MAP_PAGE(what_) ((struct fakegpu_map){.what = (what_)})
#define CREATE ((struct fakegpu_channel_create){.flags = 0})
#define CREATE_RING                                                                                \
	((struct fakegpu_channel_create){.flags = FAKEGPU_CHANNEL_RING, .ring_size = 4096})
#define DESTROY ((struct fakegpu_channel_destroy){.handle = channel_new(program)})
#define WAIT ((struct fakegpu_wait){.channel = channel})

static void refuses_unknown_flags_and_padding(void)
{
	set_up();
	REFUSED(FAKEGPU_IOC_INFO, INFO, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_CTX_INFO, CTX_INFO, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_USAGE, USAGE, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_USAGE, USAGE, pad, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_PROCESSES, PROCESSES, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_ALLOC, ALLOC, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_FREE, FREE, pad, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, pad, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE, flags, 2, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE_RING, flags, 0x80000001, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_DESTROY, DESTROY, pad, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_WAIT, WAIT, flags, 1, EINVAL);
	tear_down();
}

static void refuses_bad_handles(void)
{
	set_up();
	REFUSED(FAKEGPU_IOC_FREE, FREE, handle, 0, ENOENT);
	REFUSED(FAKEGPU_IOC_FREE, FREE, handle, 9999, ENOENT);
	REFUSED(FAKEGPU_IOC_FREE, FREE, handle, UINT32_MAX, ENOENT);
	REFUSED(FAKEGPU_IOC_FREE, FREE, handle, channel, ENOENT);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, handle, 0, ENOENT);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, handle, channel, ENOENT);
	REFUSED(FAKEGPU_IOC_MAP, MAP_RING, handle, channel, ENOENT); /* it has no ring */
	REFUSED(FAKEGPU_IOC_MAP, MAP_RING, handle, buffer, ENOENT);
	REFUSED(FAKEGPU_IOC_CHANNEL_DESTROY, DESTROY, handle, buffer, ENOENT);
	REFUSED(FAKEGPU_IOC_WAIT, WAIT, channel, buffer, ENOENT);
	REFUSED(FAKEGPU_IOC_WAIT, WAIT, channel, 0, ENOENT);
	tear_down();
}

static void refuses_bad_values(void)
{
	uint32_t what;

	set_up();
	REFUSED(FAKEGPU_IOC_ALLOC, ALLOC, size, 0, EINVAL);
	REFUSED(FAKEGPU_IOC_ALLOC, ALLOC, size, UINT64_MAX, EOVERFLOW);
	REFUSED(FAKEGPU_IOC_ALLOC, ALLOC, size, UINT64_MAX - 4094, EOVERFLOW);
	REFUSED(FAKEGPU_IOC_ALLOC, ALLOC, size, UINT64_MAX - 4095, EDQUOT);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, what, 5, EINVAL);
	REFUSED(FAKEGPU_IOC_MAP, MAP_BUFFER, what, UINT32_MAX, EINVAL);
	for (what = FAKEGPU_MAP_DOORBELL; what <= FAKEGPU_MAP_COMPLETION; what++)
		REFUSED(FAKEGPU_IOC_MAP, MAP_PAGE(what), handle, buffer, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE, ring_size, 4096, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE_RING, ring_size, 0, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE_RING, ring_size, 2048, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE_RING, ring_size, 12288, EINVAL);
	REFUSED(FAKEGPU_IOC_CHANNEL_CREATE, CREATE_RING, ring_size, 2 * MIB, EINVAL);
	tear_down();
}

#define SUBMIT                                                                                     \
	((struct fakegpu_submit){.channel = channel,                                               \
				 .packets = (uintptr_t)packets,                                    \
				 .length = sizeof(struct fakegpu_packet_fill)})

static void submit_refuses_bad_arguments(void)
{
	static uint64_t nops[FAKEGPU_SUBMIT_MAX / 8 + 1];
	const struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 8};
	struct fakegpu_packet_fill packets[2];
	size_t i;

	set_up();
	for (i = 0; i < sizeof(nops) / sizeof(nops[0]); i++)
		memcpy(&nops[i], &nop, sizeof(nop));
	packets[0] = packets[1] = fill_packet(buffer, 1, 0, 8);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, flags, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, pad, 1, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, channel, 0, ENOENT);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, channel, buffer, ENOENT);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, channel, ring_handle, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, length, 0, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, length, sizeof(packets[0]) - 4, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, length, sizeof(packets[0]) - 8, EINVAL);
	REFUSED(FAKEGPU_IOC_SUBMIT, SUBMIT, length, sizeof(packets) - 8, EINVAL);
	settle(device);
	CHECK_EQ(ctx_info(program).completions, 9);
	CHECK_EQ(ctx_info(program).submits, 9);
	CHECK_EQ(submit(program, channel, nops, FAKEGPU_SUBMIT_MAX, NULL), 0);
	CHECK_EQ(submit(program, channel, nops, FAKEGPU_SUBMIT_MAX + 8, NULL), -E2BIG);
	tear_down();
}

/* One packet of each kind with one fault in it. */
static void submit_refuses_malformed_packets(void)
{
	struct fakegpu_packet_fill fill, fill_size, fill_flag, fill_op, fill_offset, fill_length;
	struct fakegpu_packet_vecadd add;
	struct fakegpu_packet_fence fence = fence_packet(1);
	struct fakegpu_packet_delay longest = delay_packet(10000000000ULL);
	struct fakegpu_packet_delay too_long = delay_packet(10000000001ULL);
	struct fakegpu_packet_fault fault = fault_packet(31), unknown = fault_packet(79);
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 12};

	set_up();
	fill = fill_size = fill_flag = fill_op = fill_offset = fill_length =
		fill_packet(buffer, 1, 0, 8);
	fill_size.head.size = 24;
	fill_flag.head.flags = 1;
	fill_op.head.op = FAKEGPU_OP_FAULT + 1;
	fill_offset.offset = 2;
	fill_length.length = 6;
	add = vecadd_packet(buffer, buffer, buffer, 1);
	add.b_offset = 6;
	fault.pad = 1;
	CHECK_EQ(submit(program, channel, &fill, sizeof(fill), NULL), 0);
	CHECK_EQ(submit(program, channel, &fill_size, sizeof(fill), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fill_flag, sizeof(fill), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fill_op, sizeof(fill), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fill_offset, sizeof(fill), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fill_length, sizeof(fill), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &add, sizeof(add), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fence, sizeof(fence), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &longest, sizeof(longest), NULL), 0);
	CHECK_EQ(submit(program, channel, &too_long, sizeof(too_long), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &fault, sizeof(fault), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &unknown, sizeof(unknown), NULL), -EINVAL);
	CHECK_EQ(submit(program, channel, &nop, sizeof(nop), NULL), -EINVAL);
	nop.size = 0;
	CHECK_EQ(submit(program, channel, &nop, sizeof(nop), NULL), -EINVAL);
	tear_down();
}

static void submit_bounds_its_queue(void)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 8};
	__u64 seqno;
	int i;

	set_up();
	for (i = 1; i <= 1024; i++) {
		CHECK_EQ(submit(program, channel, &nop, 8, &seqno), 0);
		CHECK_EQ(seqno, i);
	}
	CHECK_EQ(submit(program, channel, &nop, 8, &seqno), -EAGAIN);
	settle(device);
	CHECK_EQ(submit(program, channel, &nop, 8, &seqno), 0);
	CHECK_EQ(seqno, 1025);
	tear_down();
}

static void refuses_unknown_commands(void)
{
	CHECK_EQ(fgpu_ioctl_size(_IOWR(FAKEGPU_IOC_TYPE, 0x0d, struct fakegpu_info)), -ENOTTY);
	CHECK_EQ(fgpu_ioctl_size(_IOWR(FAKEGPU_IOC_TYPE, 0x01, struct fakegpu_free)), -ENOTTY);
	CHECK_EQ(fgpu_ioctl_size(_IOR(FAKEGPU_IOC_TYPE, 0x01, struct fakegpu_info)), -ENOTTY);
	CHECK_EQ(fgpu_ioctl_size(_IOWR('F', 0x01, struct fakegpu_info)), -ENOTTY);
	CHECK_EQ(fgpu_ioctl_size(0), -ENOTTY);
	CHECK_EQ(fgpu_ioctl_size(FAKEGPU_IOC_INFO), sizeof(struct fakegpu_info));
	CHECK_EQ(fgpu_ioctl_size(FAKEGPU_IOC_UVM_INIT), sizeof(struct fakegpu_uvm_init));
}

static void each_node_answers_its_own_calls(void)
{
	struct program ctl = {0}, uvm = {0};
	struct fakegpu_info info = {0};
	struct fakegpu_alloc alloc = {.size = 1};
	struct fakegpu_uvm_init init = {0};

	set_up();
	CHECK_EQ(program_open(device, FGPU_NODE_CTL, &ctl), 0);
	CHECK_EQ(program_open(device, FGPU_NODE_UVM, &uvm), 0);
	CHECK_EQ(call(&ctl, FAKEGPU_IOC_INFO, &info), 0);
	CHECK_EQ(info.device, 0xffffffffU);
	CHECK_EQ(info.device_count, 1);
	CHECK_EQ(call(&ctl, FAKEGPU_IOC_ALLOC, &alloc), -ENOTTY);
	CHECK_EQ(call(&ctl, FAKEGPU_IOC_UVM_INIT, &init), -ENOTTY);
	CHECK_EQ(call(&uvm, FAKEGPU_IOC_UVM_INIT, &init), 0);
	init.pad = 1;
	CHECK_EQ(call(&uvm, FAKEGPU_IOC_UVM_INIT, &init), -EINVAL);
	CHECK_EQ(call(&uvm, FAKEGPU_IOC_INFO, &info), -ENOTTY);
	CHECK_EQ(call(program, FAKEGPU_IOC_UVM_INIT, &init), -ENOTTY);
	fgpu_context_close(ctl.context);
	fgpu_context_close(uvm.context);
	tear_down();
}

static void info_tells_the_device(void)
{
	struct fakegpu_info info = {0};

	set_up();
	CHECK_EQ(call(program, FAKEGPU_IOC_INFO, &info), 0);
	CHECK_EQ(info.device, 0);
	CHECK_EQ(info.uapi_version, FAKEGPU_UAPI_VERSION);
	CHECK_EQ(info.pci_bus, 1);
	CHECK_EQ(info.max_channels, 32);
	CHECK_EQ(info.vram_total, VRAM);
	CHECK_EQ(info.vram_used, 8192);
	CHECK_EQ(info.quota, QUOTA);
	CHECK(!strcmp(info.version, VERSION));
	CHECK(info.name[0] && !info.name[FAKEGPU_NAME_LEN - 1]);
	tear_down();
}

static void map_tells_the_fixed_offsets(void)
{
	struct fakegpu_map map = {.what = FAKEGPU_MAP_COMPLETION};

	set_up();
	CHECK_EQ(call(program, FAKEGPU_IOC_MAP, &map), 0);
	CHECK_EQ(map.offset, FAKEGPU_OFF_COMPLETION);
	CHECK_EQ(map.length, FAKEGPU_COMPLETION_SIZE);
	map = (struct fakegpu_map){.what = FAKEGPU_MAP_RING, .handle = ring_handle};
	CHECK_EQ(call(program, FAKEGPU_IOC_MAP, &map), 0);
	CHECK_EQ(map.offset, FAKEGPU_OFF_RING + FAKEGPU_RING_STRIDE); /* slot 1 */
	CHECK_EQ(map.length, 4096);
	map = (struct fakegpu_map){.what = FAKEGPU_MAP_BUFFER, .handle = buffer};
	CHECK_EQ(call(program, FAKEGPU_IOC_MAP, &map), 0);
	CHECK_EQ(map.offset, FAKEGPU_OFF_BUFFER);
	CHECK_EQ(map.length, 8192);
	tear_down();
}

static void check_version_compares_and_logs(void)
{
	struct fakegpu_check_version same = {.version = VERSION};
	struct fakegpu_check_version other = {.version = "535.54.03"};
	struct fakegpu_check_version query = {.mode = 1, .version = "535.54.03"};
	struct fakegpu_check_version mode = {.mode = 2, .version = VERSION};
	struct fakegpu_check_version endless = {0};

	set_up();
	memset(endless.version, '5', sizeof(endless.version));
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &same), 0);
	CHECK_EQ(same.reply, 1);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &query), 0);
	CHECK_EQ(query.reply, 0);
	CHECK(!strcmp(query.version, VERSION));
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &mode), -EINVAL);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &endless), -EINVAL);
	CHECK_EQ(record.events[FGPU_EVENT_LOG], 0);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &other), -EINVAL);
	CHECK_EQ(other.reply, 0);
	CHECK(!strcmp(other.version, VERSION));
	CHECK(!strcmp(last_log(),
		      "FGPU: API mismatch: the client 'app' (pid 4242) has the version 535.54.03, "
		      "but this kernel module has the version 550.54.14."));
	tear_down();
}

static void the_log_shows_no_control_characters(void)
{
	struct fakegpu_check_version other = {.version = "1\n\033[31m"};

	set_up();
	CHECK_EQ(call(program, FAKEGPU_IOC_CHECK_VERSION, &other), -EINVAL);
	CHECK(strstr(last_log(), "version 1??[31m,"));
	tear_down();
}

SUITE(test_calls, TEST(refuses_unknown_flags_and_padding), TEST(refuses_bad_handles),
      TEST(refuses_bad_values), TEST(submit_refuses_bad_arguments),
      TEST(submit_refuses_malformed_packets), TEST(submit_bounds_its_queue),
      TEST(refuses_unknown_commands), TEST(each_node_answers_its_own_calls),
      TEST(info_tells_the_device), TEST(map_tells_the_fixed_offsets),
      TEST(check_version_compares_and_logs), TEST(the_log_shows_no_control_characters));
