// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"
#include "port_test.h"

uint64_t fake_now;
uint64_t fake_tick;
bool real_clock;
long fail_after = -1;
struct fake_record record;

void port_reset(void)
{
	fake_now = 1000;
	fake_tick = 0;
	real_clock = false;
	fail_after = -1;
	memset(&record, 0, sizeof(record));
}

static bool must_fail(void)
{
	if (fail_after < 0)
		return false;
	if (!fail_after)
		return true;
	fail_after--;
	return false;
}

void *fgpu_port_alloc(size_t bytes)
{
	return must_fail() ? NULL : calloc(1, bytes);
}

void fgpu_port_free(void *memory)
{
	free(memory);
}

void fgpu_port_lock_init(fgpu_lock_t *lock)
{
	pthread_mutex_init(lock, NULL);
}

void fgpu_port_lock_destroy(fgpu_lock_t *lock)
{
	pthread_mutex_destroy(lock);
}

void fgpu_port_lock(fgpu_lock_t *lock)
{
	pthread_mutex_lock(lock);
}

void fgpu_port_unlock(fgpu_lock_t *lock)
{
	pthread_mutex_unlock(lock);
}

uint64_t fgpu_port_now(void)
{
	struct timespec now;

	if (real_clock) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
	}
	fake_now += fake_tick;
	return fake_now;
}

static struct fake_range **find(const struct fake_backing *backing, uint64_t offset)
{
	struct fake_range **at = (struct fake_range **)&backing->ranges;

	while (*at && (*at)->offset != offset)
		at = &(*at)->next;
	return at;
}

void *fgpu_port_backing_get(void *handle, uint64_t offset, uint64_t length)
{
	struct fake_backing *backing = handle;
	struct fake_range *range;

	if (*find(backing, offset)) {
		fail(__FILE__, __LINE__, "offset %#llx is taken twice", (unsigned long long)offset);
		return NULL;
	}
	if (must_fail())
		return NULL;
	range = calloc(1, sizeof(*range));
	range->offset = offset;
	range->length = length;
	range->memory = aligned_alloc(4096, length);
	memset(range->memory, 0, length);
	range->next = backing->ranges;
	backing->ranges = range;
	return range->memory;
}

void fgpu_port_backing_put(void *handle, uint64_t offset, uint64_t length)
{
	struct fake_range **at = find(handle, offset), *range = *at;

	if (!range || range->length != length) {
		fail(__FILE__, __LINE__, "put of what was not got: %#llx",
		     (unsigned long long)offset);
		return;
	}
	*at = range->next;
	free(range->memory);
	free(range);
}

void fgpu_port_event(struct fgpu_device *device, const struct fgpu_event *event)
{
	(void)device;
	if (event->type == FGPU_EVENT_LOG)
		snprintf(record.log[record.events[FGPU_EVENT_LOG] % 16], sizeof(record.log[0]),
			 "%s", event->text);
	record.events[event->type]++;
	record.last[event->type] = *event;
}

void fgpu_port_eventfd_end(void *object, bool signal)
{
	struct fake_eventfd *eventfd = object;

	eventfd->signals += signal;
	eventfd->ends++;
}

void fgpu_port_kick(struct fgpu_device *device)
{
	(void)device;
	record.kicks++;
}

void *backing_at(const struct fake_backing *backing, uint64_t offset)
{
	struct fake_range *range = *find(backing, offset);

	return range ? range->memory : NULL;
}

void backing_destroy(struct fake_backing *backing)
{
	if (backing->ranges)
		fail(__FILE__, __LINE__, "offset %#llx was never put back",
		     (unsigned long long)backing->ranges->offset);
	while (backing->ranges)
		fgpu_port_backing_put(backing, backing->ranges->offset, backing->ranges->length);
}

const char *last_log(void)
{
	unsigned long lines = record.events[FGPU_EVENT_LOG];

	return lines ? record.log[(lines - 1) % 16] : "";
}
