// SPDX-License-Identifier: MIT
/*
 * The system calls a container may make. What is not listed is refused: mounts
 * and namespaces, modules and kexec, keys, bpf, perf, userfaultfd, io_uring,
 * handles of files, the clock, swap, quotas, the kernel's log.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>

#include "seccomp.h"

/* The newest call that the list below was written in knowledge of: set_mempolicy_home_node. */
#define NEWEST_KNOWN 450

#define CALL(name) __NR_##name

static const short files[] = {
	CALL(read),
	CALL(write),
	CALL(readv),
	CALL(writev),
	CALL(pread64),
	CALL(pwrite64),
	CALL(preadv),
	CALL(pwritev),
	CALL(preadv2),
	CALL(pwritev2),
	CALL(lseek),
	CALL(openat),
	CALL(openat2),
	CALL(close),
	CALL(close_range),
	CALL(dup),
	CALL(dup3),
	CALL(pipe2),
	CALL(fcntl),
	CALL(flock),
	CALL(fsync),
	CALL(fdatasync),
	CALL(sync),
	CALL(syncfs),
	CALL(sync_file_range),
	CALL(truncate),
	CALL(ftruncate),
	CALL(fallocate),
	CALL(fadvise64),
	CALL(readahead),
	CALL(sendfile),
	CALL(splice),
	CALL(tee),
	CALL(vmsplice),
	CALL(copy_file_range),
	CALL(newfstatat),
	CALL(fstat),
	CALL(statx),
	CALL(statfs),
	CALL(fstatfs),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(getcwd),
	CALL(chdir),
	CALL(fchdir),
	CALL(chroot),
	CALL(mkdirat),
	CALL(mknodat),
	CALL(unlinkat),
	CALL(linkat),
	CALL(symlinkat),
	CALL(renameat2),
	CALL(fchmod),
	CALL(fchmodat),
	CALL(fchown),
	CALL(fchownat),
	CALL(umask),
	CALL(utimensat),
	CALL(setxattr),
	CALL(lsetxattr),
	CALL(fsetxattr),
	CALL(getxattr),
	CALL(lgetxattr),
	CALL(fgetxattr),
	CALL(listxattr),
	CALL(llistxattr),
	CALL(flistxattr),
	CALL(removexattr),
	CALL(lremovexattr),
	CALL(fremovexattr),
	CALL(name_to_handle_at),
	CALL(memfd_create),
	CALL(inotify_init1),
	CALL(inotify_add_watch),
	CALL(inotify_rm_watch),
	CALL(fanotify_mark),
	CALL(io_setup),
	CALL(io_destroy),
	CALL(io_submit),
	CALL(io_cancel),
	CALL(io_getevents),
	CALL(io_pgetevents),
};

static const short waiting[] = {
	CALL(ppoll),	       CALL(pselect6),	       CALL(epoll_create1),   CALL(epoll_ctl),
	CALL(epoll_pwait),     CALL(epoll_pwait2),     CALL(eventfd2),	      CALL(signalfd4),
	CALL(timerfd_create),  CALL(timerfd_settime),  CALL(timerfd_gettime), CALL(futex),
	CALL(futex_waitv),     CALL(set_robust_list),  CALL(get_robust_list), CALL(nanosleep),
	CALL(clock_nanosleep), CALL(clock_gettime),    CALL(clock_getres),    CALL(gettimeofday),
	CALL(getitimer),       CALL(setitimer),	       CALL(timer_create),    CALL(timer_settime),
	CALL(timer_gettime),   CALL(timer_getoverrun), CALL(timer_delete),    CALL(restart_syscall),
};

static const short memory[] = {
	CALL(brk),
	CALL(mmap),
	CALL(munmap),
	CALL(mremap),
	CALL(mprotect),
	CALL(madvise),
	CALL(mincore),
	CALL(msync),
	CALL(mlock),
	CALL(mlock2),
	CALL(munlock),
	CALL(mlockall),
	CALL(munlockall),
	CALL(membarrier),
	CALL(pkey_alloc),
	CALL(pkey_free),
	CALL(pkey_mprotect),
	CALL(remap_file_pages),
	CALL(process_madvise),
	CALL(shmget),
	CALL(shmat),
	CALL(shmctl),
	CALL(shmdt),
	CALL(get_mempolicy),
};

static const short processes[] = {
	CALL(execve),
	CALL(execveat),
	CALL(exit),
	CALL(exit_group),
	CALL(wait4),
	CALL(waitid),
	CALL(kill),
	CALL(tkill),
	CALL(tgkill),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(pidfd_getfd),
	CALL(getpid),
	CALL(gettid),
	CALL(getppid),
	CALL(getpgid),
	CALL(setpgid),
	CALL(getsid),
	CALL(setsid),
	CALL(set_tid_address),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigpending),
	CALL(rt_sigqueueinfo),
	CALL(rt_sigreturn),
	CALL(rt_sigsuspend),
	CALL(rt_sigtimedwait),
	CALL(rt_tgsigqueueinfo),
	CALL(sigaltstack),
	CALL(prctl),
	CALL(seccomp),
	CALL(rseq),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(getcpu),
	CALL(getpriority),
	CALL(setpriority),
	CALL(ioprio_get),
	CALL(ioprio_set),
	CALL(getrlimit),
	CALL(setrlimit),
	CALL(prlimit64),
	CALL(getrusage),
	CALL(times),
	CALL(sysinfo),
	CALL(uname),
	CALL(getrandom),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(sched_setaffinity),
	CALL(sched_getattr),
	CALL(sched_setattr),
	CALL(sched_getparam),
	CALL(sched_setparam),
	CALL(sched_getscheduler),
	CALL(sched_setscheduler),
	CALL(sched_get_priority_max),
	CALL(sched_get_priority_min),
	CALL(sched_rr_get_interval),
	CALL(landlock_create_ruleset),
	CALL(landlock_add_rule),
	CALL(landlock_restrict_self),
};

static const short users[] = {
	CALL(getuid),	 CALL(geteuid),	  CALL(getgid),	   CALL(getegid),   CALL(getgroups),
	CALL(getresuid), CALL(getresgid), CALL(setuid),	   CALL(setgid),    CALL(setgroups),
	CALL(setreuid),	 CALL(setregid),  CALL(setresuid), CALL(setresgid), CALL(setfsuid),
	CALL(setfsgid),	 CALL(capget),	  CALL(capset),
};

static const short talking[] = {
	CALL(socketpair),    CALL(bind),	 CALL(listen),		CALL(accept),
	CALL(accept4),	     CALL(connect),	 CALL(shutdown),	CALL(sendto),
	CALL(recvfrom),	     CALL(sendmsg),	 CALL(recvmsg),		CALL(sendmmsg),
	CALL(recvmmsg),	     CALL(getsockname),	 CALL(getpeername),	CALL(getsockopt),
	CALL(setsockopt),    CALL(msgget),	 CALL(msgsnd),		CALL(msgrcv),
	CALL(msgctl),	     CALL(semget),	 CALL(semop),		CALL(semctl),
	CALL(semtimedop),    CALL(mq_open),	 CALL(mq_unlink),	CALL(mq_notify),
	CALL(mq_getsetattr), CALL(mq_timedsend), CALL(mq_timedreceive),
};

/* Not on every architecture, or newer than the oldest headers this is built with. */
static const short some_have[] = {
#ifdef __x86_64__
	CALL(open),
	CALL(creat),
	CALL(stat),
	CALL(lstat),
	CALL(access),
	CALL(readlink),
	CALL(getdents),
	CALL(mkdir),
	CALL(rmdir),
	CALL(unlink),
	CALL(link),
	CALL(symlink),
	CALL(rename),
	CALL(chmod),
	CALL(chown),
	CALL(lchown),
	CALL(mknod),
	CALL(utime),
	CALL(utimes),
	CALL(futimesat),
	CALL(dup2),
	CALL(pipe),
	CALL(poll),
	CALL(select),
	CALL(epoll_create),
	CALL(epoll_wait),
	CALL(inotify_init),
	CALL(eventfd),
	CALL(signalfd),
	CALL(alarm),
	CALL(pause),
	CALL(time),
	CALL(getpgrp),
	CALL(fork),
	CALL(vfork),
	CALL(arch_prctl),
	CALL(set_thread_area),
	CALL(get_thread_area),
#endif
#ifdef __NR_renameat
	CALL(renameat),
#endif
#ifdef __NR_cachestat
	CALL(cachestat),
#endif
#ifdef __NR_fchmodat2
	CALL(fchmodat2),
#endif
#ifdef __NR_futex_wake
	CALL(futex_wake),
	CALL(futex_wait),
	CALL(futex_requeue),
#endif
};

static void allow(uint8_t *verdicts, const short *calls, size_t size)
{
	for (size_t i = 0; i < size / sizeof(*calls); i++)
		verdicts[calls[i]] = SF_ALLOW;
}

void sf_verdicts(uint8_t verdicts[SF_CALLS])
{
	memset(verdicts, SF_REFUSE, SF_CALLS);
	memset(verdicts + NEWEST_KNOWN + 1, SF_UNKNOWN, SF_CALLS - NEWEST_KNOWN - 1);
	allow(verdicts, files, sizeof(files));
	allow(verdicts, waiting, sizeof(waiting));
	allow(verdicts, memory, sizeof(memory));
	allow(verdicts, processes, sizeof(processes));
	allow(verdicts, users, sizeof(users));
	allow(verdicts, talking, sizeof(talking));
	allow(verdicts, some_have, sizeof(some_have));
	verdicts[CALL(clone)] = SF_CLONE;
	/* Its flags are in memory, where no filter sees them. */
	verdicts[CALL(clone3)] = SF_UNKNOWN;
	verdicts[CALL(personality)] = SF_PERSONALITY;
	verdicts[CALL(socket)] = SF_SOCKET;
	verdicts[CALL(ioctl)] = SF_IOCTL;
}
