/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core's surroundings in the tests: a clock that moves when told, backing
 * memory of exactly the size asked for (so that ASan sees every overrun),
 * events kept for a look, and allocations that fail on demand.
 */
#ifndef PORT_TEST_H
#define PORT_TEST_H

#include "../../kmod/core/core.h"

struct fake_range {
	uint64_t offset;
	uint64_t length;
	void *memory;
	struct fake_range *next;
};

struct fake_backing {
	struct fake_range *ranges;
};

/* What a program bound to a fence. */
struct fake_eventfd {
	unsigned int signals;
	unsigned int ends;
};

/* What the core told the driver since port_reset(). */
struct fake_record {
	unsigned long events[FGPU_EVENT_LOG + 1];
	unsigned long kicks;
	struct fgpu_event last[FGPU_EVENT_LOG + 1]; /* by type; text is in `log` */
	char log[16][256];			    /* the newest lines; line n is log[n % 16] */
};

extern uint64_t fake_now;
extern uint64_t fake_tick; /* added by every look at the clock */
extern bool real_clock;
extern long fail_after; /* allocations and mappings that still succeed; < 0: all do */
extern struct fake_record record;

void port_reset(void);
void *backing_at(const struct fake_backing *backing, uint64_t offset); /* NULL: not mapped */
void backing_destroy(struct fake_backing *backing); /* fails the test if something is left */
const char *last_log(void);

#endif
