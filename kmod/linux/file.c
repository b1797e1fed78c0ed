// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An open file is a context: made by open, shared by dup, fork and mappings,
 * gone with the last of them. ioctl is in ioctl.c, mmap in space.c.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "driver.h"

void fakegpu_file_wake(struct fakegpu_file *file)
{
	atomic64_inc(&file->moves);
	wake_up_all(&file->wait);
}

static struct fakegpu_file *make(struct fakegpu_device *gpu, enum fgpu_node node)
{
	struct fakegpu_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	kobject_init(&file->kobj, &fakegpu_file_ktype);
	init_waitqueue_head(&file->wait);
	file->gpu = gpu;
	file->node = node;
	file->pid = task_tgid_nr(current);
	get_task_comm(file->name, current->group_leader);
	return file;
}

/* Give it its id, by which events and sysfs find it. */
static int publish(struct fakegpu_file *file)
{
	struct fakegpu_device *gpu = file->gpu;

	file->id = fgpu_context_id(file->core);
	return xa_err(xa_store(&gpu->files, file->id, file, GFP_KERNEL));
}

static void unpublish(struct fakegpu_file *file)
{
	struct fakegpu_device *gpu = file->gpu;

	mutex_lock(&gpu->files_lock);
	xa_erase(&gpu->files, file->id);
	mutex_unlock(&gpu->files_lock);
}

/* open: O_RDWR only, as SPEC.md says. Makes a context on the node's device. */
int fakegpu_file_open(struct file *filp, struct fakegpu_device *gpu, enum fgpu_node node)
{
	struct fakegpu_file *file;
	int error;

	if ((filp->f_flags & O_ACCMODE) != O_RDWR)
		return -EACCES;
	file = make(gpu, node);
	if (!file)
		return -ENOMEM;
	error = fakegpu_space_init(file);
	if (error)
		goto space;
	error = fgpu_context_open(gpu->core, node, file->pid, file->name, file, &file->core);
	if (error)
		goto space;
	error = publish(file);
	if (error)
		goto context;
	error = fakegpu_sysfs_add(file);
	if (error)
		goto unpublish;
	if (file->space)
		filp->f_mapping = file->space->f_mapping;
	filp->private_data = file;
	return 0;

unpublish:
	unpublish(file);
context:
	fgpu_context_close(file->core);
space:
	fakegpu_space_exit(file);
	kobject_put(&file->kobj);
	return error;
}
EXPORT_SYMBOL_GPL(fakegpu_file_open);

/* release: the last descriptor and the last mapping are gone, so nobody else is inside. */
int fakegpu_file_release(struct inode *inode, struct file *filp)
{
	struct fakegpu_file *file = filp->private_data;

	fakegpu_sysfs_remove(file);
	fgpu_context_close(file->core);
	unpublish(file); /* after the close: until then events may name it */
	fakegpu_space_exit(file);
	kobject_put(&file->kobj);
	return 0;
}
EXPORT_SYMBOL_GPL(fakegpu_file_release);

static int gpu_open(struct inode *inode, struct file *filp)
{
	unsigned int minor = iminor(inode);

	if (minor == FAKEGPU_MINOR_CTL)
		return fakegpu_file_open(filp, &fakegpu_devices[0], FGPU_NODE_CTL);
	if (minor >= fakegpu_count)
		return -ENXIO;
	return fakegpu_file_open(filp, &fakegpu_devices[minor], FGPU_NODE_GPU);
}

/*
 * poll: EPOLLIN once a fence has been signalled since the last WAIT, which
 * may have a deadline of 0; EPOLLERR: poisoned; EPOLLHUP: off the bus.
 */
static __poll_t gpu_poll(struct file *filp, poll_table *table)
{
	struct fakegpu_file *file = filp->private_data;
	struct fakegpu_ctx_info info = {};
	__poll_t events = 0;

	poll_wait(filp, &file->wait, table);
	if (atomic64_read(&file->fences) != atomic64_read(&file->fences_seen))
		events |= EPOLLIN | EPOLLRDNORM;
	if (file->node != FGPU_NODE_GPU)
		return events;
	if (fgpu_ioctl(file->core, FAKEGPU_IOC_CTX_INFO, &info, NULL))
		events |= EPOLLHUP | EPOLLERR;
	else if (info.poisoned)
		events |= EPOLLERR;
	return events;
}

/* show_fdinfo: what /proc/PID/fdinfo/FD says of the context, to whoever may look. */
static void gpu_show_fdinfo(struct seq_file *out, struct file *filp)
{
	struct fakegpu_file *file = filp->private_data;
	struct fakegpu_ctx_info info = {};

	seq_printf(out, "fakegpu-context:\t%u\n", file->id);
	if (file->node != FGPU_NODE_GPU)
		return;
	seq_printf(out, "fakegpu-device:\t%u\n", file->gpu->index);
	if (fgpu_ioctl(file->core, FAKEGPU_IOC_CTX_INFO, &info, NULL))
		return;
	seq_printf(out, "fakegpu-buffers:\t%u\n", info.buffers);
	seq_printf(out, "fakegpu-channels:\t%u\n", info.channels);
	seq_printf(out, "fakegpu-bytes:\t%llu\n", info.bytes);
	seq_printf(out, "fakegpu-submits:\t%llu\n", info.submits);
	seq_printf(out, "fakegpu-completions:\t%llu\n", info.completions);
	seq_printf(out, "fakegpu-doorbells:\t%llu\n", info.doorbells);
	seq_printf(out, "fakegpu-xid:\t%u\n", info.xid);
}

const struct file_operations fakegpu_fops = {
	.owner = THIS_MODULE,
	.open = gpu_open,
	.release = fakegpu_file_release,
	.unlocked_ioctl = fakegpu_file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = fakegpu_space_mmap,
	.poll = gpu_poll,
	.show_fdinfo = gpu_show_fdinfo,
	.llseek = noop_llseek,
};
