// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Eventfds bound to fences: raised once each, when a WAIT would not block, whatever ended it. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "client.h"
#include "common.h"

#define PATIENCE_MS (int)(PATIENCE_NS / 1000000)
#define NO_SUCH 12345

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define FD_CLEANUP __attribute__((cleanup(close_fd)))

static int bind_errno(struct channel *channel, uint64_t seqno, int fd)
{
	struct fakegpu_fence_eventfd bind = {.channel = channel->handle, .seqno = seqno, .fd = fd};

	return call(channel->context->fd, FAKEGPU_IOC_FENCE_EVENTFD, &bind);
}

static bool bind_to(struct channel *channel, uint64_t seqno, int fd)
{
	return expect_errno("FENCE_EVENTFD", 0, bind_errno(channel, seqno, fd));
}

/* Waits in poll(2), as an event loop does. */
static bool raised(int fd, uint64_t want)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	uint64_t count = 0;

	EXPECT(poll(&poller, 1, PATIENCE_MS) == 1, "the eventfd was not raised");
	EXPECT(read(fd, &count, sizeof(count)) == sizeof(count), "reading it: %s",
	       error_name(errno));
	EXPECT(count == want, "it counts %llu, want %llu", (unsigned long long)count,
	       (unsigned long long)want);
	return true;
}

static bool quiet(int fd)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	EXPECT(poll(&poller, 1, 0) == 0, "an eventfd was raised too early, or twice");
	return true;
}

static bool by_fence(void)
{
	struct fakegpu_packet_delay packet = DELAY(.ns = SECOND_NS / 50);
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	int first FD_CLEANUP = eventfd(0, EFD_CLOEXEC), second FD_CLEANUP = eventfd(0, EFD_CLOEXEC);

	TRY(context_open(&context));
	TRY(channel_make(&context, 0, &channel));
	TRY(bind_to(&channel, 1, first));
	TRY(bind_to(&channel, 2, second));
	TRY(quiet(first));
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(raised(first, 1));
	TRY(expect_errno("WAIT for what was told", 0, wait_errno(&channel, 1, 0)));
	TRY(quiet(second));
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(raised(second, 1));
	return quiet(first);
}

/* A job behind a doorbell; one that is over; several fences on one eventfd; a full counter. */
static bool counts(void)
{
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	int fd FD_CLEANUP = eventfd(0, EFD_CLOEXEC), full FD_CLEANUP = eventfd(0, EFD_CLOEXEC);
	const uint64_t most = UINT64_MAX - 1;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(channel_make(&context, FAKEGPU_RING_MIN, &channel));
	EXPECT(write(full, &most, sizeof(most)) == sizeof(most), "write: %s", error_name(errno));
	TRY(bind_to(&channel, 1, full));
	for (uint64_t seqno = 1; seqno <= 3; seqno++)
		TRY(bind_to(&channel, seqno, fd));
	for (int i = 0; i < 3; i++)
		ring_fence(&channel);
	ring_publish(&channel);
	TRY(wait_done(&channel));
	TRY(raised(fd, 3));
	TRY(bind_to(&channel, 2, fd));
	return raised(fd, 1);
}

/* It need not stay open; and it is not the last holder of the context. */
static bool closed(void)
{
	struct fakegpu_packet_delay packet = DELAY(.ns = SECOND_NS / 50);
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	int fd = eventfd(0, EFD_CLOEXEC), copy FD_CLEANUP = dup(fd);

	TRY(context_open(&context));
	TRY(channel_make(&context, 0, &channel));
	TRY(bind_to(&channel, 1, fd));
	close(fd);
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(raised(copy, 1));
	TRY(bind_to(&channel, 2, copy));
	context_close(&context);
	return raised(copy, 1);
}

/* Nobody is left waiting for what won't come. */
static bool by_loss(void)
{
	struct fakegpu_packet_fault fault = FAULT(.xid = 13);
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP, other CHANNEL_CLEANUP;
	int fd FD_CLEANUP = eventfd(0, EFD_CLOEXEC), bystander FD_CLEANUP = eventfd(0, EFD_CLOEXEC);

	TRY(context_open(&context));
	TRY(channel_make(&context, 0, &channel));
	TRY(channel_make(&context, 0, &other));
	TRY(bind_to(&other, 1, fd));
	ANSWER(0, context.fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = other.handle);
	TRY(raised(fd, 1));
	TRY(channel_make(&context, 0, &other));
	TRY(bind_to(&channel, 5, fd));
	TRY(bind_to(&other, 1, bystander));
	TRY(submit(&channel, &fault, sizeof(fault)));
	TRY(raised(fd, 1));
	TRY(raised(bystander, 1));
	TRY(expect_errno("WAIT after the fault", EIO, wait_errno(&channel, 5, 0)));
	return expect_errno("FENCE_EVENTFD after it", EIO, bind_errno(&channel, 6, fd));
}

static bool refused(void)
{
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	int fd FD_CLEANUP = eventfd(0, EFD_CLOEXEC), null FD_CLEANUP = node_open("/dev/null", 2);
	int bound = 0, error = 0;

	TRY(context_open(&context));
	TRY(channel_make(&context, 0, &channel));
#define BIND_ANSWER(want, ...)                                                                     \
	ANSWER(want, context.fd, FENCE_EVENTFD, fakegpu_fence_eventfd, __VA_ARGS__)
	BIND_ANSWER(EINVAL, .channel = channel.handle, .seqno = 1, .fd = fd, .flags = 1);
	BIND_ANSWER(EINVAL, .channel = channel.handle, .seqno = 1, .fd = fd, .pad = 1);
	BIND_ANSWER(ENOENT, .channel = 0, .seqno = 1, .fd = fd);
	BIND_ANSWER(ENOENT, .channel = NO_SUCH, .seqno = 1, .fd = -1);
	BIND_ANSWER(EBADF, .channel = channel.handle, .seqno = 1, .fd = -1);
	BIND_ANSWER(EBADF, .channel = channel.handle, .seqno = 1, .fd = NO_SUCH);
	BIND_ANSWER(EINVAL, .channel = channel.handle, .seqno = 1, .fd = null);
	BIND_ANSWER(EINVAL, .channel = channel.handle, .seqno = 1, .fd = context.fd);
	TRY(expect_errno("FENCE_EVENTFD at NULL", EFAULT,
			 call(context.fd, FAKEGPU_IOC_FENCE_EVENTFD, NULL)));
	while (!error && bound <= 1024) {
		error = bind_errno(&channel, 1, fd);
		bound += !error;
	}
	EXPECT(error == EAGAIN && bound == 1024, "%s after %d", error_name(error), bound);
	return true;
}

const struct check checks_eventfd[] = {
	{"eventfd-by-fence", by_fence}, {"eventfd-counts", counts},   {"eventfd-closed", closed},
	{"eventfd-by-loss", by_loss},	{"eventfd-refused", refused}, {0},
};
