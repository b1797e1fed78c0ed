// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

#define RING_SIZE FAKEGPU_RING_MIN

void give_up(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", file, line, what, strerror(errno));
	_exit(1);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void *map_object(int fd, uint32_t what, uint32_t handle, uint64_t *length)
{
	struct fakegpu_map map = {.what = what, .handle = handle};
	void *at;

	CHECK(!ioctl(fd, FAKEGPU_IOC_MAP, &map));
	at = mmap(NULL, map.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map.offset);
	CHECK(at != MAP_FAILED);
	if (length)
		*length = map.length;
	return at;
}

uint32_t make_channel(int fd, uint32_t ring_size, uint32_t *index)
{
	struct fakegpu_channel_create create = {.flags = ring_size ? FAKEGPU_CHANNEL_RING : 0,
						.ring_size = ring_size};

	CHECK(!ioctl(fd, FAKEGPU_IOC_CHANNEL_CREATE, &create));
	if (index)
		*index = create.index;
	return create.handle;
}

uint32_t make_buffer(int fd, uint64_t size)
{
	struct fakegpu_alloc alloc = {.size = size};

	CHECK(!ioctl(fd, FAKEGPU_IOC_ALLOC, &alloc));
	return alloc.handle;
}

void rig_open(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->fd = open(NODE, O_RDWR | O_CLOEXEC);
	CHECK(rig->fd >= 0);
	rig->doorbells = map_object(rig->fd, FAKEGPU_MAP_DOORBELL, 0, NULL);
	rig->fences = map_object(rig->fd, FAKEGPU_MAP_FENCE, 0, NULL);
	rig->channel = make_channel(rig->fd, RING_SIZE, &rig->index);
	rig->ring = map_object(rig->fd, FAKEGPU_MAP_RING, rig->channel, NULL);
}

void rig_launch(struct rig *rig)
{
	struct fakegpu_packet_fence fence = {
		.head = {.op = FAKEGPU_OP_FENCE, .size = sizeof(fence)}, .seqno = ++rig->seqno};

	memcpy((char *)rig->ring + rig->wptr % RING_SIZE, &fence, sizeof(fence));
	rig->wptr += sizeof(fence);
	__atomic_store_n(&rig->doorbells[rig->index].wptr, rig->wptr, __ATOMIC_RELEASE);
}

void rig_await(const struct rig *rig)
{
	uint64_t deadline = now_ns() + PATIENCE;

	while (__atomic_load_n(&rig->fences[rig->index].seqno, __ATOMIC_ACQUIRE) < rig->seqno) {
		CHECK(now_ns() < deadline);
		sched_yield();
	}
}

uint64_t submit_nop(int fd, uint32_t channel)
{
	struct fakegpu_packet nop = {.op = FAKEGPU_OP_NOP, .size = sizeof(nop)};
	struct fakegpu_submit submit = {
		.channel = channel, .packets = (uintptr_t)&nop, .length = sizeof(nop)};

	CHECK(!ioctl(fd, FAKEGPU_IOC_SUBMIT, &submit));
	return submit.seqno;
}

int wait_for(int fd, uint32_t channel, uint64_t seqno, uint64_t deadline_ns)
{
	struct fakegpu_wait wait = {.channel = channel, .seqno = seqno, .deadline_ns = deadline_ns};

	return ioctl(fd, FAKEGPU_IOC_WAIT, &wait) ? errno : 0;
}
