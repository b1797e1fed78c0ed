/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the core share, and no driver sees.
 *
 * One lock guards a device and all that hangs off it; unless said otherwise
 * every function here runs with it held. Memory that a program can write
 * (doorbells, rings, buffers) is read once, then judged.
 */
#ifndef FGPU_INTERNAL_H
#define FGPU_INTERNAL_H

#include "core.h"
#include "list.h"

#define FGPU_NSEC_PER_SEC 1000000000ULL
#define FGPU_NEVER UINT64_MAX

#define FGPU_LOG_ERR 3
#define FGPU_LOG_LINE 256
#define FGPU_PROGRAM_NAME 32

#define FGPU_QUEUE_MAX 1024	/* SUBMIT jobs a context may have waiting */
#define FGPU_BINDINGS_MAX 1024	/* eventfds a context may have bound */
#define FGPU_CHUNK 65536	/* bytes moved before the budget is looked at */
#define FGPU_VECADD_CHUNK 2048	/* elements, likewise */
#define FGPU_STEP_COST 30000	/* what one engine step may spend; a unit is about 1 ns */
#define FGPU_QUANTUM_NS 1000000 /* a DELAY gives way to another channel after this */
#define FGPU_DELAY_MAX_NS (10 * FGPU_NSEC_PER_SEC)
#define FGPU_HANG_NS (5 * FGPU_NSEC_PER_SEC)
#define FGPU_FIRMWARE_NS FGPU_NSEC_PER_SEC

#define FGPU_FAULTS_MAX 16
#define FGPU_MARKS 64

#define FGPU_XID_MMU 31
#define FGPU_XID_PUSH_BUFFER 32
#define FGPU_XID_OFF_BUS 79
#define FGPU_XID_ECC_CONTAINED 94
#define FGPU_XID_CTX_SWITCH 109
#define FGPU_XID_FIRMWARE 119

enum fgpu_result {
	FGPU_DONE,    /* go on with what follows */
	FGPU_AGAIN,   /* the same once more: a chunk was done, not all of it */
	FGPU_IDLE,    /* nothing to do */
	FGPU_HELD,    /* the engine is not to go on: delay_left, hung or lost says why */
	FGPU_JOB_END, /* the job has nothing left to do */
	FGPU_TROUBLE, /* device->trouble says what */
};

/* Why a context is about to be poisoned. */
struct fgpu_trouble {
	uint32_t xid;
	char text[160];
};

enum fgpu_fault_kind {
	FGPU_FAULT_XID,
	FGPU_FAULT_ECC,
	FGPU_FAULT_HANG,
	FGPU_FAULT_SLOW,
	FGPU_FAULT_NO_FENCE,
	FGPU_FAULT_LOST_DOORBELL,
	FGPU_FAULT_OFF_BUS,
	FGPU_FAULT_FW_TIMEOUT,
};

/**
 * struct fgpu_fault - one armed fault
 * @kind: what happens
 * @value: XID and SLOW only
 * @context: id it is for, 0 = any
 * @after: jobs to let pass first
 * @count: times it still fires, 0 = until cleared
 */
struct fgpu_fault {
	enum fgpu_fault_kind kind;
	uint64_t value;
	uint32_t context;
	uint64_t after;
	uint64_t count;
};

/* Fair turns, see share.c. */
struct fgpu_sharing {
	struct fgpu_list waiting;
	uint64_t vtime; /* nobody in line is far behind it */
};

struct fgpu_sharer {
	struct fgpu_list link;
	uint64_t vtime; /* time used */
};

union fgpu_any_packet {
	struct fakegpu_packet head;
	struct fakegpu_packet_fill fill;
	struct fakegpu_packet_copy copy;
	struct fakegpu_packet_vecadd vecadd;
	struct fakegpu_packet_delay delay;
	struct fakegpu_packet_fence fence;
	struct fakegpu_packet_fault fault;
	uint64_t words[6];
};

struct fgpu_device {
	fgpu_lock_t lock;
	struct fgpu_config config;
	void *driver_data;
	uint32_t next_id;
	uint64_t vram_used;
	struct fgpu_list contexts;
	struct fgpu_list rings; /* channels whose doorbell is looked at */
	uint32_t ring_count;	/* of @rings; also read without the lock */

	/* the engine */
	struct fgpu_sharing sharing; /* contexts with work */
	uint64_t now;		     /* the last time read; moves forward only */
	struct fgpu_channel *held;   /* in a DELAY, or NULL */
	uint64_t held_since;
	uint64_t held_until;
	struct fgpu_channel *hung; /* the engine has stopped on it, or NULL */
	uint64_t hung_until;
	bool lost;	     /* off the bus */
	uint64_t busy_since; /* while a context has work */
	uint64_t busy_ns;    /* before that */
	uint64_t jobs_done;
	struct fgpu_trouble trouble;

	uint32_t fault_count;
	struct fgpu_fault faults[FGPU_FAULTS_MAX];
};

enum fgpu_object_kind { FGPU_OBJECT_NONE, FGPU_OBJECT_BUFFER, FGPU_OBJECT_CHANNEL };

struct fgpu_handle {
	void *object;
	enum fgpu_object_kind kind;
	uint32_t next_free;
};

struct fgpu_handles {
	struct fgpu_handle *entries;
	uint32_t size;
	uint32_t free_first;
	uint32_t free_last;
};

struct fgpu_buffer {
	struct fgpu_list link; /* in context->buffers, by offset */
	uint64_t offset;
	uint64_t size; /* whole pages */
	uint8_t *memory;
	uint32_t handle;
};

struct fgpu_context {
	struct fgpu_list link;
	struct fgpu_sharer sharer;
	struct fgpu_device *device;
	enum fgpu_node node;
	uint32_t id;
	int pid;
	char name[FGPU_PROGRAM_NAME];
	void *backing;
	struct fakegpu_doorbell_slot *doorbells;
	struct fakegpu_fence_slot *fences;
	struct fakegpu_completion_head *completions;
	uint64_t written; /* completion entries */

	struct fgpu_handles handles;
	struct fgpu_list buffers;
	uint32_t bindings;	 /* eventfds bound to its fences */
	struct fgpu_list *place; /* where the next buffer is tried: after this one */
	uint32_t buffer_count;
	uint64_t bytes;

	struct fgpu_channel *channels[FAKEGPU_MAX_CHANNELS];
	uint32_t channel_count;
	struct fgpu_sharing sharing; /* channels with work */
	uint32_t queued;	     /* SUBMIT jobs waiting or running */

	uint64_t submits;
	uint64_t jobs_done;
	uint64_t doorbells_seen;
	uint64_t busy_ns; /* engine time, without the hold in progress */
	uint32_t xid;	  /* not 0: poisoned */
};

/* The job a channel is in the middle of. */
struct fgpu_job {
	bool active;
	bool no_fence;
	uint64_t seqno; /* a ring's: what is expected, until its FENCE is read */
	uint64_t queued_ns;
	uint64_t start_ns;
	uint64_t bytes;
	uint64_t slow_ns;
};

/* Where a doorbell change took the ring, and when it was seen. */
struct fgpu_mark {
	uint32_t wptr;
	uint64_t ns;
};

/* One SUBMIT. */
struct fgpu_submission {
	struct fgpu_list link;
	uint64_t seqno;
	uint64_t queued_ns;
	uint32_t length;
	uint32_t position;
	uint64_t packets[];
};

struct fgpu_channel {
	struct fgpu_sharer sharer;
	struct fgpu_list ring_link;
	struct fgpu_context *context;
	uint32_t handle;
	uint32_t index;
	struct fakegpu_fence_slot *slot;
	uint64_t timeline;  /* last seqno reached */
	uint64_t signalled; /* last seqno published */
	uint64_t jobs;

	/* with a ring */
	const uint64_t *ring; /* NULL: by SUBMIT */
	uint32_t ring_size;
	struct fakegpu_doorbell_slot *doorbell;
	uint32_t doorbell_value; /* as last looked at */
	uint32_t wptr;		 /* as last accepted */
	uint32_t rptr;
	uint64_t doorbells_seen;
	uint32_t mark_first;
	uint32_t mark_count;
	struct fgpu_mark marks[FGPU_MARKS];

	/* without */
	struct fgpu_list queue;
	uint64_t submitted; /* last seqno given out */

	/* what it is doing */
	struct fgpu_job job;
	struct fgpu_list bindings; /* eventfds that wait for it */
	bool loaded;		   /* @packet is under way */
	uint64_t progress;	   /* bytes, elements, or 1 once a DELAY has begun */
	uint64_t delay_left;
	union fgpu_any_packet packet;
};

/* log.c */
void fgpu_log(struct fgpu_device *device, const char *format, ...) FGPU_PRINTF(2, 3);
void fgpu_log_xid(struct fgpu_device *device, const struct fgpu_context *context,
		  const struct fgpu_channel *channel, uint32_t xid, const char *text);
void fgpu_log_copy(char *to, const char *from, size_t size);
const char *fgpu_xid_text(uint32_t xid); /* NULL: not in the table */
void fgpu_event(struct fgpu_device *device, enum fgpu_event_type type,
		const struct fgpu_channel *channel, uint64_t value, uint32_t xid);

/* context.c */
void fgpu_context_poison(struct fgpu_context *context, struct fgpu_channel *channel);

/* handle.c */
int fgpu_handle_new(struct fgpu_handles *handles, enum fgpu_object_kind kind, void *object,
		    uint32_t *handle);
void *fgpu_handle_get(const struct fgpu_handles *handles, enum fgpu_object_kind kind,
		      uint32_t handle);
void fgpu_handle_drop(struct fgpu_handles *handles, uint32_t handle);

/* buffer.c */
int fgpu_buffer_alloc(struct fgpu_context *context, uint64_t size, uint32_t *handle);
void fgpu_buffer_free(struct fgpu_context *context, struct fgpu_buffer *buffer);
void fgpu_buffer_release(struct fgpu_context *context, struct fgpu_buffer *buffer);
struct fgpu_buffer *fgpu_buffer_get(const struct fgpu_context *context, uint32_t handle);

/* channel.c */
int fgpu_channel_create(struct fgpu_context *context, uint32_t ring_size, uint32_t *handle,
			uint32_t *index);
void fgpu_channel_stop(struct fgpu_channel *channel); /* drops its work */
void fgpu_channel_free(struct fgpu_channel *channel);
struct fgpu_channel *fgpu_channel_get(const struct fgpu_context *context, uint32_t handle);

/* ring.c, submit.c: bring the channel's next packet into channel->packet */
void fgpu_ring_scan(struct fgpu_device *device);
enum fgpu_result fgpu_ring_fetch(struct fgpu_channel *channel);
void fgpu_ring_advance(struct fgpu_channel *channel);
uint64_t fgpu_ring_queued_ns(struct fgpu_channel *channel);
int fgpu_submit(struct fgpu_channel *channel, const void *packets, uint32_t length,
		uint64_t *seqno);
void fgpu_submit_undo(struct fgpu_channel *channel, uint64_t seqno);
enum fgpu_result fgpu_submit_fetch(struct fgpu_channel *channel);
void fgpu_submit_advance(struct fgpu_channel *channel);
void fgpu_submit_pop(struct fgpu_channel *channel);
void fgpu_submit_drop_all(struct fgpu_channel *channel);

/* eventfd.c */
int fgpu_eventfd_bind(struct fgpu_channel *channel, uint64_t seqno, void *eventfd);
void fgpu_eventfd_signal(struct fgpu_channel *channel, uint64_t seqno);
void fgpu_eventfd_undo(struct fgpu_channel *channel, uint64_t seqno);

/* packet.c */
const char *fgpu_packet_head_error(const struct fakegpu_packet *head); /* NULL: well-formed */
const char *fgpu_packet_error(const union fgpu_any_packet *packet);

/* exec.c, float32.c */
enum fgpu_result fgpu_exec(struct fgpu_channel *channel, int64_t *budget);
struct fgpu_submission *fgpu_submit_first(const struct fgpu_channel *channel); /* or NULL */
uint32_t fgpu_float32_add(uint32_t a, uint32_t b);

/* share.c */
void fgpu_sharing_init(struct fgpu_sharing *sharing);
bool fgpu_sharer_waits(const struct fgpu_sharer *sharer);
void fgpu_sharer_join(struct fgpu_sharing *sharing, struct fgpu_sharer *sharer);
void fgpu_sharer_leave(struct fgpu_sharer *sharer);
struct fgpu_sharer *fgpu_sharing_next(struct fgpu_sharing *sharing);

/* engine.c */
void fgpu_engine_wake(struct fgpu_channel *channel);
void fgpu_engine_forget(struct fgpu_channel *channel);
uint64_t fgpu_engine_busy_ns(const struct fgpu_device *device, uint64_t now);
uint64_t fgpu_engine_context_ns(const struct fgpu_context *context, uint64_t now);
enum fgpu_result fgpu_trouble(struct fgpu_channel *channel, uint32_t xid, const char *format, ...)
	FGPU_PRINTF(3, 4);

/* job.c */
enum fgpu_result fgpu_job_begin(struct fgpu_channel *channel);
enum fgpu_result fgpu_job_end(struct fgpu_channel *channel);

/* fence.c */
void fgpu_fence_complete(struct fgpu_channel *channel, uint32_t status);
void fgpu_fence_error(struct fgpu_channel *channel, uint32_t xid);

/* fault.c, fault_parse.c */
enum fgpu_result fgpu_fault_job(struct fgpu_channel *channel);
bool fgpu_fault_doorbell(struct fgpu_channel *channel);
bool fgpu_fault_firmware(struct fgpu_context *context, bool use);
void fgpu_fault_off_bus(struct fgpu_device *device);
int fgpu_fault_parse(const struct fgpu_device *device, const char *spec, struct fgpu_fault *fault,
		     bool *here, char *why, size_t why_size);
int fgpu_fault_print(const struct fgpu_device *device, const struct fgpu_fault *fault, char *text,
		     size_t size);

/* calls.c: one function per ioctl; `arg` has the call's size and has been checked */
int fgpu_call_info(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_check_version(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_alloc(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_free(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_map(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_channel_create(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_channel_destroy(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_submit(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_wait(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_ctx_info(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_usage(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_processes(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_fence_eventfd(struct fgpu_context *context, void *arg, const void *payload);
int fgpu_call_uvm_init(struct fgpu_context *context, void *arg, const void *payload);

#endif
