// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Faults, in /sys/kernel/debug/fakegpu/fault: write a line of SPEC.md's
 * grammar to arm one, "clear" to disarm all; read what is armed. Also /proc/driver/fakegpu/version.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"

#define SPEC_MAX 256
#define LIST_MAX 2048

static struct dentry *root;
static struct proc_dir_entry *proc;

static int fault_show(struct seq_file *out, void *unused)
{
	char *text = kmalloc(LIST_MAX, GFP_KERNEL);
	unsigned int i;

	if (!text)
		return -ENOMEM;
	for (i = 0; i < fakegpu_count; i++)
		if (fgpu_fault_list(fakegpu_devices[i].core, text, LIST_MAX))
			seq_puts(out, text);
	kfree(text);
	return 0;
}

/* Each device takes what is for it. */
static int arm(const char *spec)
{
	char why[128] = "";
	unsigned int i;
	int error;

	for (i = 0; i < fakegpu_count; i++) {
		error = fgpu_fault_set(fakegpu_devices[i].core, spec, why, sizeof(why));
		if (error) {
			pr_warn("FGPU: fault refused: %s\n", why);
			return error;
		}
	}
	return 0;
}

static ssize_t fault_write(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	unsigned int i;
	char *spec;
	int error = 0;

	if (size > SPEC_MAX)
		return -E2BIG;
	spec = memdup_user_nul(user, size);
	if (IS_ERR(spec))
		return PTR_ERR(spec);
	if (strcmp(strim(spec), "clear"))
		error = arm(strim(spec));
	else
		for (i = 0; i < fakegpu_count; i++)
			fgpu_fault_clear(fakegpu_devices[i].core);
	kfree(spec);
	return error ? error : size;
}

static int fault_open(struct inode *inode, struct file *file)
{
	return single_open(file, fault_show, NULL);
}

static const struct file_operations fault_fops = {
	.owner = THIS_MODULE,
	.open = fault_open,
	.read = seq_read,
	.write = fault_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int version_show(struct seq_file *out, void *unused)
{
	seq_printf(out, "FGPU version: FAKEGPU Linux Kernel Module  %s\n", fakegpu_version);
	seq_printf(out, "GCC version:  %s\n", CONFIG_CC_VERSION_TEXT);
	return 0;
}

int fakegpu_debugfs_init(void)
{
	proc = proc_mkdir("driver/fakegpu", NULL);
	if (!proc || !proc_create_single("version", 0444, proc, version_show)) {
		proc_remove(proc);
		return -ENOMEM;
	}
	root = debugfs_create_dir("fakegpu", NULL);
	debugfs_create_file("fault", 0600, root, NULL, &fault_fops);
	return 0;
}

void fakegpu_debugfs_exit(void)
{
	debugfs_remove(root);
	proc_remove(proc);
}
