/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core's surroundings inside the kernel: the names of port_user.h, made of
 * what the kernel has. The functions of port.h are in ../linux/port_linux.c.
 */
#ifndef FGPU_PORT_LINUX_H
#define FGPU_PORT_LINUX_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mutex.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif
#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif

/* A mutex: memory is allocated with it held. It hands over to whoever waits long. */
typedef struct mutex fgpu_lock_t;

#define fgpu_load(p) READ_ONCE(*(p))
#define fgpu_store(p, v) WRITE_ONCE(*(p), (v))
#define fgpu_load_acquire(p) smp_load_acquire(p)
#define fgpu_store_release(p, v) smp_store_release((p), (v))

#define fgpu_likely(x) likely(x)
#define fgpu_unlikely(x) unlikely(x)
#define FGPU_PRINTF(text, args) __printf(text, args)

#define FGPU_U64 "%llu"
#define FGPU_X64 "%llx"
typedef unsigned long long fgpu_print_t;

static inline void fgpu_strscpy(char *to, const char *from, size_t size)
{
	if (size)
		strscpy(to, from, size);
}

#endif
