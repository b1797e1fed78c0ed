// SPDX-License-Identifier: MIT
/*
 * The last part of a start, in the process that becomes the command: session
 * and terminal, identity, capabilities, seccomp, exec. The same for run and exec.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "start.h"

#define PATH_BYTES 4096
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_Noreturn void mr_give_up(int sync, const struct mr_error *err)
{
	mr_send(sync, MR_FAILED, err, -1);
	_exit(err->status ? err->status : MR_EXIT_FAILED);
}

/* Ignored signals stay ignored over exec: the command begins with none. */
static void fresh_signals(const sigset_t *mask)
{
	int number;

	for (number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* In the container and not in a folder of the host that a descriptor leads to (CVE-2024-21626). */
static int enter_folder(const struct mr_spec *spec, struct mr_error *err)
{
	const char *cwd = spec->cwd ? spec->cwd : "/";
	char where[PATH_BYTES];
	long n;

	if (chdir(cwd))
		return mr_fail(err, errno, "enter the folder %s in the container: %m", cwd);
	n = syscall(SYS_getcwd, where, sizeof(where));
	if (n < 1 || where[0] != '/')
		return mr_fail(err, EPERM, "the folder %s is outside of the container", cwd);
	return 0;
}

/* Another user keeps the capabilities it is to have until mr_caps_drop() sorts them out. */
static int become_user(const struct mr_spec *spec, struct mr_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (setgroups(0, NULL) && errno != EPERM)
		return mr_fail(err, errno, "give up the groups: %m");
	if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(spec->gid, spec->gid, spec->gid) ||
	    setresuid(spec->uid, spec->uid, spec->uid))
		return mr_fail(err, errno, "become user %u, group %u: %m", spec->uid, spec->gid);
	if (!spec->uid)
		return 0;
	if (syscall(SYS_capget, &header, data))
		return mr_fail(err, errno, "read own capabilities: %m");
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return syscall(SYS_capset, &header, data) ? mr_fail(err, errno, "keep capabilities: %m")
						  : 0;
}

static int limit(const struct mr_spec *spec, struct mr_error *err)
{
	size_t i;

	for (i = 0; i < spec->rlimits.count; i++) {
		const struct mr_rlimit *wanted = &spec->rlimits.items[i];
		struct rlimit limit = {.rlim_cur = wanted->soft, .rlim_max = wanted->hard};

		if (setrlimit(wanted->resource, &limit))
			return mr_fail(err, errno, "set resource limit %d: %m", wanted->resource);
	}
	return 0;
}

static int reduce(const struct mr_spec *spec, struct mr_error *err)
{
	if (limit(spec, err) || become_user(spec, err) || mr_caps_drop(spec->capabilities, err))
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return mr_fail(err, errno, "set no_new_privs: %m");
	/* A change of user forgets it: who waits for the command may be killed, and it with him. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return mr_fail(err, errno, "prctl: %m");
	return spec->no_seccomp ? 0 : mr_seccomp_load(err);
}

static const char *path_of(char *const *env)
{
	for (; env && *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return DEFAULT_PATH;
}

static bool is_program(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISREG(info.st_mode) && !access(path, X_OK);
}

/* The file that @name means by PATH, else @name itself. */
static const char *find(const char *name, char *const *env, char *found, size_t size)
{
	const char *list = path_of(env);

	if (strchr(name, '/'))
		return name;
	while (*list) {
		size_t length = strcspn(list, ":");

		snprintf(found, size, "%.*s/%s", (int)length, length ? list : ".", name);
		if (is_program(found))
			return found;
		list += length + (list[length] == ':');
	}
	return NULL;
}

static void execute(const struct mr_spec *spec, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("exec");
	char found[PATH_BYTES];
	const char *path = find(spec->argv[0], spec->env, found, sizeof(found));

	errno = ENOENT;
	if (path) {
		/* After it there is nobody left to tell. */
		mr_step_end(&step, 0, "path=%s", path);
		execve(path, spec->argv, spec->env);
	}
	mr_step_end(&step, errno, "path=%s", path ? path : spec->argv[0]);
	mr_fail(err, errno, "%s in the container: %m", spec->argv[0]);
	err->status = errno == ENOENT || errno == ENOTDIR ? MR_EXIT_NOT_FOUND : MR_EXIT_CANNOT_EXEC;
}

_Noreturn void mr_command(const struct mr_spec *spec, int sync, int peer, const sigset_t *mask)
{
	struct mr_error err = {0};

	if (setsid() < 0 && errno != EPERM)
		mr_fail(&err, errno, "begin a session: %m");
	else if (!(peer >= 0 && mr_terminal_take(peer, &err)) && !enter_folder(spec, &err) &&
		 !reduce(spec, &err)) {
		close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
		fresh_signals(mask);
		execute(spec, &err);
	}
	mr_give_up(sync, &err);
}
