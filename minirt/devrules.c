// SPDX-License-Identifier: MIT
/* The device list of a group in the kernel: loaded, attached, replaced, by raw bpf(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "devrules.h"

#define NAME "minirt_devices" /* how our program is known among others on the group */
#define ATTACHED_MAX 64

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* The last line that the verifier wrote before its summary says what is wrong. */
static const char *last_words(char *log)
{
	char *end, *line;

	for (;;) {
		end = log + strlen(log);
		while (end > log && end[-1] == '\n')
			*--end = '\0';
		line = strrchr(log, '\n');
		if (!line || strncmp(line + 1, "processed ", 10))
			return line ? line + 1 : log;
		*line = '\0';
	}
}

int dr_load(const struct bpf_insn *program, size_t length, struct mr_error *err)
{
	char log[16384] = "";
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
		.insns = address(program),
		.insn_cnt = (uint32_t)length,
		.license = address("Dual MIT/GPL"),
		.prog_name = NAME,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr), code = errno;

	if (fd >= 0)
		return fd;
	if (code == EPERM)
		return mr_lacks(
			err, "may not load a device program (needs CAP_BPF and CAP_NET_ADMIN, or "
			     "root): run it by root, or: " CG_LAB);
	if (code == ENOSYS)
		return mr_lacks(err, "this kernel has no bpf(2); " CG_LAB);
	attr.log_level = 1;
	attr.log_buf = address(log);
	attr.log_size = sizeof(log);
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd >= 0)
		return fd;
	return mr_fail(err, code, "load the device program: %s; verifier: %s", strerror(code),
		       *log ? last_words(log) : "silent");
}

static bool is_ours(int program)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)program,
					.info_len = sizeof(info),
					.info = address(&info)}};

	return !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info.type == BPF_PROG_TYPE_CGROUP_DEVICE &&
	       !strcmp(info.name, NAME);
}

/* Our program on the group, or -1: there is none. */
static int attached(int group)
{
	uint32_t ids[ATTACHED_MAX];
	union bpf_attr attr = {.query = {.target_fd = (uint32_t)group,
					 .attach_type = BPF_CGROUP_DEVICE,
					 .prog_ids = address(ids),
					 .prog_cnt = ATTACHED_MAX}};

	if (bpf(BPF_PROG_QUERY, &attr))
		return -1;
	for (uint32_t i = 0, count = attr.query.prog_cnt; i < count; i++) {
		union bpf_attr by_id = {.prog_id = ids[i]};
		int program = bpf(BPF_PROG_GET_FD_BY_ID, &by_id);

		if (program >= 0 && is_ours(program))
			return program;
		if (program >= 0)
			close(program);
	}
	return -1;
}

/* In one step where there is one already: at no time is the group without a list. */
static int attach(int group, int program, int old)
{
	union bpf_attr attr = {.target_fd = (uint32_t)group,
			       .attach_bpf_fd = (uint32_t)program,
			       .attach_type = BPF_CGROUP_DEVICE,
			       .attach_flags = BPF_F_ALLOW_MULTI};

	if (old >= 0) {
		attr.attach_flags |= BPF_F_REPLACE;
		attr.replace_bpf_fd = (uint32_t)old;
	}
	return bpf(BPF_PROG_ATTACH, &attr) ? errno : 0;
}

int mr_rules_attach(int cgroup_fd, const struct mr_rule *rules, size_t count, struct mr_error *err)
{
	struct bpf_insn *program;
	struct mr_step step;
	size_t length;
	int fd, old, code;

	if (cgroup_fd < 0)
		return mr_lacks(
			err,
			"a device list needs a cgroup v2 of one's own, and there is none; " CG_LAB);
	program = calloc(DR_INSNS_MAX, sizeof(*program));
	length = program ? dr_compile(rules, count, program) : 0;
	if (!length) {
		free(program);
		return mr_fail(err, E2BIG, "more than %d device rules", DR_RULES_MAX);
	}
	step = mr_step_begin("device-rules");
	fd = dr_load(program, length, err);
	free(program);
	if (fd < 0) {
		mr_step_end(&step, err->code ? err->code : EPERM, "rules=%zu", count);
		return -1;
	}
	old = attached(cgroup_fd);
	code = attach(cgroup_fd, fd, old);
	mr_step_end(&step, code, "rules=%zu insns=%zu replaced=%s", count, length,
		    old < 0 ? "no" : "yes");
	if (old >= 0)
		close(old);
	close(fd);
	return code ? mr_fail(err, code, "attach the device program: %s", strerror(code)) : 0;
}

int mr_rules_change(const char *path, const struct mr_rule *rules, size_t count,
		    struct mr_error *err)
{
	int group = *path ? mr_cgroup_open(path, err) : -1, ret;

	if (*path && group < 0)
		return -1;
	ret = mr_rules_attach(group, rules, count, err);
	if (group >= 0)
		close(group);
	return ret;
}
