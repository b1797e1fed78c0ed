// SPDX-License-Identifier: MIT
/* What is left of root's privilege inside: a short list of capabilities, and no way to more. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minirt.h"

#define BIT(cap) (1ull << (cap))

/* By number, as <linux/capability.h> has them. */
static const char *const names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};

/* What programs that change user, own files and serve low ports need; nothing that reaches out. */
uint64_t mr_caps_default(void)
{
	return BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) |
	       BIT(CAP_KILL) | BIT(CAP_SETGID) | BIT(CAP_SETUID) | BIT(CAP_SETPCAP) |
	       BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SETFCAP);
}

/* With or without "CAP_", in either case. */
int mr_caps_by_name(const char *name, uint64_t *bit)
{
	if (!strncasecmp(name, "CAP_", 4))
		name += 4;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcasecmp(name, names[i]))
			continue;
		*bit = BIT(i);
		return 0;
	}
	return -1;
}

/* The bounding set is what an exec could ever give back, so it goes first and needs SETPCAP. */
static int drop_bounding(uint64_t keep, struct mr_error *err)
{
	for (unsigned int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		if (keep & BIT(cap) || !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			continue;
		return mr_fail(err, errno, "drop capability %u from the bounding set: %s", cap,
			       strerror(errno));
	}
	return 0;
}

/* Keeps of each set what is in @keep; the inheritable one is empty, as a file could add to it. */
static int drop_sets(uint64_t keep, struct mr_error *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return mr_fail(err, errno, "capget: %s", strerror(errno));
	for (int half = 0; half < 2; half++) {
		uint32_t bits = (uint32_t)(keep >> 32 * half);

		data[half].permitted &= bits;
		data[half].effective = data[half].permitted;
		data[half].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data))
		return mr_fail(err, errno, "capset: %s", strerror(errno));
	return 0;
}

int mr_caps_drop(uint64_t keep, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("capabilities");
	int ret = 0;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ret = mr_fail(err, errno, "give up gaining privilege: %s", strerror(errno));
	if (!ret)
		ret = drop_bounding(keep, err);
	if (!ret)
		ret = drop_sets(keep, err);
	mr_step_end(&step, ret ? err->code : 0, "keep=%#llx no_new_privs=1",
		    (unsigned long long)keep);
	return ret;
}
