/* SPDX-License-Identifier: MIT */
/*
 * What the files of minirt share: the specification of a container, the error,
 * the steps of a start, and one function group per file.
 *
 * Convention: a function that can fail returns 0 (or a descriptor) on success
 * and leaves @err alone; on failure it returns -1 after mr_fail() has told why.
 */
#ifndef MINIRT_H
#define MINIRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MR_ID_MAX 64
#define MR_UNLIMITED UINT64_MAX

/* Exit codes: of the command itself, or one of these. */
#define MR_EXIT_FAILED 125 /* minirt could not start it */
#define MR_EXIT_CANNOT_EXEC 126
#define MR_EXIT_NOT_FOUND 127
#define MR_EXIT_USAGE 2
#define MR_EXIT_PREREQUISITE                                                                       \
	4 /* this machine lacks something; the text says what and where it would work */

/**
 * struct mr_error - one line: the cause and what to do
 * @code: errno, or 0
 * @status: exit code of minirt
 */
struct mr_error {
	int code;
	int status;
	char text[512];
};

/* error.c */
int mr_fail(struct mr_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* As mr_fail(), with MR_EXIT_PREREQUISITE. */
int mr_lacks(struct mr_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the container may see of the machine */

struct mr_idmap {
	uint32_t inside;
	uint32_t outside;
	uint32_t count;
};

/**
 * struct mr_mount - one mount, made in the order of the specification
 * @source: host path (bind), or what /proc/mounts shall show
 * @target: path in the container, resolved inside the root whatever links say
 * @type: "bind", "proc", "tmpfs" …
 * @flags: MS_*
 * @data: options of the file system, or NULL
 */
struct mr_mount {
	char *source;
	char *target;
	char *type;
	unsigned long flags;
	char *data;
};

/**
 * struct mr_device - a node in the container
 * @path: in the container
 * @host: node of the host to bind where no node can be made, or NULL for @path
 * @type: 'c' or 'b'
 */
struct mr_device {
	char *path;
	char *host;
	char type;
	uint32_t major;
	uint32_t minor;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/**
 * struct mr_rule - one line of the device list; the list denies by default
 * @allow: a later line wins over an earlier one
 * @type: 'c', 'b' or 'a' (both)
 * @major, @minor: -1 for any
 * @access: any of MR_READ, MR_WRITE, MR_MKNOD
 */
struct mr_rule {
	bool allow;
	char type;
	int64_t major;
	int64_t minor;
	unsigned int access;
};

#define MR_READ 1
#define MR_WRITE 2
#define MR_MKNOD 4

/**
 * struct mr_limits - cgroup v2 values; MR_UNLIMITED leaves the file alone
 * @memory, @memory_high, @swap: bytes
 * @cpu_quota_us, @cpu_period_us: cpu.max
 */
struct mr_limits {
	uint64_t memory;
	uint64_t memory_high;
	uint64_t swap;
	uint64_t cpu_quota_us;
	uint64_t cpu_period_us;
	uint64_t pids;
};

/* A resource limit of the command: RLIMIT_*, as setrlimit() takes it. */
struct mr_rlimit {
	int resource;
	uint64_t soft;
	uint64_t hard;
};

/**
 * struct mr_hook - a program of the host run at a point of the start
 * @point: "createRuntime", "createContainer", "startContainer", "poststart" or "poststop"
 */
struct mr_hook {
	char *point;
	char *path;
	char **argv;
	char **env;
	unsigned int timeout_s;
};

/* Lists grow by mr_list_add(); they are arrays with a count. */
#define MR_LIST(type)                                                                              \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
	}

/**
 * struct mr_spec - a container before it exists
 * @argv, @env: NULL-terminated
 * @namespaces: CLONE_NEW*
 * @capabilities: bit per capability that stays
 * @hide, @read_only_paths: masked and read-only paths
 * @gpu: CDI names asked for; @gpu_hook: inject by a createRuntime hook instead
 * @steps_fd: where each step is told, or -1
 */
struct mr_spec {
	char id[MR_ID_MAX];
	char *bundle;
	char *rootfs;
	char **argv;
	char **env;
	char *cwd;
	char *hostname;
	uint32_t uid, gid;
	unsigned int namespaces;
	bool rootless;
	bool read_only;
	bool terminal;
	bool detach;
	bool net;
	bool gpu_hook;
	bool no_seccomp;
	uint64_t capabilities;
	struct mr_limits limits;
	MR_LIST(struct mr_idmap) uids;
	MR_LIST(struct mr_idmap) gids;
	MR_LIST(struct mr_mount) mounts;
	MR_LIST(struct mr_device) devices;
	MR_LIST(struct mr_rule) rules;
	MR_LIST(struct mr_rlimit) rlimits;
	MR_LIST(struct mr_hook) hooks;
	MR_LIST(char *) hide;
	MR_LIST(char *) read_only_paths;
	MR_LIST(char *) gpu;
	int steps_fd;
};

/* One more zeroed item at the end of a list of the specification; exits on no memory. */
void *mr_grow(void *items, size_t *count, size_t size);
#define mr_list_add(list)                                                                          \
	((list)->items = mr_grow((list)->items, &(list)->count, sizeof(*(list)->items)),           \
	 &(list)->items[(list)->count - 1])

/*
 * step.c: each step of a start as one JSON line in one write, from whichever
 * process makes it:
 *   {"ts":NS,"id":"…","pid":N,"step":"mount","duration_ns":N,"errno":0,"detail":{…}}
 * ts is CLOCK_MONOTONIC at the beginning. step names: clone, id-map, cgroup,
 * cgroup-write, device-rules, mount, device, library, pivot-root, hostname,
 * net, capabilities, seccomp, hook, ldconfig, exec, exit, oom, delete.
 */
struct mr_step {
	const char *name;
	uint64_t begin_ns;
};

struct mr_step mr_step_begin(const char *name);
/* @format: pairs for the detail, written as "key=%s" "key=%d" … see step.c. Keeps errno. */
void mr_step_end(const struct mr_step *step, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* cgroup.c: own sub-cgroup under wherever this process is, by systemd's delegation rules */

struct mr_cgroup {
	char path[4096]; /* below the mount of cgroup v2, or "" */
	int fd;		 /* of the directory, for CLONE_INTO_CGROUP, or -1 */
};

/* Decides where the group will be, so that it can be written down before it is there. */
int mr_cgroup_place(struct mr_cgroup *group, const struct mr_spec *spec, struct mr_error *err);
/*
 * Makes the group (where it was placed, if it was) and writes the limits; mr_lacks()
 * where there is no v2 or no delegation. With nothing to limit that is no error: no
 * group, path "" and fd -1.
 */
int mr_cgroup_make(struct mr_cgroup *group, const struct mr_spec *spec, struct mr_error *err);
/* The directory of a running container's group, for exec. */
int mr_cgroup_open(const char *path, struct mr_error *err);
/* Kills all in it (cgroup.kill) and removes it, with what is below; quiet when it is gone. */
int mr_cgroup_remove(const char *path, struct mr_error *err);
/* oom_kill of memory.events, own and hierarchical; 0 without a group. */
uint64_t mr_cgroup_oom_kills(const char *path);

/* devrules.c: BPF_PROG_TYPE_CGROUP_DEVICE by raw bpf(2); replaces what minirt attached before */
int mr_rules_attach(int cgroup_fd, const struct mr_rule *rules, size_t count, struct mr_error *err);
/* The list of a running container, by its group's path: @rules is the whole new list. */
int mr_rules_change(const char *path, const struct mr_rule *rules, size_t count,
		    struct mr_error *err);

/* net.c: veth pair by rtnetlink, one end in the namespace of @pid, with an address and lo up */
int mr_net_make(const char *id, pid_t pid, struct mr_error *err);
int mr_net_remove(const char *id, struct mr_error *err);
/* In the container: lo up, which a new network namespace has down. */
int mr_net_loopback(struct mr_error *err);

/* caps.c, seccomp.c: in the container, last thing before exec */
uint64_t mr_caps_default(void);
int mr_caps_by_name(const char *name, uint64_t *bit);
int mr_caps_drop(uint64_t keep, struct mr_error *err);
int mr_seccomp_load(struct mr_error *err);

/* hide.c: masked and read-only paths of the new root, before it becomes "/" */
void mr_hide_defaults(struct mr_spec *spec); /* adds the usual ones to its lists */
int mr_hide_paths(int root, const struct mr_spec *spec, struct mr_error *err);

/* inject.c: the edits for @spec->gpu, out of the CDI files, put into the specification */
int mr_inject(struct mr_spec *spec, struct mr_error *err);

#endif
