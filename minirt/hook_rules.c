// SPDX-License-Identifier: MIT
/*
 * Opening a container's device list for what a hook brought, after the runtime
 * has closed it. In cgroup v1 that is a line in a file; in v2 the runtime's
 * program is replaced by one that lets our devices pass and asks the rest of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "devrules.h"
#include "hook.h"

#define PROGRAMS_MAX 64
#define INSNS_MAX 4096

static uint64_t address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* The group of @pid in the hierarchy of @controller ("" is v2's), from "N:CONTROLLERS:PATH". */
static bool group_of(pid_t pid, const char *controller, char *path, size_t room)
{
	char file[64], line[4096], names[256];
	bool found = false;
	FILE *stream;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	stream = fopen(file, "re");
	while (stream && !found && fgets(line, sizeof(line), stream)) {
		char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;

		if (!second || (size_t)(second - first) > sizeof(names))
			continue;
		snprintf(names, sizeof(names), "%.*s", (int)(second - first - 1), first + 1);
		line[strcspn(line, "\n")] = '\0';
		found = !strcmp(names, controller);
		snprintf(path, room, "%s", second + 1);
	}
	if (stream)
		fclose(stream);
	return found;
}

/* Where version 1's device controller is mounted. */
static bool mount_of_v1(char *where, size_t room)
{
	char line[4096], root[512], point[512];
	FILE *stream = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	while (stream && !found && fgets(line, sizeof(line), stream)) {
		const char *tail = strstr(line, " - cgroup ");

		found = tail && strstr(tail, "devices") &&
			sscanf(line, "%*s %*s %*s %511s %511s", root, point) == 2 &&
			!strcmp(root, "/");
	}
	if (found)
		snprintf(where, room, "%s", point);
	if (stream)
		fclose(stream);
	return found;
}

static int allow_v1(const char *mount, const char *group, const struct mr_rule *rules, size_t count,
		    struct mr_error *err)
{
	char *path = mr_text("%s%s/devices.allow", mount, group);
	size_t i;

	for (i = 0; i < count; i++) {
		const struct mr_rule *rule = &rules[i];
		MR_FD file = open(path, O_WRONLY | O_CLOEXEC);

		/* One rule a write, and one write a rule. */
		if (file < 0 ||
		    dprintf(file, "%c %d:%d %s%s%s", rule->type, (int)rule->major, (int)rule->minor,
			    rule->access & MR_READ ? "r" : "", rule->access & MR_WRITE ? "w" : "",
			    rule->access & MR_MKNOD ? "m" : "") < 0)
			return mr_fail(err, errno, "write %s: %m", path);
	}
	free(path);
	return 0;
}

/* The program's instructions; 0 when the kernel does not give them. */
static size_t read_program(int program, struct bpf_insn *insns)
{
	struct bpf_prog_info info = {.xlated_prog_insns = address(insns),
				     .xlated_prog_len = INSNS_MAX * sizeof(*insns)};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)program,
					.info_len = sizeof(info),
					.info = address(&info)}};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) || info.xlated_prog_len > INSNS_MAX * sizeof(*insns))
		return 0;
	return info.xlated_prog_len / sizeof(*insns);
}

/* @old with our rules before it: what they let pass passes, the rest is asked as before. */
static int longer_program(int old, const struct mr_rule *rules, size_t count)
{
	struct bpf_insn *insns = calloc(DR_INSNS_MAX + INSNS_MAX, sizeof(*insns));
	size_t head = insns ? dr_compile(rules, count, insns) : 0;
	/* Without its end, which denies. */
	size_t tail = head ? read_program(old, insns + head - 2) : 0;
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
			       .insns = address(insns),
			       .insn_cnt = (uint32_t)(head + tail - 2),
			       .license = address("Dual MIT/GPL"),
			       .prog_name = "fakegpu_devices"};
	int program = tail ? bpf(BPF_PROG_LOAD, &attr) : -1;

	free(insns);
	return program;
}

static int replace(int group, uint32_t id, uint32_t flags, const struct mr_rule *rules,
		   size_t count)
{
	union bpf_attr by_id = {.prog_id = id};
	MR_FD old = bpf(BPF_PROG_GET_FD_BY_ID, &by_id);
	MR_FD program = old < 0 ? -1 : longer_program(old, rules, count);
	union bpf_attr attr = {.target_fd = (uint32_t)group,
			       .attach_bpf_fd = (uint32_t)program,
			       .attach_type = BPF_CGROUP_DEVICE,
			       .attach_flags = flags};

	if (program < 0)
		return -1;
	if (flags & BPF_F_ALLOW_MULTI) {
		attr.attach_flags |= BPF_F_REPLACE;
		attr.replace_bpf_fd = (uint32_t)old;
	}
	return bpf(BPF_PROG_ATTACH, &attr);
}

static int allow_v2(int group, const struct mr_rule *rules, size_t count, struct mr_error *err)
{
	uint32_t ids[PROGRAMS_MAX], i;
	union bpf_attr attr = {.query = {.target_fd = (uint32_t)group,
					 .attach_type = BPF_CGROUP_DEVICE,
					 .prog_ids = address(ids),
					 .prog_cnt = PROGRAMS_MAX}};

	if (bpf(BPF_PROG_QUERY, &attr))
		return mr_fail(err, errno, "read the container's device program: %m");
	/* Each of them must let a device pass. */
	for (i = 0; i < attr.query.prog_cnt; i++)
		if (replace(group, ids[i], attr.query.attach_flags, rules, count))
			return mr_fail(err, errno, "replace the container's device program: %m");
	return 0;
}

int hook_rules(pid_t pid, const struct mr_rule *rules, size_t count, struct mr_error *err)
{
	char group[3072], mount[512];
	struct cg_tree tree;
	int ret;

	if (geteuid()) /* whoever may not change the list could not have closed it */
		return 0;
	if (mount_of_v1(mount, sizeof(mount)) && group_of(pid, "devices", group, sizeof(group)))
		return allow_v1(mount, group, rules, count, err);
	if (!group_of(pid, "", group, sizeof(group)))
		return mr_fail(err, ESRCH, "process %d has no cgroup", (int)pid);
	if (cg_tree_open(&tree, err))
		return -1;
	MR_FD directory = cg_open(&tree, group);
	ret = directory < 0 ? mr_fail(err, errno, "open the cgroup %s: %m", group)
			    : allow_v2(directory, rules, count, err);
	cg_tree_close(&tree);
	return ret;
}
