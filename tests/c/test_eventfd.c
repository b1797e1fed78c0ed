// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Eventfds bound to fences: each ends once, and is signalled when a WAIT would
 * not block any more, whatever the reason.
 */
#include "rig.h"

static struct fgpu_device *device;
static struct program *program;
static uint32_t channel;
static struct fake_eventfd eventfd;

static void set_up(void)
{
	device = device_new(0, 1);
	program = gpu_open(device);
	channel = channel_new(program);
	eventfd = (struct fake_eventfd){0};
}

static void tear_down(void)
{
	program_close(program);
	fgpu_device_destroy(device);
}

/* As a driver does it that has found `error`, or `eventfd`. */
static int bind_found(uint32_t handle, uint64_t seqno, int error)
{
	struct fakegpu_fence_eventfd bind = {.channel = handle, .seqno = seqno, .fd = 5};
	struct fgpu_eventfd found = {.error = error, .object = error ? NULL : &eventfd};

	return fgpu_ioctl(program->context, FAKEGPU_IOC_FENCE_EVENTFD, &bind, &found);
}

static int bind(uint64_t seqno)
{
	return bind_found(channel, seqno, 0);
}

static void work(void)
{
	struct fakegpu_packet_delay packet = delay_packet(1000);

	CHECK_EQ(submit(program, channel, &packet, sizeof(packet), NULL), 0);
}

static void a_fence_signals_it_once(void)
{
	set_up();
	CHECK_EQ(bind(2), 0);
	work();
	settle(device);
	CHECK_EQ(eventfd.ends, 0);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 1);
	CHECK_EQ(eventfd.ends, 1);
	work();
	settle(device);
	CHECK_EQ(eventfd.ends, 1);
	CHECK_EQ(bind(3), 0); /* reached already */
	CHECK_EQ(eventfd.signals, 2);
	tear_down();
	CHECK_EQ(eventfd.ends, 2);
}

static void many_wait_for_one_fence(void)
{
	int i;

	set_up();
	for (i = 0; i < 23; i++)
		CHECK_EQ(bind(1 + i % 2), 0);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 12);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 23);
	tear_down();
}

static void the_end_of_what_is_waited_for_signals_it(void)
{
	struct fakegpu_channel_destroy destroy;
	struct fakegpu_packet_fault fault = fault_packet(13);
	uint32_t other;

	set_up();
	other = channel_new(program);
	CHECK_EQ(bind_found(other, 1, 0), 0);
	destroy = (struct fakegpu_channel_destroy){.handle = other};
	CHECK_EQ(call(program, FAKEGPU_IOC_CHANNEL_DESTROY, &destroy), 0);
	CHECK_EQ(eventfd.signals, 1);
	other = channel_new(program);
	CHECK_EQ(bind_found(other, 1, 0), 0);
	CHECK_EQ(bind(7), 0);
	CHECK_EQ(submit(program, channel, &fault, sizeof(fault), NULL), 0);
	settle(device);
	CHECK_EQ(eventfd.signals, 3);
	CHECK_EQ(bind(8), -EIO);
	tear_down();
	CHECK_EQ(eventfd.ends, 3);
}

static void off_bus_and_close_signal_it(void)
{
	char why[64];

	set_up();
	CHECK_EQ(bind(1), 0);
	CHECK_EQ(fgpu_fault_set(device, "off-bus", why, sizeof(why)), 0);
	CHECK_EQ(eventfd.signals, 1);
	CHECK_EQ(bind(1), -ENODEV);
	fgpu_fault_clear(device);
	CHECK_EQ(bind(1), 0);
	tear_down();
	CHECK_EQ(eventfd.signals, 2);
	CHECK_EQ(eventfd.ends, 2);
}

static void a_fence_that_is_swallowed_does_not_signal_it(void)
{
	char why[64];

	set_up();
	CHECK_EQ(fgpu_fault_set(device, "no-fence", why, sizeof(why)), 0);
	CHECK_EQ(bind(1), 0);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 0);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 1);
	tear_down();
}

static void a_failed_call_keeps_nothing(void)
{
	struct fakegpu_fence_eventfd flags = {.channel = 1, .flags = 1};
	int i;

	set_up();
	CHECK_EQ(bind_found(12345, 1, 0), -ENOENT);
	CHECK_EQ(bind_found(12345, 1, -EBADF), -ENOENT);
	CHECK_EQ(bind_found(channel, 1, -EBADF), -EBADF);
	CHECK_EQ(bind_found(channel, 1, -EINVAL), -EINVAL);
	CHECK_EQ(call(program, FAKEGPU_IOC_FENCE_EVENTFD, &flags), -EINVAL);
	flags.flags = 0;
	flags.channel = channel;
	CHECK_EQ(call(program, FAKEGPU_IOC_FENCE_EVENTFD, &flags), -EBADF);
	fail_after = 0;
	CHECK_EQ(bind(1), -ENOMEM);
	fail_after = -1;
	CHECK_EQ(eventfd.ends, 0);
	for (i = 0; i < 1024; i++)
		CHECK_EQ(bind(1), 0);
	CHECK_EQ(bind(1), -EAGAIN);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 1024);
	CHECK_EQ(bind(2), 0); /* there is room again */
	tear_down();
	CHECK_EQ(eventfd.ends, 1025);
}

static void undo_takes_back_the_newest(void)
{
	struct fakegpu_fence_eventfd taken;

	set_up();
	taken = (struct fakegpu_fence_eventfd){.channel = channel, .seqno = 1, .fd = 5};
	CHECK_EQ(bind(1), 0);
	CHECK_EQ(bind(1), 0);
	fgpu_device_lock(device);
	fgpu_ioctl_undo_locked(program->context, FAKEGPU_IOC_FENCE_EVENTFD, &taken);
	fgpu_device_unlock(device);
	CHECK_EQ(eventfd.signals, 0);
	CHECK_EQ(eventfd.ends, 1);
	work();
	settle(device);
	CHECK_EQ(eventfd.signals, 1);
	CHECK_EQ(eventfd.ends, 2);
	tear_down();
}

SUITE(test_eventfd, TEST(a_fence_signals_it_once), TEST(many_wait_for_one_fence),
      TEST(the_end_of_what_is_waited_for_signals_it), TEST(off_bus_and_close_signal_it),
      TEST(a_fence_that_is_swallowed_does_not_signal_it), TEST(a_failed_call_keeps_nothing),
      TEST(undo_takes_back_the_newest));
