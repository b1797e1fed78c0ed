/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The device, as a driver that hosts it sees it. See ../SPEC.md for what it
 * does; every function here may be called from any thread and locks itself,
 * except those that say "locked".
 */
#ifndef FGPU_CORE_H
#define FGPU_CORE_H

#include "port.h"
#include "../uapi/fakegpu.h"

struct fgpu_device;
struct fgpu_context;

enum fgpu_node { FGPU_NODE_GPU, FGPU_NODE_CTL, FGPU_NODE_UVM };

/**
 * struct fgpu_config - a device as it is made
 * @index: 0…FAKEGPU_MAX_DEVICES-1
 * @count: devices of this driver
 * @vram: bytes of device memory
 * @quota: bytes per context
 * @version: driver version, e.g. "550.54.14"
 */
struct fgpu_config {
	uint32_t index;
	uint32_t count;
	uint64_t vram;
	uint64_t quota;
	char version[FAKEGPU_VERSION_LEN];
};

enum fgpu_event_type {
	FGPU_EVENT_CONTEXT_OPEN,
	FGPU_EVENT_CONTEXT_CLOSE,
	FGPU_EVENT_DOORBELL,  /* value: new wptr */
	FGPU_EVENT_JOB_START, /* value: seqno */
	FGPU_EVENT_FENCE,     /* value: seqno, now signalled; comes before the job's JOB_DONE */
	FGPU_EVENT_JOB_DONE,  /* value: seqno; xid: status */
	FGPU_EVENT_LOG,	      /* text: one kernel-log line, without newline; level: 0…7 */
};

/**
 * struct fgpu_event - what fgpu_port_event() is told
 * @type: FGPU_EVENT_*
 * @level: LOG only, as printk's
 * @context: id, 0 = none
 * @channel: slot index
 * @xid: 0 or the Xid
 * @now: CLOCK_MONOTONIC ns
 * @value: by type
 * @text: LOG only
 */
struct fgpu_event {
	enum fgpu_event_type type;
	int level;
	uint32_t context;
	uint32_t channel;
	uint32_t xid;
	uint64_t now;
	uint64_t value;
	const char *text;
};

/**
 * struct fgpu_eventfd - what the driver found behind FENCE_EVENTFD's descriptor
 * @error: 0, or the -errno of looking
 * @object: its reference to the eventfd; the core's once the call returns 0,
 *          until it hands it to fgpu_port_eventfd_end()
 */
struct fgpu_eventfd {
	int error;
	void *object;
};

struct fgpu_device *fgpu_device_create(const struct fgpu_config *config, void *driver_data);
void fgpu_device_destroy(struct fgpu_device *device); /* no context may be open */
void *fgpu_device_driver_data(struct fgpu_device *device);
void fgpu_device_info(struct fgpu_device *device, struct fakegpu_info *info); /* as INFO */

/* Returns 0 or -errno. `name` is the program's (for the log), copied. */
int fgpu_context_open(struct fgpu_device *device, enum fgpu_node node, int pid, const char *name,
		      void *backing, struct fgpu_context **ret);
void fgpu_context_close(struct fgpu_context *context);
uint32_t fgpu_context_id(const struct fgpu_context *context);

/*
 * ioctl, in three steps so that a driver can copy user memory in between:
 *
 *  1. fgpu_ioctl_size(): bytes of the argument, or -ENOTTY; the driver copies
 *     it in.
 *  2. fgpu_ioctl_payload(): whether more must be copied in (SUBMIT's packets):
 *     0 or bytes, and where from; -errno when the argument is bad already.
 *     FENCE_EVENTFD's payload is a struct fgpu_eventfd, which the driver makes.
 *  3. fgpu_ioctl(): runs it. 0 or -errno; the driver copies `arg` out on 0,
 *     and also on -EINVAL of CHECK_VERSION and on -ETIME. -EINPROGRESS, from
 *     WAIT only: not yet; ask again with fgpu_wait_ready() at each engine step
 *     and at the deadline.
 *
 * fgpu_ioctl_undo() takes back what a successful ALLOC, CHANNEL_CREATE, SUBMIT
 * or FENCE_EVENTFD did when its answer could not be delivered (the caller was
 * interrupted and will call again). The driver must hold fgpu_device_lock()
 * across fgpu_ioctl_locked() and the answer, so that the engine has not
 * touched it yet. FREE and CHANNEL_DESTROY can't be taken back: for them
 * fgpu_ioctl_foresee_locked() is true and tells what the call will return, so
 * that the driver can answer first and call afterwards.
 */
int fgpu_ioctl_size(unsigned int command);
int fgpu_ioctl_payload(unsigned int command, const void *arg, uint64_t *user_pointer);
int fgpu_ioctl(struct fgpu_context *context, unsigned int command, void *arg, const void *payload);

void fgpu_device_lock(struct fgpu_device *device);
void fgpu_device_unlock(struct fgpu_device *device);
int fgpu_ioctl_locked(struct fgpu_context *context, unsigned int command, void *arg,
		      const void *payload);
bool fgpu_ioctl_foresee_locked(struct fgpu_context *context, unsigned int command, const void *arg,
			       int *ret);
void fgpu_ioctl_undo_locked(struct fgpu_context *context, unsigned int command, const void *arg);

/*
 * Nanoseconds the driver must let pass between the call and its answer; 0 but
 * under the fault "fw-timeout", where calls that need the firmware fail as
 * slowly as the real thing does. Ask before fgpu_ioctl(), which uses up the
 * fault and knows the answer (-EIO) at once.
 */
uint64_t fgpu_ioctl_delay(struct fgpu_context *context, unsigned int command);

/* -EINPROGRESS until the wait is over; then what WAIT returns, with arg's out fields set. */
int fgpu_wait_ready(struct fgpu_context *context, struct fakegpu_wait *arg);

/*
 * The engine. Runs a bounded slice of work (some tens of microseconds) and
 * returns the CLOCK_MONOTONIC ns at which it wants to run again: 0 = at once,
 * UINT64_MAX = only after fgpu_port_kick(). Doorbells are looked at in every
 * step; `fgpu_engine_polls()` says whether a channel with a ring exists, i.e.
 * whether steps must go on although nothing is queued.
 */
uint64_t fgpu_engine_step(struct fgpu_device *device);
bool fgpu_engine_polls(struct fgpu_device *device);

/*
 * Faults, in SPEC.md's grammar. set() returns 0, or -EINVAL with a one-line
 * reason in `why`. list() writes one line per armed fault, as set() takes
 * them with what is left of after/count, and returns their number. A spec with
 * `device=` of another device of this driver is accepted and changes nothing,
 * so a driver may hand it to all of its devices.
 */
int fgpu_fault_set(struct fgpu_device *device, const char *spec, char *why, size_t why_size);
void fgpu_fault_clear(struct fgpu_device *device);
int fgpu_fault_list(struct fgpu_device *device, char *text, size_t size);

#endif
