/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What has changed in the kernel's interfaces since 6.1, in the newest one's words. */
#ifndef FAKEGPU_COMPAT_H
#define FAKEGPU_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "fakegpu needs Linux 6.1 or newer (maple trees)"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define FAKEGPU_DEVNODE_CONST
#else
#define FAKEGPU_DEVNODE_CONST const
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define fakegpu_eventfd_signal(eventfd) eventfd_signal(eventfd, 1)
#else
#define fakegpu_eventfd_signal(eventfd) eventfd_signal(eventfd)
#endif

/* A file that only lends its address space: of no size, with no flags (a structure in 7.x). */
#ifndef EMPTY_VMA_FLAGS
#define EMPTY_VMA_FLAGS 0UL
#endif
typedef struct file *fakegpu_old_setup(const char *name, loff_t size, unsigned long flags);
#ifdef __CHECKER__ /* sparse trips over a structure in a _Generic */
#define FAKEGPU_NO_FLAGS EMPTY_VMA_FLAGS
#else
#define FAKEGPU_NO_FLAGS                                                                           \
	_Generic(&shmem_file_setup, fakegpu_old_setup * : 0UL, default : EMPTY_VMA_FLAGS)
#endif

static inline struct file *fakegpu_empty_file(const char *name)
{
	return shmem_file_setup(name, 0, FAKEGPU_NO_FLAGS);
}

#endif
