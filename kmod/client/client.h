/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inside fakegpu-client. It speaks the raw UAPI: no UMD, nothing shared with
 * the driver but the header. client_device.c wraps the calls, the other
 * client_*.c each hold a table of checks.
 *
 * A check returns whether it passed; on failure it has said why, once.
 * What it opened closes by itself (the *_CLEANUP attributes).
 */
#ifndef FAKEGPU_CLIENT_H
#define FAKEGPU_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../uapi/fakegpu.h"

#define CTL_NODE "/dev/fakegpuctl"
#define UVM_NODE "/dev/fakegpu-uvm"
#define SECOND_NS 1000000000ULL
#define PATIENCE_NS (10 * SECOND_NS) /* a wait that is expected to end, ends long before */

/**
 * struct check - one row of a table; a table ends with a NULL name
 * @name: as printed and as --only takes it
 * @run: the check
 */
struct check {
	const char *name;
	bool (*run)(void);
};

extern const struct check checks_context[], checks_job[], checks_ring[], checks_poison[],
	checks_refuse[], checks_eventfd[];

extern unsigned int device_index; /* --device */

/* Says why the running check fails; returns false. */
__attribute__((format(printf, 1, 2))) bool fail(const char *format, ...);
const char *fail_reason(void); /* what was said last */

#define TRY(expression)                                                                            \
	do {                                                                                       \
		if (!(expression))                                                                 \
			return false;                                                              \
	} while (0)
#define EXPECT(condition, ...)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return fail(__VA_ARGS__);                                                  \
	} while (0)

/* The call must end with errno @want (0: succeed); @fd is any descriptor. */
#define EXPECT_CALL(want, fd, name, arg)                                                           \
	TRY(expect_errno(#name, want, call(fd, FAKEGPU_IOC_##name, arg)))
/* The same for an argument that is given in place, which then also names the case. */
#define ANSWER(want, fd, name, type, ...)                                                          \
	TRY(expect_errno(#name "(" #__VA_ARGS__ ")", want,                                         \
			 call(fd, FAKEGPU_IOC_##name, &(struct type){__VA_ARGS__})))

int call(int fd, unsigned long command, void *arg); /* 0 or errno */
bool expect_errno(const char *what, int want, int got);
const char *error_name(int error);

/**
 * struct context - an open device
 * @fd: -1 when closed
 * @doorbells: mapped by context_map()
 * @fences: mapped by context_map()
 * @completions: mapped by context_map()
 */
struct context {
	int fd;
	struct fakegpu_doorbell_slot *doorbells;
	const struct fakegpu_fence_slot *fences;
	const struct fakegpu_completion_head *completions;
};
#define CONTEXT_CLEANUP __attribute__((cleanup(context_close))) = {.fd = -1}

int node_open(const char *path, int flags); /* descriptor or -errno */
int device_open(int flags);		    /* of --device */
bool context_open(struct context *context);
bool context_map(struct context *context); /* the three shared areas */
void context_close(struct context *context);
bool context_info(struct context *context, struct fakegpu_ctx_info *info);

/**
 * struct buffer - device memory, mapped
 * @handle: the driver's
 * @size: bytes, as asked for
 * @map: NULL when not mapped
 * @length: bytes mapped
 */
struct buffer {
	uint32_t handle;
	uint64_t size;
	void *map;
	uint64_t length;
};
#define BUFFER_CLEANUP __attribute__((cleanup(buffer_unmap))) = {0}

bool map_object(struct context *context, uint32_t what, uint32_t handle, int prot, void **map,
		uint64_t *length);
bool buffer_make(struct context *context, uint64_t size, struct buffer *buffer);
void buffer_unmap(struct buffer *buffer);

/**
 * struct channel - a channel, with what this program must remember of it
 * @context: owner
 * @handle: the driver's
 * @index: its slot
 * @size: of the ring; 0 = SUBMIT channel
 * @ring: mapped ring
 * @wptr: bytes written
 * @seqno: of the last job
 */
struct channel {
	struct context *context;
	uint32_t handle;
	uint32_t index;
	uint32_t size;
	uint8_t *ring;
	uint32_t wptr;
	uint64_t seqno;
};
#define CHANNEL_CLEANUP __attribute__((cleanup(channel_unmap))) = {0}

bool channel_make(struct context *context, uint32_t ring_size, struct channel *channel);
void channel_unmap(struct channel *channel);

bool submit(struct channel *channel, const void *packets, uint32_t length); /* one job */
int wait_errno(struct channel *channel, uint64_t seqno, uint64_t deadline_ns);
bool wait_done(struct channel *channel); /* for the last job, patiently */

/* The ring: the caller sees to it that there is room. */
void ring_put(struct channel *channel, const void *packet); /* pads at the ring's end */
void ring_fence(struct channel *channel);		    /* ends the job */
void ring_publish(struct channel *channel);		    /* rings the doorbell */
const struct fakegpu_fence_slot *fence_slot(const struct channel *channel);
/* Polls the fence page, without a call, until @seqno or @rptr is there. */
bool poll_seqno(const struct channel *channel, uint64_t seqno);
bool poll_rptr(const struct channel *channel, uint32_t rptr);

/* Packets. */
#define PACKET(type, operation, ...)                                                               \
	((struct type){.head = {.op = (operation), .size = sizeof(struct type)}, __VA_ARGS__})
#define FILL(...) PACKET(fakegpu_packet_fill, FAKEGPU_OP_FILL, __VA_ARGS__)
#define COPY(...) PACKET(fakegpu_packet_copy, FAKEGPU_OP_COPY, __VA_ARGS__)
#define VECADD(...) PACKET(fakegpu_packet_vecadd, FAKEGPU_OP_VECADD, __VA_ARGS__)
#define DELAY(...) PACKET(fakegpu_packet_delay, FAKEGPU_OP_DELAY, __VA_ARGS__)
#define FENCE(...) PACKET(fakegpu_packet_fence, FAKEGPU_OP_FENCE, __VA_ARGS__)
#define FAULT(...) PACKET(fakegpu_packet_fault, FAKEGPU_OP_FAULT, __VA_ARGS__)

#endif
