// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fakegpu-uvm.ko: the node of the memory manager, a module of its own with a
 * major of its own, like the real one. It knows UVM_INIT only. By the symbols
 * it uses it holds fakegpu.ko, which can't be unloaded before it.
 */
#include <linux/cdev.h>
#include <linux/module.h>

#include "driver.h"

#define NAME "fakegpu-uvm"

static dev_t number;
static struct cdev cdev;

static int uvm_open(struct inode *inode, struct file *filp)
{
	return fakegpu_file_open(filp, &fakegpu_devices[0], FGPU_NODE_UVM);
}

static const struct file_operations uvm_fops = {
	.owner = THIS_MODULE,
	.open = uvm_open,
	.release = fakegpu_file_release,
	.unlocked_ioctl = fakegpu_file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static int __init uvm_init(void)
{
	struct device *dev;
	int error = alloc_chrdev_region(&number, 0, 1, NAME);

	if (error)
		return error;
	cdev_init(&cdev, &uvm_fops);
	cdev.owner = THIS_MODULE;
	error = cdev_add(&cdev, number, 1);
	if (error)
		goto region;
	dev = device_create(&fakegpu_class, NULL, number, NULL, NAME);
	error = PTR_ERR_OR_ZERO(dev);
	if (error)
		goto cdev;
	pr_info("FGPU: %s has major %u\n", NAME, MAJOR(number));
	return 0;

cdev:
	cdev_del(&cdev);
region:
	unregister_chrdev_region(number, 1);
	return error;
}

static void __exit uvm_exit(void)
{
	device_destroy(&fakegpu_class, number);
	cdev_del(&cdev);
	unregister_chrdev_region(number, 1);
}

module_init(uvm_init);
module_exit(uvm_exit);
MODULE_DESCRIPTION("The memory manager's node of fakegpu");
MODULE_AUTHOR("The glassstack authors");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(FGPU_DEFAULT_VERSION);
