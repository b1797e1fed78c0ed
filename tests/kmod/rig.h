/* SPDX-License-Identifier: MIT */
/* What the kernel tests' programs share: a context with its pages and one ring. */
#ifndef KMOD_RIG_H
#define KMOD_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "../../kmod/uapi/fakegpu.h"

#define NODE "/dev/fakegpu0"
#define MS 1000000ULL
#define PATIENCE (20000 * MS) /* what should come, comes long before */

/* One line on stderr and exit 1 unless `condition`; errno is told. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			give_up(__FILE__, __LINE__, #condition);                                   \
	} while (0)
__attribute__((noreturn)) void give_up(const char *file, int line, const char *what);

struct rig {
	int fd;
	struct fakegpu_doorbell_slot *doorbells;
	volatile struct fakegpu_fence_slot *fences;
	uint32_t channel; /* handle of a ring channel */
	uint32_t index;
	uint64_t *ring;
	uint32_t wptr;
	uint64_t seqno;
};

uint64_t now_ns(void);
void *map_object(int fd, uint32_t what, uint32_t handle, uint64_t *length);
uint32_t make_channel(int fd, uint32_t ring_size, uint32_t *index);
uint32_t make_buffer(int fd, uint64_t size);
void rig_open(struct rig *rig);
void rig_launch(struct rig *rig);      /* a FENCE packet and the doorbell: no call */
void rig_await(const struct rig *rig); /* its fence, by looking: no call but sched_yield() */
uint64_t submit_nop(int fd, uint32_t channel);
int wait_for(int fd, uint32_t channel, uint64_t seqno, uint64_t deadline_ns); /* 0 or errno */

#endif
