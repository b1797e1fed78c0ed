// SPDX-License-Identifier: MIT
/* Hooks: programs run at a point of the start or the end, with the container's state as input. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"

#define DEFAULT_TIMEOUT_S 30

bool mr_hooks_any(const struct mr_spec *spec, const char *point)
{
	size_t i;

	for (i = 0; i < spec->hooks.count; i++)
		if (!strcmp(spec->hooks.items[i].point, point))
			return true;
	return false;
}

/* A file in memory with the state of OCI's runtime specification; "root" is ours. */
static int state_file(const struct mr_spec *spec, const char *status, pid_t pid)
{
	json_t *state = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}", "ociVersion", "1.0.2", "id",
				  spec->id, "status", status, "pid", (int)pid, "bundle",
				  spec->bundle ? spec->bundle : "", "root", spec->rootfs);
	char *text = state ? json_dumps(state, JSON_COMPACT) : NULL;
	int file = memfd_create("state", MFD_CLOEXEC);

	if (!text || file < 0 || write(file, text, strlen(text)) < 0 || lseek(file, 0, SEEK_SET)) {
		mr_close(&file);
		file = -1;
	}
	free(text);
	json_decref(state);
	return file;
}

static _Noreturn void become(const struct mr_hook *hook, int input)
{
	static char *const no_env[] = {NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
		close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
		execve(hook->path, hook->argv, hook->env ? hook->env : no_env);
	}
	_exit(errno == ENOENT ? MR_EXIT_NOT_FOUND : MR_EXIT_CANNOT_EXEC);
}

/* Its status as waitpid() has it; ETIMEDOUT when it had to be killed. */
static int await(const struct mr_hook *hook, pid_t pid, int *status)
{
	unsigned int seconds = hook->timeout_s ? hook->timeout_s : DEFAULT_TIMEOUT_S;
	MR_FD pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	int n = poll(&ended, 1, (int)seconds * 1000);

	if (!n)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return n ? 0 : ETIMEDOUT;
}

static int run(const struct mr_hook *hook, int state, struct mr_error *err)
{
	struct mr_step step = mr_step_begin("hook");
	int status = 0, code = 0;
	pid_t pid = fork();

	if (!pid)
		become(hook, state);
	code = pid < 0 ? errno : await(hook, pid, &status);
	mr_step_end(&step, code, "point=%s path=%s verb=%s status=%d", hook->point, hook->path,
		    hook->argv && hook->argv[0] ? hook->argv[1] : NULL,
		    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	if (code)
		return mr_fail(err, code, "%s hook %s: %s", hook->point, hook->path,
			       strerror(code));
	if (status)
		return mr_fail(err, 0, "%s hook %s failed with status %d", hook->point, hook->path,
			       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

int mr_hooks_run(const struct mr_spec *spec, const char *point, const char *status, pid_t pid,
		 struct mr_error *err)
{
	size_t i;

	for (i = 0; i < spec->hooks.count; i++) {
		if (strcmp(spec->hooks.items[i].point, point))
			continue;
		MR_FD state = state_file(spec, status, pid);
		if (state < 0)
			return mr_fail(err, errno, "write the state for a hook: %m");
		if (run(&spec->hooks.items[i], state, err))
			return -1;
	}
	return 0;
}
