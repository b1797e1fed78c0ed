/* SPDX-License-Identifier: MIT */
/*
 * What the files that start, enter and tell of a container share: the parent's
 * side, the container's side, and the messages between them.
 */
#ifndef MINIRT_START_H
#define MINIRT_START_H

#include <signal.h>

#include "minirt.h"

/* error.c. What the caller typed is wrong: MR_EXIT_USAGE. */
int mr_usage(struct mr_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void mr_no_memory(void);
/* Copies that are never NULL unless @text is. */
char *mr_copy(const char *text);
char *mr_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Closes the descriptor of a variable that goes out of scope. */
void mr_close(const int *fd);
#define MR_FD __attribute__((cleanup(mr_close))) int

/* step.c: where steps go (-1: nowhere), where else they are kept, and whose they are */
void mr_step_open(const char *id, int fd, int kept);
/* Keeps the host's /proc until exec, so that steps have the host's pids in the container too. */
void mr_step_keep_proc(void);

/* kept.c: the file that keeps the steps of a container; anew for a start; -1 where none can */
int mr_steps_keep(int states, const char *id, bool fresh);

/* defaults.c: a container by flags */
void mr_spec_init(struct mr_spec *spec);
/* The mounts, nodes and rules that a root directory alone says nothing of. */
void mr_spec_defaults(struct mr_spec *spec);
void mr_spec_rules(struct mr_spec *spec);
bool mr_unified(void); /* cgroup v2 alone is mounted where it should be */
/* The nodes each container has, by whatever way it is described. */
void mr_spec_nodes(struct mr_spec *spec);
void mr_spec_env(struct mr_spec *spec, const char *text);

/* rule.c: "allow c 240:0 rwm", "deny a *:* rwm" */
int mr_access_parse(const char *text, unsigned int *access);
int mr_rule_parse(const char *text, struct mr_rule *rule, struct mr_error *err);
char *mr_rule_text(const struct mr_rule *rule);

/* options.c: fills @spec from the command line of run or exec; @argc, @argv become what follows */
enum mr_verb { MR_RUN = 1, MR_EXEC = 2 };
struct mr_choice {
	const char *pid_file;
	const char *log;
	int steps_fd;
};
int mr_options(enum mr_verb verb, int *argc, char ***argv, struct mr_spec *spec,
	       struct mr_choice *choice, struct mr_error *err);
void mr_options_help(enum mr_verb verb);

/* bundle.c: config.json of @path into @spec */
int mr_bundle_read(struct mr_spec *spec, const char *path, struct mr_error *err);

/* title.c: what others read as the command line of this process */
void mr_title_keep(char **argv);
void mr_title_set(const char *title);

/* sealed.c: makes sure that this program's file can't be written through /proc/PID/exe */
int mr_sealed_exec(char **argv, struct mr_error *err);

/* sync.c: messages between the parent and the container's processes */
enum mr_kind { MR_MAPPED = 1, MR_READY, MR_GO, MR_FAILED, MR_TERMINAL };
/* -1 with errno; @fd is sent along unless it is -1. */
int mr_send(int sync, enum mr_kind kind, const struct mr_error *err, int fd);
/* The kind, 0 at the end of file, -1 with errno. @err and @fd may be NULL. */
int mr_receive(int sync, struct mr_error *err, int *fd);

/* root.c: paths of the container's root, resolved inside it whatever links say */
int mr_root_open(int root, const char *path, int flags);
/* O_PATH of @path, made (with its folders) where it is missing. */
int mr_root_place(int root, const char *path, bool directory);
/* O_PATH of the folder of @path, made where it is missing; @name is its last part. */
int mr_root_parent(int root, const char *path, char *name, size_t size);
int mr_root_prepare(const struct mr_spec *spec, struct mr_error *err);
int mr_root_pivot(int root, struct mr_error *err);
int mr_root_read_only(struct mr_error *err);

/* mount.c */
int mr_mount_all(int root, const struct mr_spec *spec, struct mr_error *err);
int mr_mount_bind(int from, int target, unsigned long flags);

/* mount_options.c: "ro,nosuid,size=64k" into flags and data */
void mr_mount_options(struct mr_mount *mount, const char *text);

/* node.c */
int mr_nodes_make(int root, const struct mr_spec *spec, struct mr_error *err);

/* terminal.c: the container's side … */
int mr_terminal_make(int root, int *peer, struct mr_error *err);
int mr_terminal_console(int root, int peer, struct mr_error *err);
int mr_terminal_take(int peer, struct mr_error *err);
/* … and the caller's, whose terminal is raw from begin to end */
struct mr_terminal {
	int master;
	bool raw;
	bool input_ended;
};
void mr_terminal_begin(struct mr_terminal *terminal);
void mr_terminal_resize(const struct mr_terminal *terminal);
/* Carries what is there to carry; false when the container's side has ended. */
bool mr_terminal_input(struct mr_terminal *terminal);
bool mr_terminal_output(const struct mr_terminal *terminal);
void mr_terminal_end(struct mr_terminal *terminal);

/* hooks.c: those of @point, with the state on their input */
int mr_hooks_run(const struct mr_spec *spec, const char *point, const char *status, pid_t pid,
		 struct mr_error *err);
bool mr_hooks_any(const struct mr_spec *spec, const char *point);

/* idmap.c */
int mr_idmap_write(pid_t pid, const struct mr_spec *spec, struct mr_error *err);

/**
 * struct mr_container - a container as its parent has it
 * @pid: of its PID 1, in the parent's PID namespace
 * @sync: to the container's side until the command is executed
 * @input, @output: of a detached command, or -1
 * @alone: the container's side goes on without waiting for this one
 * @mask: signals to be blocked in the command
 */
struct mr_container {
	const struct mr_spec *spec;
	struct mr_cgroup cgroup;
	pid_t pid;
	int pidfd;
	int sync;
	int input;
	int output;
	bool alone;
	sigset_t mask;
	struct mr_terminal terminal;
};

/* spawn.c: clones PID 1 and brings it up to where only the command is left to start */
int mr_spawn(struct mr_container *container, struct mr_error *err);
/* The device list, once all nodes are made. */
int mr_enforce_rules(const struct mr_container *container, struct mr_error *err);
/* What the container's side says next: its kind, 0 at its end, -1 with the failure. */
int mr_hear(struct mr_container *container, struct mr_error *err);
/* Lets the command start; returns when it has been executed. */
int mr_spawn_go(struct mr_container *container, struct mr_error *err);

/* monitor.c: carries signals and the terminal until @pidfd ends; the exit code for the shell */
int mr_monitor(int pidfd, struct mr_terminal *terminal);
void mr_monitor_block(sigset_t *before);

/* inside.c, init.c, command.c: the container's side; none of these returns */
_Noreturn void mr_inside(const struct mr_container *container);
_Noreturn void mr_init(const struct mr_container *container, int peer);
_Noreturn void mr_command(const struct mr_spec *spec, int sync, int peer, const sigset_t *mask);
_Noreturn void mr_give_up(int sync, const struct mr_error *err);

/**
 * struct mr_state - what the state file says
 * @start, @runtime_start: when these processes began, which tells them from a later
 *	process of the same number (clock ticks since boot)
 * @status: "creating", "running" or "stopped"
 */
struct mr_state {
	char id[MR_ID_MAX];
	char status[16];
	pid_t pid;
	uint64_t start;
	pid_t runtime;
	uint64_t runtime_start;
	char *bundle;
	char *rootfs;
	char *cgroup;
	char *hostname;
	char **argv;
	char **env;
	char *cwd;
	uint32_t uid, gid;
	uint64_t capabilities;
	unsigned int namespaces;
	bool detached;
	bool rootless;
	bool net;
	bool no_seccomp;
	MR_LIST(struct mr_rule) rules;
};

/* state_json.c */
struct json_t;
struct json_t *mr_state_json(const struct mr_state *state);

/* state.c: one folder per container below $XDG_RUNTIME_DIR/minirt or /run/minirt */
bool mr_good_id(const char *id);
int mr_state_open(struct mr_error *err);
/* Under a name that nobody has; what is left of containers nobody looks after is removed. */
int mr_state_create(int states, struct mr_container *container, struct mr_error *err);
int mr_state_write(int states, const struct mr_container *container, const char *status,
		   struct mr_error *err);
int mr_state_read(int states, const char *id, struct mr_state *state, struct mr_error *err);
int mr_state_save(int states, const struct mr_state *state, struct mr_error *err);
int mr_state_remove(int states, const char *id, struct mr_error *err);
/* A folder without a state. */
bool mr_state_leftover(int states, const char *id);
bool mr_state_alive(const struct mr_state *state);
/* Nobody looks after it any more: its runtime has ended before its time, or it has. */
bool mr_state_orphan(const struct mr_state *state);
uint64_t mr_process_start(pid_t pid);
/* PID 2 of a container, in this process's numbers; 0 when there is none. */
pid_t mr_process_child(pid_t init);
int mr_state_lock(int states);
/* Calls @each for every container, in the order of the folder. */
int mr_state_each(int states, int (*each)(int states, const char *id, void *data), void *data);

/* clean.c: ends what is left of a container and removes its traces */
int mr_clean(int states, const char *id, struct mr_error *err);
void mr_clean_orphans(int states);

/* Verbs: each takes what follows its name and returns the exit code. */
int mr_verb_run(int argc, char **argv, struct mr_error *err);
int mr_verb_exec(int argc, char **argv, struct mr_error *err);
int mr_verb_ps(int argc, char **argv, struct mr_error *err);
int mr_verb_state(int argc, char **argv, struct mr_error *err);
int mr_verb_kill(int argc, char **argv, struct mr_error *err);
int mr_verb_delete(int argc, char **argv, struct mr_error *err);
int mr_verb_events(int argc, char **argv, struct mr_error *err);
int mr_verb_devices(int argc, char **argv, struct mr_error *err);

#endif
