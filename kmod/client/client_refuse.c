// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Refused input: one thing wrong in each call, all else right, and its errno. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "client.h"
#include "common.h"

#define NO_SUCH 12345 /* a handle nobody gave out */
#define BAD_POINTER 16

/* A context with one of everything, healthy. */
struct bench {
	struct context context;
	struct buffer buffer;
	struct channel ring;
	struct channel queue;
};

static void bench_close(struct bench *bench)
{
	channel_unmap(&bench->ring);
	buffer_unmap(&bench->buffer);
	context_close(&bench->context);
}
#define BENCH_CLEANUP __attribute__((cleanup(bench_close))) = {.context.fd = -1}

static bool bench_open(struct bench *bench)
{
	TRY(context_open(&bench->context));
	TRY(buffer_make(&bench->context, FAKEGPU_PAGE, &bench->buffer));
	TRY(channel_make(&bench->context, FAKEGPU_RING_MIN, &bench->ring));
	return channel_make(&bench->context, 0, &bench->queue);
}

static bool refuse_open(void)
{
	static const int flags[] = {O_RDONLY, O_WRONLY};

	for (size_t i = 0; i < 2; i++) {
		int fd = device_open(flags[i]);

		if (fd >= 0)
			close(fd);
		TRY(expect_errno(i ? "open for writing only" : "open for reading only", EACCES,
				 fd < 0 ? -fd : 0));
	}
	return true;
}

static bool refuse_number(void)
{
	struct context context CONTEXT_CLEANUP;
	char arg[1024] = {0};

	TRY(context_open(&context));
	TRY(expect_errno(
		"nr 0x3f", ENOTTY,
		call(context.fd, _IOWR(FAKEGPU_IOC_TYPE, 0x3f, struct fakegpu_info), arg)));
	TRY(expect_errno("nr 0", ENOTTY, call(context.fd, _IO(FAKEGPU_IOC_TYPE, 0), arg)));
	TRY(expect_errno("ALLOC with another size", ENOTTY,
			 call(context.fd, _IOWR(FAKEGPU_IOC_TYPE, 3, struct fakegpu_map), arg)));
	TRY(expect_errno("ALLOC with another direction", ENOTTY,
			 call(context.fd, _IOW(FAKEGPU_IOC_TYPE, 3, struct fakegpu_alloc), arg)));
	TRY(expect_errno("another driver's type", ENOTTY,
			 call(context.fd, _IOWR('F', 3, struct fakegpu_alloc), arg)));
	ANSWER(ENOTTY, context.fd, UVM_INIT, fakegpu_uvm_init, .flags = 0);
	return true;
}

static bool refuse_pointer(void)
{
	static const unsigned long commands[] = {
		FAKEGPU_IOC_INFO,   FAKEGPU_IOC_CHECK_VERSION,
		FAKEGPU_IOC_ALLOC,  FAKEGPU_IOC_FREE,
		FAKEGPU_IOC_MAP,    FAKEGPU_IOC_CHANNEL_CREATE,
		FAKEGPU_IOC_SUBMIT, FAKEGPU_IOC_CHANNEL_DESTROY,
		FAKEGPU_IOC_WAIT,   FAKEGPU_IOC_CTX_INFO,
		FAKEGPU_IOC_USAGE,  FAKEGPU_IOC_PROCESSES,
	};
	struct bench bench BENCH_CLEANUP;

	TRY(bench_open(&bench));
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		int fd = bench.context.fd, got = call(fd, commands[i], NULL);

		EXPECT(got == EFAULT, "nr %lu at NULL: %s", _IOC_NR(commands[i]), error_name(got));
		got = call(fd, commands[i], (void *)BAD_POINTER);
		EXPECT(got == EFAULT, "nr %lu at 16: %s", _IOC_NR(commands[i]), error_name(got));
	}
	ANSWER(EFAULT, bench.context.fd, SUBMIT, fakegpu_submit, .channel = bench.queue.handle,
	       .packets = BAD_POINTER, .length = 8);
	return true;
}

static bool refuse_info(void)
{
	struct context context CONTEXT_CLEANUP;
	struct fakegpu_check_version endless = {.mode = FAKEGPU_VERSION_STRICT};

	TRY(context_open(&context));
	ANSWER(EINVAL, context.fd, INFO, fakegpu_info, .flags = 1);
	ANSWER(EINVAL, context.fd, CTX_INFO, fakegpu_ctx_info, .flags = 0x80000000);
	ANSWER(EINVAL, context.fd, USAGE, fakegpu_usage, .flags = 1);
	ANSWER(EINVAL, context.fd, USAGE, fakegpu_usage, .pad = 1);
	ANSWER(EINVAL, context.fd, PROCESSES, fakegpu_processes, .flags = 1);
	ANSWER(EINVAL, context.fd, CHECK_VERSION, fakegpu_check_version, .mode = 2);
	memset(endless.version, '5', sizeof(endless.version));
	EXPECT_CALL(EINVAL, context.fd, CHECK_VERSION, &endless);
	return true;
}

static bool refuse_alloc(void)
{
	struct bench bench BENCH_CLEANUP;
	int fd;

	TRY(bench_open(&bench));
	fd = bench.context.fd;
	ANSWER(EINVAL, fd, ALLOC, fakegpu_alloc, .size = 0);
	ANSWER(EINVAL, fd, ALLOC, fakegpu_alloc, .size = FAKEGPU_PAGE, .flags = 1);
	ANSWER(EOVERFLOW, fd, ALLOC, fakegpu_alloc, .size = UINT64_MAX);
	ANSWER(EOVERFLOW, fd, ALLOC, fakegpu_alloc, .size = UINT64_MAX - FAKEGPU_PAGE + 2);
	ANSWER(EDQUOT, fd, ALLOC, fakegpu_alloc, .size = UINT64_MAX - FAKEGPU_PAGE + 1);
	ANSWER(ENOENT, fd, FREE, fakegpu_free, .handle = 0);
	ANSWER(ENOENT, fd, FREE, fakegpu_free, .handle = NO_SUCH);
	ANSWER(ENOENT, fd, FREE, fakegpu_free, .handle = bench.queue.handle);
	ANSWER(EINVAL, fd, FREE, fakegpu_free, .handle = bench.buffer.handle, .pad = 1);
	ANSWER(0, fd, FREE, fakegpu_free, .handle = bench.buffer.handle);
	ANSWER(ENOENT, fd, FREE, fakegpu_free, .handle = bench.buffer.handle);
	return true;
}

static bool refuse_map(void)
{
	struct bench bench BENCH_CLEANUP;
	struct fakegpu_map map = {.what = FAKEGPU_MAP_BUFFER};
	uint32_t buffer;
	long got;
	int fd;

	TRY(bench_open(&bench));
	fd = bench.context.fd;
	buffer = bench.buffer.handle;
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .what = 5);
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .handle = buffer, .flags = 1);
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .handle = buffer, .pad = 1);
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_DOORBELL, .handle = buffer);
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_FENCE, .handle = buffer);
	ANSWER(EINVAL, fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_COMPLETION, .handle = buffer);
	ANSWER(ENOENT, fd, MAP, fakegpu_map, .handle = 0);
	ANSWER(ENOENT, fd, MAP, fakegpu_map, .handle = NO_SUCH);
	ANSWER(ENOENT, fd, MAP, fakegpu_map, .handle = bench.ring.handle);
	ANSWER(ENOENT, fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_RING, .handle = buffer);
	ANSWER(ENOENT, fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_RING, .handle = NO_SUCH);
	map.handle = buffer;
	EXPECT_CALL(0, fd, MAP, &map);
	/* the C library would refuse this one before the kernel sees it */
	got = syscall(SYS_mmap, NULL, FAKEGPU_PAGE, PROT_READ, MAP_SHARED, fd, map.offset + 8);
	TRY(expect_errno("mmap at half a page", EINVAL, got == -1 ? errno : 0));
	return true;
}

static bool refuse_channel(void)
{
	struct bench bench BENCH_CLEANUP;
	static const uint32_t sizes[] = {0,
					 8,
					 FAKEGPU_RING_MIN / 2,
					 FAKEGPU_RING_MIN + 8,
					 3 * FAKEGPU_RING_MIN,
					 2 * FAKEGPU_RING_MAX};
	int fd;

	TRY(bench_open(&bench));
	fd = bench.context.fd;
	ANSWER(EINVAL, fd, CHANNEL_CREATE, fakegpu_channel_create, .flags = 2);
	ANSWER(EINVAL, fd, CHANNEL_CREATE, fakegpu_channel_create, .ring_size = FAKEGPU_RING_MIN);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		ANSWER(EINVAL, fd, CHANNEL_CREATE, fakegpu_channel_create,
		       .flags = FAKEGPU_CHANNEL_RING, .ring_size = sizes[i]);
	ANSWER(ENOENT, fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = 0);
	ANSWER(ENOENT, fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = NO_SUCH);
	ANSWER(ENOENT, fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = bench.buffer.handle);
	ANSWER(EINVAL, fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = bench.queue.handle,
	       .pad = 1);
	return true;
}

static bool refuse_submit(void)
{
	struct bench bench BENCH_CLEANUP;
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = sizeof(nop)};
	const uint64_t packets = (uintptr_t)&nop;
	uint32_t queue;
	int fd;

	TRY(bench_open(&bench));
	fd = bench.context.fd;
	queue = bench.queue.handle;
#define SUBMIT_ANSWER(want, ...)                                                                   \
	ANSWER(want, fd, SUBMIT, fakegpu_submit, .packets = packets, __VA_ARGS__)
	SUBMIT_ANSWER(ENOENT, .channel = 0, .length = 8);
	SUBMIT_ANSWER(ENOENT, .channel = NO_SUCH, .length = 8);
	SUBMIT_ANSWER(ENOENT, .channel = bench.buffer.handle, .length = 8);
	SUBMIT_ANSWER(EINVAL, .channel = bench.ring.handle, .length = 8);
	SUBMIT_ANSWER(EINVAL, .channel = queue, .length = 8, .flags = 1);
	SUBMIT_ANSWER(EINVAL, .channel = queue, .length = 8, .pad = 1);
	SUBMIT_ANSWER(EINVAL, .channel = queue, .length = 0);
	SUBMIT_ANSWER(EINVAL, .channel = queue, .length = 4);
	SUBMIT_ANSWER(E2BIG, .channel = queue, .length = FAKEGPU_SUBMIT_MAX + 8);
	SUBMIT_ANSWER(0, .channel = queue, .length = 8);
	bench.queue.seqno = 1;
	return wait_done(&bench.queue);
}

/* The driver looks at the packets before it takes the job. */
static bool refuse_packet(void)
{
	struct bench bench BENCH_CLEANUP;
	const struct {
		const char *what;
		union {
			struct fakegpu_packet head;
			struct fakegpu_packet_fence fence;
			struct fakegpu_packet_delay delay;
			struct fakegpu_packet_fault fault;
			struct fakegpu_packet_fill fill;
		} packet;
	} cases[] = {
		{"a FENCE", {.fence = FENCE(.seqno = 1)}},
		{"an unknown op", {.head = {.op = 99, .size = 32}}},
		{"no size", {.head = {.size = 0}}},
		{"a size of 12", {.head = {.size = 12}}},
		{"a size past the end", {.head = {.size = 40}}},
		{"a size that is not its op's", {.head = {.op = FAKEGPU_OP_FILL, .size = 16}}},
		{"a flag", {.head = {.size = 32, .flags = 1}}},
		{"a delay over 10 s", {.delay = DELAY(.ns = 10 * SECOND_NS + 1)}},
		{"a fault that is none", {.fault = FAULT(.xid = 79)}},
		{"a fault with padding", {.fault = FAULT(.xid = 13, .pad = 1)}},
		{"an odd fill offset", {.fill = FILL(.handle = 1, .offset = 2, .length = 4)}},
		{"an odd fill length", {.fill = FILL(.handle = 1, .length = 6)}},
	};
	struct fakegpu_ctx_info info;

	TRY(bench_open(&bench));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fakegpu_submit job = {.channel = bench.queue.handle,
					     .packets = (uintptr_t)&cases[i].packet,
					     .length = sizeof(cases[i].packet)};
		uint16_t size = cases[i].packet.head.size;

		if (size >= 8 && size % 8 == 0 && size < job.length)
			job.length = size;
		TRY(expect_errno(cases[i].what, EINVAL,
				 call(bench.context.fd, FAKEGPU_IOC_SUBMIT, &job)));
	}
	TRY(context_info(&bench.context, &info));
	EXPECT(info.submits == 0 && !info.poisoned, "a refused job was counted or did harm");
	return true;
}

static bool refuse_wait(void)
{
	struct bench bench BENCH_CLEANUP;
	int fd;

	TRY(bench_open(&bench));
	fd = bench.context.fd;
	ANSWER(ENOENT, fd, WAIT, fakegpu_wait, .channel = 0);
	ANSWER(ENOENT, fd, WAIT, fakegpu_wait, .channel = NO_SUCH);
	ANSWER(ENOENT, fd, WAIT, fakegpu_wait, .channel = bench.buffer.handle);
	ANSWER(EINVAL, fd, WAIT, fakegpu_wait, .channel = bench.queue.handle, .flags = 1);
	ANSWER(ETIME, fd, WAIT, fakegpu_wait, .channel = bench.queue.handle, .seqno = 1);
	ANSWER(0, fd, WAIT, fakegpu_wait, .channel = bench.queue.handle, .seqno = 0);
	return true;
}

const struct check checks_refuse[] = {
	{"refuse-open", refuse_open},
	{"refuse-number", refuse_number},
	{"refuse-pointer", refuse_pointer},
	{"refuse-info", refuse_info},
	{"refuse-alloc", refuse_alloc},
	{"refuse-map", refuse_map},
	{"refuse-channel", refuse_channel},
	{"refuse-submit", refuse_submit},
	{"refuse-packet", refuse_packet},
	{"refuse-wait", refuse_wait},
	{0},
};
