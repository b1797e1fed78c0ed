// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a context owns: quota, offsets, channels, isolation, and that nothing
 * of it outlives it, even where memory runs out in the middle.
 */
#include "rig.h"

static uint64_t vram_used(struct program *program)
{
	struct fakegpu_info info = {0};

	if (call(program, FAKEGPU_IOC_INFO, &info))
		fail(__FILE__, __LINE__, "INFO");
	return info.vram_used;
}

static void quota_is_exact(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program = gpu_open(device);
	struct fakegpu_alloc alloc = {.size = QUOTA};
	struct fakegpu_free drop = {0};
	uint32_t small;

	small = buffer_new(program, 1);
	CHECK_EQ(ctx_info(program).bytes, 4096);
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), -EDQUOT);
	alloc.size = QUOTA - 4096;
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), 0);
	drop.handle = alloc.handle;
	alloc.size = 1;
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &alloc), -EDQUOT);
	CHECK_EQ(ctx_info(program).bytes, QUOTA);
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	drop.handle = small;
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	CHECK_EQ(ctx_info(program).bytes, 0);
	CHECK_EQ(ctx_info(program).buffers, 0);
	CHECK_EQ(vram_used(program), 0);
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), -ENOENT);
	program_close(program);
	fgpu_device_destroy(device);
}

static void the_device_can_be_full(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *a = gpu_open(device), *b = gpu_open(device), *c = gpu_open(device);
	struct fakegpu_alloc alloc = {.size = 1};

	buffer_new(a, QUOTA);
	buffer_new(b, QUOTA);
	CHECK_EQ(call(c, FAKEGPU_IOC_ALLOC, &alloc), -ENOMEM);
	CHECK_EQ(vram_used(c), VRAM);
	program_close(a);
	CHECK_EQ(vram_used(c), VRAM - QUOTA);
	CHECK_EQ(call(c, FAKEGPU_IOC_ALLOC, &alloc), 0);
	program_close(b);
	program_close(c);
	fgpu_device_destroy(device);
}

static void contexts_do_not_see_each_other(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *a = gpu_open(device), *b = gpu_open(device);
	struct fakegpu_map map = {.what = FAKEGPU_MAP_BUFFER};
	uint32_t handle;

	buffer_new(a, 4096);
	handle = map.handle = buffer_new(a, 4096);
	CHECK_EQ(call(a, FAKEGPU_IOC_MAP, &map), 0);
	map.handle = handle;
	CHECK_EQ(call(b, FAKEGPU_IOC_MAP, &map), -ENOENT);
	CHECK(fgpu_context_id(a->context) != fgpu_context_id(b->context));
	CHECK_EQ(ctx_info(b).buffers, 0);
	buffer_new(b, 4096);
	memset(buffer_memory(b, 1), 0xff, 4096);
	CHECK_EQ(*(uint32_t *)buffer_memory(a, 1), 0);
	program_close(a);
	CHECK_EQ(ctx_info(b).buffers, 1);
	program_close(b);
	fgpu_device_destroy(device);
}

static void ids_are_unique_across_devices(void)
{
	struct fgpu_device *first = device_new(0, 2), *second = device_new(1, 2);
	struct program *a = gpu_open(first), *b = gpu_open(second), *c = gpu_open(first);

	CHECK_EQ(ctx_info(a).id, 1);
	CHECK_EQ(ctx_info(b).id, 2);
	CHECK_EQ(ctx_info(c).id, 3);
	program_close(a);
	program_close(b);
	program_close(c);
	fgpu_device_destroy(first);
	fgpu_device_destroy(second);
}

/* Buffers come and go for a long time; the fake backing refuses any overlap at one offset. */
static void offsets_come_round_and_never_overlap(void)
{
	struct fgpu_config config = {.count = 1, .vram = 1ULL << 40, .quota = 1ULL << 40};
	struct fgpu_device *device;
	struct program *program;
	struct fakegpu_alloc big = {.size = 4096};
	uint32_t handles[64] = {0};
	struct fakegpu_map map = {0};
	struct fakegpu_free drop = {0};
	uint64_t offset, seed = 1;
	int i;

	port_reset();
	device = fgpu_device_create(&config, NULL);
	program = gpu_open(device);
	for (i = 0; i < 4000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		drop.handle = handles[seed >> 58];
		if (drop.handle)
			CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
		handles[seed >> 58] = buffer_new(program, 1 + (seed >> 40) % 30000);
		CHECK_OK();
		map.handle = handles[seed >> 58];
		map.what = FAKEGPU_MAP_BUFFER;
		CHECK_EQ(call(program, FAKEGPU_IOC_MAP, &map), 0);
		offset = map.offset;
		CHECK(offset >= FAKEGPU_OFF_BUFFER && offset % 4096 == 0);
		CHECK(offset + map.length <= FAKEGPU_OFF_END);
	}
	big.size = FAKEGPU_OFF_END;
	CHECK_EQ(call(program, FAKEGPU_IOC_ALLOC, &big), -ENOMEM);
	program_close(program);
	fgpu_device_destroy(device);
}

static void handles_last(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program = gpu_open(device);
	struct fakegpu_free drop = {0};
	uint32_t first = buffer_new(program, 1), i, handle;

	/* A dropped handle is not handed out again at once. */
	drop.handle = first;
	CHECK_EQ(call(program, FAKEGPU_IOC_FREE, &drop), 0);
	CHECK(buffer_new(program, 1) != first);
	/* More objects than the table starts with. */
	for (i = 0; i < 900; i++) {
		handle = buffer_new(program, 1);
		CHECK(handle);
		CHECK(buffer_memory(program, handle));
		CHECK_OK();
	}
	CHECK_EQ(ctx_info(program).buffers, 901);
	program_close(program);
	fgpu_device_destroy(device);
}

static void channels_have_slots(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program = gpu_open(device);
	struct fakegpu_channel_create create = {0};
	struct fakegpu_channel_destroy destroy = {0};
	struct ring ring;
	uint32_t i;

	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++) {
		CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create), 0);
		CHECK_EQ(create.index, i);
	}
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create), -ENOSPC);
	CHECK_EQ(ctx_info(program).channels, 32);
	destroy.handle = create.handle;
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), 0);
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), -ENOENT);
	CHECK(!fgpu_engine_polls(device));
	ring = ring_new(program, 4096);
	CHECK_EQ(ring.index, 31);
	CHECK(fgpu_engine_polls(device));
	ring_fence(&ring, 7);
	ring_bell(&ring);
	settle(device);
	destroy.handle = ring.handle;
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), 0);
	CHECK(!fgpu_engine_polls(device));
	CHECK_EQ(ring.slot->seqno, 7); /* kept */
	ring = ring_new(program, 4096);
	CHECK_EQ(ring.slot->seqno, 0); /* until the slot is given out again */
	CHECK_EQ(ring.doorbell->wptr, 0);
	program_close(program);
	fgpu_device_destroy(device);
}

/* Whatever allocation fails, the call says ENOMEM and leaves nothing behind. */
static void running_out_of_memory_leaves_nothing(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program, other = {0};
	struct fakegpu_alloc alloc = {.size = 4096};
	struct fakegpu_channel_create create = {.flags = 1, .ring_size = 4096};
	long n;

	for (n = 0; (fail_after = n, program_open(device, FGPU_NODE_GPU, &other)); n++)
		CHECK(!other.backing.ranges && n < 20);
	fail_after = -1;
	fgpu_context_close(other.context);
	program = gpu_open(device);
	for (n = 0; (fail_after = n, call(program, FAKEGPU_IOC_ALLOC, &alloc)); n++)
		CHECK(n < 20);
	fail_after = -1;
	CHECK_EQ(ctx_info(program).bytes, 4096);
	for (n = 0; (fail_after = n, call(program, FAKEGPU_IOC_CHANNEL_CREATE, &create)); n++)
		CHECK(n < 20);
	fail_after = -1;
	CHECK_EQ(ctx_info(program).channels, 1);
	CHECK_EQ(create.index, 0);
	CHECK_EQ(vram_used(program), 4096);
	program_close(program);
	fgpu_device_destroy(device);
}

static void undo_takes_back(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program = gpu_open(device);
	struct fakegpu_alloc alloc = {.size = 5000};
	struct fakegpu_channel_create create = {.flags = 1, .ring_size = 4096};
	struct fakegpu_submit arg = {.channel = channel_new(program)};
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = 8};
	struct fakegpu_ctx_info before = ctx_info(program), after;
	struct fgpu_context *context = program->context;

	arg.packets = (uintptr_t)&nop;
	arg.length = 8;
	fgpu_device_lock(device);
	CHECK_EQ(fgpu_ioctl_locked(context, FAKEGPU_IOC_ALLOC, &alloc, NULL), 0);
	fgpu_ioctl_undo_locked(context, FAKEGPU_IOC_ALLOC, &alloc);
	CHECK_EQ(fgpu_ioctl_locked(context, FAKEGPU_IOC_CHANNEL_CREATE, &create, NULL), 0);
	fgpu_ioctl_undo_locked(context, FAKEGPU_IOC_CHANNEL_CREATE, &create);
	CHECK_EQ(fgpu_ioctl_locked(context, FAKEGPU_IOC_SUBMIT, &arg, &nop), 0);
	CHECK_EQ(arg.seqno, 1);
	fgpu_ioctl_undo_locked(context, FAKEGPU_IOC_SUBMIT, &arg);
	fgpu_device_unlock(device);
	after = ctx_info(program);
	CHECK(!memcmp(&before, &after, sizeof(before)));
	CHECK(!fgpu_engine_polls(device));
	settle(device);
	CHECK_EQ(ctx_info(program).completions, 0);
	CHECK_EQ(call(program, FAKEGPU_IOC_SUBMIT, &arg), 0);
	CHECK_EQ(arg.seqno, 1); /* as if the first had never been */
	settle(device);
	CHECK_EQ(ctx_info(program).completions, 1);
	program_close(program);
	fgpu_device_destroy(device);
}

static void closing_tells_and_frees(void)
{
	struct fgpu_device *device = device_new(0, 1);
	struct program *program = gpu_open(device);
	struct ring ring = ring_new(program, 4096);
	uint32_t channel = channel_new(program);
	struct fakegpu_packet_delay delay = delay_packet(1000000000);

	buffer_new(program, 4096);
	ring_delay(&ring, 1000);
	ring_bell(&ring);
	CHECK_EQ(submit(program, channel, &delay, sizeof(delay), NULL), 0);
	fgpu_engine_step(device); /* leave it in the middle of its work */
	program_close(program);	  /* checks the backing; the sanitizer checks the rest */
	CHECK_EQ(record.events[FGPU_EVENT_CONTEXT_OPEN], 1);
	CHECK_EQ(record.events[FGPU_EVENT_CONTEXT_CLOSE], 1);
	CHECK(fgpu_engine_step(device) == UINT64_MAX);
	fgpu_device_destroy(device);
}

SUITE(test_context, TEST(quota_is_exact), TEST(the_device_can_be_full),
      TEST(contexts_do_not_see_each_other), TEST(ids_are_unique_across_devices),
      TEST(offsets_come_round_and_never_overlap), TEST(handles_last), TEST(channels_have_slots),
      TEST(running_out_of_memory_leaves_nothing), TEST(undo_takes_back),
      TEST(closing_tells_and_frees));
