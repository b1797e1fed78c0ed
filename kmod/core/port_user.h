/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core's surroundings in user space: types, atomics and the few C library
 * functions it uses. port_linux.h gives the same names inside the kernel, so
 * nothing but these may appear in core/.
 */
#ifndef FGPU_PORT_USER_H
#define FGPU_PORT_USER_H

#include <errno.h> /* EINVAL, …; also in the kernel's linux/errno.h */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>  /* snprintf, vsnprintf */
#include <string.h> /* memcpy, memset, memmove, strchr, strcmp, strnlen */

typedef pthread_mutex_t fgpu_lock_t;

/* Memory shared with a program: one access each, never torn or repeated. */
#define fgpu_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define fgpu_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define fgpu_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define fgpu_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define fgpu_likely(x) __builtin_expect(!!(x), 1)
#define fgpu_unlikely(x) __builtin_expect(!!(x), 0)
#define FGPU_PRINTF(text, args) __attribute__((__format__(__printf__, text, args)))

/* 64-bit integers in a format; the kernel's are always long long. */
#define FGPU_U64 "%llu"
#define FGPU_X64 "%llx"
typedef unsigned long long fgpu_print_t;

/* strscpy()'s manner: always terminated, cut when too long. */
static inline void fgpu_strscpy(char *to, const char *from, size_t size)
{
	size_t length;

	if (!size)
		return;
	length = strnlen(from, size - 1);
	memcpy(to, from, length);
	to[length] = '\0';
}

#endif
