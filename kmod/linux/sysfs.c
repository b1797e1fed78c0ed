// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * sysfs: /sys/class/fakegpu/fakegpuN/ for a device, contexts/ID/ in it for
 * each of its contexts. One value a file; what the device can't say fails as
 * an ioctl would.
 */
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "driver.h"

static struct fakegpu_info device_info(struct device *dev)
{
	struct fakegpu_device *gpu = dev_get_drvdata(dev);
	struct fakegpu_info info;

	fgpu_device_info(gpu->core, &info);
	return info;
}

#define DEVICE_VALUE(field, format, ...)                                                           \
	static ssize_t field##_show(struct device *dev, struct device_attribute *attr, char *buf)  \
	{                                                                                          \
		struct fakegpu_info info = device_info(dev);                                       \
                                                                                                   \
		return sysfs_emit(buf, format "\n", __VA_ARGS__);                                  \
	}                                                                                          \
	static DEVICE_ATTR_RO(field)

DEVICE_VALUE(name, "%s", info.name);
DEVICE_VALUE(version, "%s", info.version);
DEVICE_VALUE(uuid, "GPU-%pUb", info.uuid);
DEVICE_VALUE(pci, "%04x:%02x:%02x.0", info.pci_domain, info.pci_bus, info.pci_slot);
DEVICE_VALUE(vram_total, "%llu", info.vram_total);
DEVICE_VALUE(vram_used, "%llu", info.vram_used);
DEVICE_VALUE(quota, "%llu", info.quota);

static struct attribute *device_attrs[] = {
	&dev_attr_name.attr,	   &dev_attr_version.attr,
	&dev_attr_uuid.attr,	   &dev_attr_pci.attr,
	&dev_attr_vram_total.attr, &dev_attr_vram_used.attr,
	&dev_attr_quota.attr,	   NULL,
};

static const struct attribute_group device_group = {.attrs = device_attrs};
const struct attribute_group *fakegpu_device_groups[] = {&device_group, NULL};

static struct fakegpu_file *file_of(struct kobject *kobj)
{
	return container_of(kobj, struct fakegpu_file, kobj);
}

#define CONTEXT_VALUE(field, format)                                                               \
	static ssize_t ctx_##field##_show(struct kobject *kobj, struct kobj_attribute *attr,       \
					  char *buf)                                               \
	{                                                                                          \
		struct fakegpu_ctx_info info = {};                                                 \
		int error = fgpu_ioctl(file_of(kobj)->core, FAKEGPU_IOC_CTX_INFO, &info, NULL);    \
                                                                                                   \
		return error ? error : sysfs_emit(buf, format "\n", info.field);                   \
	}                                                                                          \
	static struct kobj_attribute ctx_##field = __ATTR(field, 0444, ctx_##field##_show, NULL)

CONTEXT_VALUE(buffers, "%u");
CONTEXT_VALUE(channels, "%u");
CONTEXT_VALUE(bytes, "%llu");
CONTEXT_VALUE(quota, "%llu");
CONTEXT_VALUE(submits, "%llu");
CONTEXT_VALUE(completions, "%llu");
CONTEXT_VALUE(doorbells, "%llu");
CONTEXT_VALUE(poisoned, "%u");
CONTEXT_VALUE(xid, "%u");

static ssize_t ctx_pid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", file_of(kobj)->pid);
}
static struct kobj_attribute ctx_pid = __ATTR(pid, 0444, ctx_pid_show, NULL);

static ssize_t ctx_name_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", file_of(kobj)->name);
}
static struct kobj_attribute ctx_name = __ATTR(name, 0444, ctx_name_show, NULL);

static struct attribute *ctx_attrs[] = {
	&ctx_pid.attr,	     &ctx_name.attr,	 &ctx_buffers.attr, &ctx_channels.attr,
	&ctx_bytes.attr,     &ctx_quota.attr,	 &ctx_submits.attr, &ctx_completions.attr,
	&ctx_doorbells.attr, &ctx_poisoned.attr, &ctx_xid.attr,	    NULL,
};
ATTRIBUTE_GROUPS(ctx);

static void release(struct kobject *kobj)
{
	kfree_rcu(file_of(kobj), rcu);
}

const struct kobj_type fakegpu_file_ktype = {
	.release = release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = ctx_groups,
};

/* A context that has a core, on a GPU. */
int fakegpu_sysfs_add(struct fakegpu_file *file)
{
	if (file->node != FGPU_NODE_GPU)
		return 0;
	return kobject_add(&file->kobj, file->gpu->contexts, "%u", file->id);
}

/* Waits for who reads them. */
void fakegpu_sysfs_remove(struct fakegpu_file *file)
{
	if (file->node == FGPU_NODE_GPU)
		kobject_del(&file->kobj);
}
