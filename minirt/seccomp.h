/* SPDX-License-Identifier: MIT */
/* The default system call filter, apart from the kernel, so that a test can run it by itself. */
#ifndef MINIRT_SECCOMP_H
#define MINIRT_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#define SF_CALLS 512 /* numbers there are verdicts for; none is above */
#define SF_INSNS_MAX 255

enum sf_verdict {
	SF_REFUSE, /* EPERM: known, and not for a container */
	SF_ALLOW,
	SF_UNKNOWN, /* ENOSYS: newer than this list, so that a libc falls back */
	/* by an argument: */
	SF_CLONE,
	SF_PERSONALITY,
	SF_SOCKET,
	SF_IOCTL,
};

/* seccomp_calls.c: the list */
void sf_verdicts(uint8_t verdicts[SF_CALLS]);
/* seccomp_filter.c: the list as a program; gives its length */
size_t sf_build(const uint8_t verdicts[SF_CALLS], struct sock_filter program[SF_INSNS_MAX]);

#endif
