// SPDX-License-Identifier: MIT
/* The default filter put on this process, for good. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minirt.h"
#include "seccomp.h"

int mr_seccomp_load(struct mr_error *err)
{
	struct mr_step step = mr_step_begin("seccomp");
	struct sock_filter program[SF_INSNS_MAX];
	struct sock_fprog filter = {.filter = program};
	uint8_t verdicts[SF_CALLS];
	int code = 0;

	sf_verdicts(verdicts);
	filter.len = (unsigned short)sf_build(verdicts, program);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
		code = errno;
	mr_step_end(&step, code, "insns=%u", filter.len);
	if (code == ENOSYS || code == EINVAL)
		return mr_lacks(err,
				"this kernel has no seccomp filters: --no-seccomp does without, or "
				"in the lab VM: glassstack lab");
	return code ? mr_fail(err, code, "load the seccomp filter: %s", strerror(code)) : 0;
}
