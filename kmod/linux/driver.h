/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of fakegpu.ko share.
 *
 * Locks, outermost first: a program's mmap_lock, then space_lock; the device's
 * (the core's), then space_lock. The core's lock and mmap_lock are never held
 * together: user memory is copied with neither.
 */
#ifndef FAKEGPU_DRIVER_H
#define FAKEGPU_DRIVER_H

#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "../core/core.h"

/* Bits of fakegpu_device.state. */
#define FAKEGPU_KICKED 0 /* look for work at once */
#define FAKEGPU_MOVED 1	 /* since the last step: a doorbell or a job */

/**
 * struct fakegpu_device - a GPU
 * @core: what it does
 * @index: of its node
 * @dev: in the device model
 * @contexts: sysfs folder of its contexts
 * @engine: the thread that steps @core
 * @state: FAKEGPU_* bits
 * @files: open files by context id; an entry outlives its core context
 * @files_lock: keeps @files' entries from being freed
 * @log_rate: how fast programs may make it write to the kernel log
 */
struct fakegpu_device {
	struct fgpu_device *core;
	unsigned int index;
	struct device *dev;
	struct kobject *contexts;
	struct task_struct *engine;
	unsigned long state;
	struct xarray files;
	struct mutex files_lock;
	struct ratelimit_state log_rate;
};

/**
 * struct fakegpu_file - an open file, which is a context
 * @kobj: its folder in sysfs, and its reference count
 * @rcu: frees it
 * @gpu: whose it is
 * @core: what it does
 * @node: which kind of node was opened
 * @id: the core's
 * @pid: of who opened it, in the first namespace
 * @name: of the same
 * @space: file without a name that lends its address space to the mappings
 * @space_lock: of the three that follow
 * @objects: page offset to the memory behind it
 * @bell_mapped: some program may store to the doorbell page without a fault
 * @wait: who waits for @moves
 * @moves: counts what may end a wait
 * @fences: counts fences signalled
 * @fences_seen: @fences when WAIT was last called
 */
struct fakegpu_file {
	struct kobject kobj;
	struct rcu_head rcu;
	struct fakegpu_device *gpu;
	struct fgpu_context *core;
	enum fgpu_node node;
	u32 id;
	pid_t pid;
	char name[TASK_COMM_LEN];

	struct file *space;
	struct rw_semaphore space_lock;
	struct maple_tree objects;
	bool bell_mapped;

	wait_queue_head_t wait;
	atomic64_t moves;
	atomic64_t fences;
	atomic64_t fences_seen;
};

/* main.c */
extern struct class fakegpu_class;
extern struct fakegpu_device fakegpu_devices[FAKEGPU_MAX_DEVICES];
extern unsigned int fakegpu_count;
extern char fakegpu_version[FAKEGPU_VERSION_LEN];

/* file.c, ioctl.c: also what fakegpu-uvm.ko is made of */
int fakegpu_file_open(struct file *file, struct fakegpu_device *gpu, enum fgpu_node node);
int fakegpu_file_release(struct inode *inode, struct file *file);
long fakegpu_file_ioctl(struct file *file, unsigned int command, unsigned long arg);
void fakegpu_file_wake(struct fakegpu_file *file); /* something its waits are for has moved */
extern const struct file_operations fakegpu_fops;

/* space.c */
int fakegpu_space_init(struct fakegpu_file *file);
void fakegpu_space_exit(struct fakegpu_file *file);
void fakegpu_space_trap(struct fakegpu_file *file); /* the next store to the doorbell page faults */
int fakegpu_space_mmap(struct file *filp, struct vm_area_struct *vma);

/* engine.c */
int fakegpu_engine_start(struct fakegpu_device *gpu);
void fakegpu_engine_stop(struct fakegpu_device *gpu);
void fakegpu_engine_kick(struct fakegpu_device *gpu);

/* sysfs.c */
extern const struct attribute_group *fakegpu_device_groups[];
extern const struct kobj_type fakegpu_file_ktype;
int fakegpu_sysfs_add(struct fakegpu_file *file);
void fakegpu_sysfs_remove(struct fakegpu_file *file);

/* debugfs.c: and the file in /proc */
int fakegpu_debugfs_init(void);
void fakegpu_debugfs_exit(void);

#endif
