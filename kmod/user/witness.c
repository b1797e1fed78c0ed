// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Writes the witness ring (witness.h). Both threads write, so a lock makes
 * them one; nobody ever waits for the reader.
 */
#define _GNU_SOURCE
#include "user.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fgpu_witness_head *head;
static uint8_t *data;

bool witness_open(int fd)
{
	struct stat info;
	void *memory;

	if (fstat(fd, &info) || info.st_size <= FGPU_WITNESS_DATA)
		return false;
	memory = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return false;
	head = memory;
	data = (uint8_t *)memory + FGPU_WITNESS_DATA;
	return head->magic == FGPU_WITNESS_MAGIC && head->version == FGPU_WITNESS_VERSION &&
	       head->data_size && !(head->data_size & (head->data_size - 1)) &&
	       head->data_size <= (uint64_t)info.st_size - FGPU_WITNESS_DATA;
}

bool witness_on(void)
{
	return head;
}

static uint32_t padded(size_t size)
{
	return (uint32_t)((size + 7) & ~(size_t)7);
}

/* Room for a record of `size` bytes (locked), or NULL and one more is dropped. */
static void *reserve(uint32_t size, uint64_t *next)
{
	uint64_t tail = __atomic_load_n(&head->tail, __ATOMIC_ACQUIRE);
	uint64_t at = head->head & (head->data_size - 1);
	uint64_t pad = head->data_size - at < size ? head->data_size - at : 0;
	struct fgpu_witness_record *record;

	if (head->head + pad + size - tail > head->data_size) {
		__atomic_fetch_add(&head->dropped, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (pad) {
		record = (struct fgpu_witness_record *)(data + at);
		record->size = (uint32_t)pad;
		record->type = FGPU_WITNESS_PAD;
		at = 0;
	}
	*next = head->head + pad + size;
	return data + at;
}

static void publish(uint64_t next)
{
	__atomic_store_n(&head->head, next, __ATOMIC_RELEASE);
}

static uint8_t *append(uint8_t *to, const void *from, uint16_t size)
{
	if (size)
		memcpy(to, from, size);
	return to + padded(size);
}

void witness_call(const struct call *call, int64_t ret, uint64_t done)
{
	struct fgpu_witness_call *record;
	uint32_t size = padded(sizeof(*record)) + padded(call->in_size) + padded(call->out_size) +
			padded(call->payload_size);
	uint64_t next;
	uint8_t *to;

	if (!head || call->silent)
		return;
	pthread_mutex_lock(&lock);
	record = reserve(size, &next);
	if (record) {
		*record = (struct fgpu_witness_call){
			.head = {size, FGPU_WITNESS_CALL, (uint16_t)call->minor, call->received},
			.done_ns = done,
			.pid = call->pid,
			.tid = call->tid,
			.nr = call->notif.data.nr,
			.context = call->context ? call->context->id : 0,
			.ret = ret,
			.in_size = call->in_size,
			.out_size = call->out_size,
			.payload_size = call->payload_size,
		};
		memcpy(record->args, call->notif.data.args, sizeof(record->args));
		to = append(record->data, call->in, call->in_size);
		to = append(to, call->out, call->out_size);
		append(to, call->payload, call->payload_size);
		publish(next);
	}
	pthread_mutex_unlock(&lock);
}

void witness_context(const struct context *context, bool opened)
{
	struct fgpu_witness_context *record;
	uint64_t next;

	if (!head)
		return;
	pthread_mutex_lock(&lock);
	record = reserve(sizeof(*record), &next);
	if (record) {
		*record = (struct fgpu_witness_context){
			.head = {sizeof(*record), FGPU_WITNESS_CONTEXT, (uint16_t)context->minor,
				 now_ns()},
			.pid = context->pid,
			.context = context->id,
			.opened = opened,
			.inode = context->ino,
		};
		publish(next);
	}
	pthread_mutex_unlock(&lock);
}

static void write_progress(const struct context *context, uint32_t channel,
			   const struct fakegpu_fence_slot *slot, uint32_t wptr)
{
	struct fgpu_witness_progress *record;
	uint64_t next;

	pthread_mutex_lock(&lock);
	record = reserve(sizeof(*record), &next);
	if (record) {
		*record = (struct fgpu_witness_progress){
			.head = {sizeof(*record), FGPU_WITNESS_PROGRESS, (uint16_t)context->minor,
				 now_ns()},
			.context = context->id,
			.channel = channel,
			.wptr = wptr,
			.rptr = slot->rptr,
			.seqno = slot->seqno,
			.doorbells = slot->doorbells,
			.jobs = slot->jobs,
			.xid = slot->error,
		};
		publish(next);
	}
	pthread_mutex_unlock(&lock);
}

/* Tells of each channel of a context that has moved since it was last told of. */
void witness_progress(struct context *context)
{
	const struct fakegpu_doorbell_slot *doorbells;
	const struct fakegpu_fence_slot *fences;
	struct fakegpu_fence_slot now;
	uint32_t i;

	if (!head || context->minor >= FAKEGPU_MAX_DEVICES)
		return;
	doorbells = (const void *)(context->base + FAKEGPU_OFF_DOORBELL);
	fences = (const void *)(context->base + FAKEGPU_OFF_FENCE);
	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++) {
		now = fences[i];
		if (!memcmp(&now, &context->told[i], sizeof(now)))
			continue;
		context->told[i] = now;
		write_progress(context, i, &now, doorbells[i].wptr);
	}
}

void witness_log(uint64_t now, int level, const char *text)
{
	struct fgpu_witness_log *record;
	uint16_t length = (uint16_t)strnlen(text, 1024);
	uint32_t size = padded(sizeof(*record) + length);
	uint64_t next;

	if (!head)
		return;
	pthread_mutex_lock(&lock);
	record = reserve(size, &next);
	if (record) {
		record->head = (struct fgpu_witness_record){size, FGPU_WITNESS_LOG, 0, now};
		record->level = (uint32_t)level;
		record->length = length;
		memcpy(record->text, text, length);
		publish(next);
	}
	pthread_mutex_unlock(&lock);
}
