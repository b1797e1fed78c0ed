// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The seccomp filter: which calls of a program come to the device. ioctls are
 * told apart by their type byte here, so that all others cost nothing.
 */
#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the embedded device knows x86-64 and aarch64"
#endif

static const int path_calls[] = {
#ifdef SYS_open
	SYS_open,     SYS_creat,     SYS_stat,	     SYS_lstat,
	SYS_access,   SYS_readlink,
#endif
	SYS_openat,   SYS_openat2,   SYS_newfstatat, SYS_statx,
	SYS_fstat,    SYS_faccessat, SYS_faccessat2, SYS_readlinkat,
	SYS_getxattr, SYS_lgetxattr, SYS_listxattr,  SYS_llistxattr,
};

#define PATH_CALLS (sizeof(path_calls) / sizeof(path_calls[0]))
#define LENGTH (12 + PATH_CALLS)

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter jump_equal(uint32_t value, size_t yes, size_t no)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (uint8_t)yes,
					    (uint8_t)no);
}

static struct sock_filter give(uint32_t action)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

static unsigned short build(struct sock_filter *code)
{
	struct sock_filter *at = code;
	size_t i;

	*at++ = load(offsetof(struct seccomp_data, arch));
	*at++ = jump_equal(NATIVE_ARCH, 1, 0);
	*at++ = give(SECCOMP_RET_ALLOW); /* 32-bit programs have no device */
	*at++ = load(offsetof(struct seccomp_data, nr));
	*at++ = jump_equal(SYS_ioctl, PATH_CALLS + 1, 0);
	for (i = 0; i < PATH_CALLS; i++)
		*at++ = jump_equal((uint32_t)path_calls[i], PATH_CALLS - i + 4, 0);
	*at++ = give(SECCOMP_RET_ALLOW);
	*at++ = load(offsetof(struct seccomp_data, args[1]));
	*at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00);
	*at++ = jump_equal(FAKEGPU_IOC_TYPE << 8, 1, 0);
	*at++ = give(SECCOMP_RET_ALLOW);
	*at++ = give(SECCOMP_RET_USER_NOTIF);
	return (unsigned short)(at - code);
}

static int install(const struct sock_fprog *program, unsigned int flags)
{
	long ret;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	return ret < 0 ? -errno : (int)ret;
}

int filter_install(void)
{
	struct sock_filter code[LENGTH];
	struct sock_fprog program = {.len = build(code), .filter = code};

	int fd;

	/*
	 * Once we have a call it is not interrupted any more but by death: else a signal could
	 * make the kernel drop an answer that it has taken, and make the call again. Since 5.19.
	 */
	fd = install(&program,
		     SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	return fd == -EINVAL ? install(&program, SECCOMP_FILTER_FLAG_NEW_LISTENER) : fd;
}

int filter_install_extra(int fd)
{
	static struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog program = {.filter = code};
	ssize_t size = pread(fd, code, sizeof(code), 0);

	if (size < (ssize_t)sizeof(code[0]) || size % (ssize_t)sizeof(code[0]))
		return -EINVAL;
	program.len = (unsigned short)((size_t)size / sizeof(code[0]));
	return install(&program, 0);
}
