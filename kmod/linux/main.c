// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu.ko: its parameters, its devices and their nodes, from load to unload.
 */
#define pr_fmt(fmt) "FGPU: " fmt

#include <linux/cdev.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "compat.h"
#include "driver.h"

#define MIB_SHIFT 20
#define MIB_MAX 32768
#define MINORS (FAKEGPU_MINOR_CTL + 1)
#define NODES MKDEV(FAKEGPU_MAJOR, 0)

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of GPUs, 1 to 8 (default 1)");

static unsigned int vram = 1024;
module_param(vram, uint, 0444);
MODULE_PARM_DESC(vram, "memory of a device in MiB (default 1024)");

static unsigned int quota = 256;
module_param(quota, uint, 0444);
MODULE_PARM_DESC(quota, "of it for one open file, in MiB (default 256)");

static char *version = FGPU_DEFAULT_VERSION;
module_param(version, charp, 0444);
MODULE_PARM_DESC(version, "driver version to report (default " FGPU_DEFAULT_VERSION ")");

struct fakegpu_device fakegpu_devices[FAKEGPU_MAX_DEVICES];
unsigned int fakegpu_count;
char fakegpu_version[FAKEGPU_VERSION_LEN];

static struct cdev cdev;

/* The nodes are for everybody, as a real GPU's are; there may be no udev to see to it. */
static char *devnode(FAKEGPU_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

struct class fakegpu_class = {
	.name = "fakegpu",
	.devnode = devnode,
};
EXPORT_SYMBOL_GPL(fakegpu_class);
EXPORT_SYMBOL_GPL(fakegpu_devices);

static struct device *make_node(unsigned int minor, void *data,
				const struct attribute_group **groups, const char *name)
{
	return device_create_with_groups(&fakegpu_class, NULL, MKDEV(FAKEGPU_MAJOR, minor), data,
					 groups, "%s", name);
}

static int start(struct fakegpu_device *gpu, const struct fgpu_config *config)
{
	char name[16];
	int error;

	gpu->index = config->index;
	xa_init(&gpu->files);
	mutex_init(&gpu->files_lock);
	ratelimit_state_init(&gpu->log_rate, 5 * HZ, 50);
	gpu->core = fgpu_device_create(config, gpu);
	if (!gpu->core)
		return -ENOMEM;
	error = fakegpu_engine_start(gpu);
	if (error)
		goto core;
	snprintf(name, sizeof(name), "fakegpu%u", gpu->index);
	gpu->dev = make_node(gpu->index, gpu, fakegpu_device_groups, name);
	error = PTR_ERR_OR_ZERO(gpu->dev);
	if (error)
		goto engine;
	gpu->contexts = kobject_create_and_add("contexts", &gpu->dev->kobj);
	if (gpu->contexts)
		return 0;
	error = -ENOMEM;
	device_destroy(&fakegpu_class, gpu->dev->devt);
engine:
	fakegpu_engine_stop(gpu);
core:
	fgpu_device_destroy(gpu->core);
	return error;
}

static void stop(struct fakegpu_device *gpu)
{
	kobject_put(gpu->contexts);
	device_destroy(&fakegpu_class, gpu->dev->devt);
	fakegpu_engine_stop(gpu);
	fgpu_device_destroy(gpu->core);
	xa_destroy(&gpu->files);
}

static void stop_all(void)
{
	while (fakegpu_count)
		stop(&fakegpu_devices[--fakegpu_count]);
}

static int start_all(void)
{
	struct fgpu_config config = {
		.count = devices,
		.vram = (u64)vram << MIB_SHIFT,
		.quota = (u64)quota << MIB_SHIFT,
	};
	int error;

	memcpy(config.version, fakegpu_version, sizeof(config.version));
	for (config.index = 0; config.index < devices; config.index++) {
		error = start(&fakegpu_devices[config.index], &config);
		if (error) {
			stop_all();
			return error;
		}
		fakegpu_count++;
	}
	return 0;
}

static int check_parameters(void)
{
	if (!devices || devices > FAKEGPU_MAX_DEVICES) {
		pr_err("devices=%u: must be 1 to %d\n", devices, FAKEGPU_MAX_DEVICES);
		return -EINVAL;
	}
	if (!vram || vram > MIB_MAX || !quota || quota > MIB_MAX) {
		pr_err("vram=%u, quota=%u: must be 1 to %d MiB\n", vram, quota, MIB_MAX);
		return -EINVAL;
	}
	if (!*version || strscpy(fakegpu_version, version, sizeof(fakegpu_version)) < 0) {
		pr_err("version: must be 1 to %d characters\n", FAKEGPU_VERSION_LEN - 1);
		return -EINVAL;
	}
	return 0;
}

/* The very last step of a load: what has been opened can't be taken back. */
static int answer(void)
{
	struct device *ctl = make_node(FAKEGPU_MINOR_CTL, NULL, NULL, "fakegpuctl");
	int error;

	if (IS_ERR(ctl))
		return PTR_ERR(ctl);
	cdev_init(&cdev, &fakegpu_fops);
	cdev.owner = THIS_MODULE;
	error = cdev_add(&cdev, NODES, MINORS);
	if (error)
		device_destroy(&fakegpu_class, ctl->devt);
	return error;
}

static int __init fakegpu_init(void)
{
	int error = check_parameters();

	if (error)
		return error;
	error = register_chrdev_region(NODES, MINORS, "fakegpu");
	if (error) {
		pr_err("major %d is taken: see /proc/devices\n", FAKEGPU_MAJOR);
		return error;
	}
	error = class_register(&fakegpu_class);
	if (error)
		goto undo_region;
	error = start_all();
	if (error)
		goto undo_class;
	error = fakegpu_debugfs_init();
	if (error)
		goto undo_devices;
	error = answer();
	if (error)
		goto undo_debugfs;
	pr_info("loading FAKEGPU Linux Kernel Module  %s, %u device(s) of %u MiB\n",
		fakegpu_version, devices, vram);
	return 0;

undo_debugfs:
	fakegpu_debugfs_exit();
undo_devices:
	stop_all();
undo_class:
	class_unregister(&fakegpu_class);
undo_region:
	unregister_chrdev_region(NODES, MINORS);
	return error;
}

static void __exit fakegpu_exit(void)
{
	cdev_del(&cdev);
	device_destroy(&fakegpu_class, MKDEV(FAKEGPU_MAJOR, FAKEGPU_MINOR_CTL));
	fakegpu_debugfs_exit();
	stop_all();
	class_unregister(&fakegpu_class);
	unregister_chrdev_region(NODES, MINORS);
	pr_info("unloading FAKEGPU Linux Kernel Module\n");
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);
MODULE_DESCRIPTION("A small GPU without hardware: contexts, rings, doorbells, fences");
MODULE_AUTHOR("The glassstack authors");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(FGPU_DEFAULT_VERSION);
