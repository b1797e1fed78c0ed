/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What has changed in the kernel's interfaces since 6.1, in the newest one's words. */
#ifndef FAKEGPU_COMPAT_H
#define FAKEGPU_COMPAT_H

#include <linux/mm.h>
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

#endif
