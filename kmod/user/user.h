/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the embedded device share. One process, two threads: the
 * notifier answers syscalls and owns everything here but the engine, which
 * only runs fgpu_engine_step() (engine.c).
 */
#ifndef FGPU_USER_H
#define FGPU_USER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <linux/seccomp.h>

#include "../core/core.h"
#include "witness.h"

#define FGPU_PATH_MAX 4096
#define FGPU_FAULTS_MAX 16
#define FGPU_MINOR_UVM 256 /* witness only: fakegpu-uvm has a major of its own */

/* main.c */

/**
 * struct fgpu_options - the command line
 * @name: of the control socket
 * @join: name of a running device to use, or NULL
 * @faults: armed at start
 * @witness_fd, @ready_fd, @hold_fd, @pid_fd, @filter_fd: -1 or as in --help
 * @wait_all: serve until the last descendant has ended
 * @inherited: @join is the device that this process runs on itself
 * @command: NULL for fakegpud
 */
struct fgpu_options {
	char name[64];
	const char *join;
	unsigned int devices;
	uint64_t vram;
	uint64_t quota;
	char version[FAKEGPU_VERSION_LEN];
	bool no_uvm;
	bool wait_all;
	bool inherited;
	int lifeline_fd;
	const char *faults[FGPU_FAULTS_MAX];
	unsigned int fault_count;
	int witness_fd;
	int ready_fd;
	int hold_fd;
	int pid_fd;
	int filter_fd;
	char **command;
};

extern struct fgpu_options options;

/* One line on stderr: "fakegpu-run: " and the text. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* port_daemon.c: the devices of this process */

extern struct fgpu_device *devices[FAKEGPU_MAX_DEVICES];

bool devices_start(void);
bool device_exists(unsigned int minor); /* minor as the witness counts: 255 ctl, 256 uvm */

/* context.c: one per open file */

/**
 * struct context - an open file of a device node
 * @id: the core's
 * @minor: as the witness counts
 * @fd: our own descriptor of its memory
 * @dev, @ino: of that memory, how a descriptor of a program is recognised
 * @watch: inotify watch that tells of the last close
 * @base: its whole mmap space
 * @placed, @node: it was opened by a node of the program's own, which looked like this
 * @kernel: the kernel's device list was asked and let it pass
 */
struct context {
	struct context *next;
	struct fgpu_context *core;
	struct fgpu_device *device;
	uint32_t id;
	unsigned int minor;
	pid_t pid;
	char name[32];
	int fd;
	dev_t dev;
	ino_t ino;
	int watch;
	char *base;
	bool placed;
	bool kernel;
	struct stat node;
	struct fakegpu_fence_slot told[FAKEGPU_MAX_CHANNELS]; /* the witness, last */
};

struct sockaddr_un;
struct task;
extern struct context *contexts;

int contexts_init(void);    /* the inotify descriptor to poll, or -1 */
void contexts_closed(void); /* that descriptor has something to say */
int context_open(unsigned int minor, pid_t pid, struct context **ret, int *program_fd);
struct context *context_own(unsigned int minor);
void context_free(struct context *context);
struct context *context_of_fd(const struct task *task, int fd);
struct context *context_of_inode(dev_t dev, ino_t ino);

/* engine.c */

bool engine_start(int wake_fd); /* wake_fd: eventfd written when waits should be looked at */
void engine_kick(void);
void engine_watch(bool on); /* somebody waits: write wake_fd when something moved */
void engine_moved(void);
void engine_give_way(int change); /* +1: a caller waits for a lock; -1: it has it */

/* memory.c: of programs, by thread id */

struct listener;
bool memory_read(const struct listener *listener, pid_t tid, uint64_t from, void *to, size_t size);
bool memory_write(const struct listener *listener, pid_t tid, uint64_t to, const void *from,
		  size_t size);
/* Length of the string, or -EFAULT or -ENAMETOOLONG. */
int memory_read_path(const struct listener *listener, pid_t tid, uint64_t from,
		     char path[FGPU_PATH_MAX]);

/* task.c */

/**
 * struct task - the thread that made a call
 * @tid: as this process sees it
 * @pid: of its process
 * @dir: its folder in /proc
 */
struct task {
	pid_t tid;
	pid_t pid;
	int dir;
};

/* Good until the next call of this; NULL when it has gone. */
const struct task *task_of(pid_t tid);
/* What a wait should end with because of a signal: 0 = there is none, -EINTR, -ERESTARTSYS. */
int task_interruption(const struct task *task);
uint32_t task_map_id(const struct task *task, const char *map, uint32_t id);
bool task_stat_fd(const struct task *task, int fd, struct stat *info);

/* node.c, paths.c */

enum target_kind {
	TARGET_OTHER,
	TARGET_NODE,	    /* a device node: minor */
	TARGET_VERSION,	    /* /proc/driver/fakegpu/version */
	TARGET_VERSION_DIR, /* /proc/driver/fakegpu */
	TARGET_CONTEXT,	    /* /proc/self/fd/N of an open node: minor */
};

/**
 * struct target - what a path leads to
 * @placed: injection put it into the program's own /dev; else it is the host's
 * @info: what stands there, of a placed one
 * @fd: O_PATH of that, or 0; close_target() closes it
 */
struct target {
	enum target_kind kind;
	unsigned int minor;
	bool placed;
	struct stat info;
	int fd;
};

extern const struct target no_target;

const char *node_name(unsigned int minor); /* "fakegpu0", … */
bool same_file(int dir_a, const char *a, int dir_b, const char *b);
bool is_procfs(int fd);
/* What a name in the directory `at` is; `root` is the program's. */
struct target node_at(int root, int at, const char *name);
struct target version_at(int at, const char *rest);
struct target descriptor_at(int at, const char *name);
struct target target_of(const struct context *context);
void close_target(const struct target *target);

/*
 * What `path` of a program means; follow = the last component, too, if a
 * symlink; resolve = openat2()'s RESOLVE_*.
 */
struct target path_resolve(const struct task *task, int dirfd, const char *path, bool follow,
			   uint64_t resolve);

/* notify.c */

/**
 * struct listener - one program's seccomp listener
 * @fd: where its calls come in
 * @broker: socket to the ancestor that may open its memory, or -1
 */
struct listener {
	struct listener *next;
	int fd;
	int broker;
};

/* One call being answered. */
struct call {
	struct seccomp_notif notif;
	struct listener *listener;
	const struct task *task; /* while it is dispatched */
	pid_t tid;
	pid_t pid;
	uint64_t received;
	struct context *context;
	unsigned int minor;
	bool silent; /* no call on a device: the witness is not told */
	const void *in;
	const void *out;
	const void *payload;
	uint16_t in_size;
	uint16_t out_size;
	uint16_t payload_size;
};

bool notify_init(void);
void notify_add(int fd, int broker); /* takes both */
bool notify_any(void);		     /* a program is still under a filter of ours */
bool notify_still_valid(const struct call *call);
/* Each ends the call and tells the witness; false: the caller is no longer there. */
bool notify_answer(struct call *call, int64_t ret); /* value, or -errno */
bool notify_give_fd(struct call *call, int fd, bool cloexec);
bool notify_continue(const struct call *call); /* the kernel does it; nothing to witness */

int poller_add(int fd, void (*ready)(void *data, uint32_t events), void *data);
void poller_remove(int fd);
int poller_run(bool (*done)(void)); /* serves until done(); 0 or -errno */

/*
 * verdict.c: 0 or -errno for an open by a node; @kernel: as the kernel's device
 * list has it, not only the permissions.
 */
int verdict_open(const struct task *task, const struct target *target, bool *kernel);

/* answer_*.c: each takes the call to its end */

void answer_path(struct call *call);
void answer_stat(struct call *call, struct target target, uint64_t user);
void answer_statx(struct call *call, struct target target, uint64_t user);
void answer_fstat(struct call *call);
struct target target_of_fd(const struct task *task, int fd);
void answer_ioctl(struct call *call);
void waits_check(void);				    /* answer the WAITs that are over */
uint64_t waits_deadline(void);			    /* the nearest, UINT64_MAX = none */
void waits_drop(const struct context *context);	    /* it is gone: EBADF */
void waits_forget(const struct listener *listener); /* nobody is there to answer */

/* witness.c */

bool witness_open(int fd);
bool witness_on(void);
void witness_call(const struct call *call, int64_t ret, uint64_t done);
void witness_context(const struct context *context, bool opened);
void witness_progress(struct context *context);
void witness_log(uint64_t now, int level, const char *text);

/* log.c: the stand-in's kernel log */

void log_add(uint64_t now, int level, const char *text);
size_t log_text(char *text, size_t size);

/* status.c */

#define REPLY_MAX 65536

/* A reply that is cut rather than overrun. */
struct reply {
	char text[REPLY_MAX];
	size_t used;
};

void say(struct reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_status(struct reply *reply);

/* control.c */

bool control_start(const char *name);
int fault_arm(const char *spec, char *why, size_t size);

/* client.c */

socklen_t control_address(const char *name, struct sockaddr_un *address);
bool same_device(const char *a, const char *b);
int control_client(const char *name, const char *command); /* an exit code */
bool control_can_join(const char *name);		   /* false and a complaint */
int control_join(const char *name, int listener_fd);	   /* the connection, or -1 */

/* rights.c */

bool send_fd(int socket, const void *data, size_t size, int fd);
ssize_t receive_fd(int socket, void *data, size_t size, int *fd);

/* filter.c */

int filter_install(void);	  /* the device's; its listener, or -errno */
int filter_install_extra(int fd); /* 0 or -errno */

/* launch.c, serve.c */

void raise_limits(void);
pid_t launch(int *channel, const sigset_t *mask); /* forks options.command; -1 and a complaint */
int run_command(void);				  /* fakegpu-run: its exit code */
int run_daemon(void);				  /* fakegpud */

uint64_t now_ns(void);

#endif
