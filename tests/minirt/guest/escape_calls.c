// SPDX-License-Identifier: MIT
/*
 * Attempts by system calls that reach the whole kernel. Each is made so that,
 * where nothing guards, it does no harm: nothing is loaded and nothing changed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <net/ethernet.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* Of a call that gives a descriptor. */
static int opened(const char *what, long fd)
{
	int ret = verdict(what, fd);

	if (fd >= 0)
		close((int)fd);
	return ret;
}

/* Where the kernel got as far as the arguments, nothing guarded it: @code is what it says then. */
static int reached(const char *what, long result, int code)
{
	return verdict(what, result < 0 && errno == code ? 0 : result);
}

static int keyring(char **unused)
{
	(void)unused;
	return verdict("session keyring",
		       syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
}

static int bpf(char **unused)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)unused;
	return opened("bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int module(char **unused)
{
	(void)unused;
	return reached("init_module", syscall(SYS_init_module, "not a module", 12, ""), ENOEXEC);
}

/* No segments: takes back what was loaded for a later boot, which is nothing. */
static int kexec(char **unused)
{
	(void)unused;
	return verdict("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

static int userfault(char **unused)
{
	(void)unused;
	return opened("userfaultfd", syscall(SYS_userfaultfd, 0));
}

static int perf(char **unused)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK};

	(void)unused;
	return opened("perf_event_open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int uring(char **unused)
{
	(void)unused;
	return reached("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL), EFAULT);
}

static int kernel_log(char **unused)
{
	(void)unused;
	return verdict("syslog", klogctl(3, (char[256]){0}, 256));
}

static int alg(char **unused)
{
	(void)unused;
	return opened("AF_ALG", socket(AF_ALG, SOCK_SEQPACKET, 0));
}

static int packet(char **unused)
{
	(void)unused;
	return opened("AF_PACKET", socket(AF_PACKET, SOCK_RAW, 0));
}

static int vsock(char **unused)
{
	(void)unused;
	return opened("AF_VSOCK", socket(AF_VSOCK, SOCK_STREAM, 0));
}

/*
 * AF_VSOCK by the 32-bit socketcall(2), whose arguments are in memory that 32
 * bits reach. In a child: without 32-bit calls in the kernel it is a fault.
 */
static int socketcall(char **unused)
{
	(void)unused;
#ifdef __x86_64__
	uint32_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	pid_t child = fork();
	long result = 102; /* socketcall */
	int status;

	if (words == MAP_FAILED || child < 0)
		return failed("mmap or fork");
	if (!child) {
		words[0] = AF_VSOCK;
		words[1] = SOCK_STREAM;
		words[2] = 0;
		__asm__ volatile("int $0x80" : "+a"(result) : "b"(1L), "c"(words) : "memory");
		errno = -(int)result;
		_exit(opened("AF_VSOCK by socketcall", (int)result < 0 ? -1 : (int)result));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : untried("this kernel has no 32-bit calls");
#else
	return untried("no 32-bit calls on this processor");
#endif
}

/* Makes addresses of a set-uid program known by turning off their randomness. */
static int persona(char **unused)
{
	(void)unused;
	return verdict("personality", personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC));
}

/*
 * CVE-2017-5226, and with a high bit set CVE-2019-7303. Input that is no terminal
 * makes ENOTTY of it where nothing guards, so this types nowhere.
 */
static int push_input(char **unused)
{
	static const unsigned long orders[] = {TIOCSTI, 1ul << 32 | TIOCSTI, TIOCLINUX};

	(void)unused;
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (syscall(SYS_ioctl, 0, orders[i], "\n") >= 0 || errno != EPERM)
			return verdict("the ioctl was looked at", 0);
	return verdict("TIOCSTI, TIOCLINUX", -1);
}

/* A user namespace gives its maker every capability over the kernel's young code. */
static int user_namespace(char **unused)
{
	(void)unused;
	return verdict("new user namespace", unshare(CLONE_NEWUSER));
}

/* The same by clone, whose flags a filter has to look at. */
static int clone_namespace(char **unused)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | 17, NULL, NULL, NULL, 0);

	(void)unused;
	if (!pid)
		_exit(0);
	return verdict("clone with CLONE_NEWUSER", pid);
}

/* And by clone3, whose flags no filter can look at. */
static int clone3_namespace(char **unused)
{
	uint64_t arguments[8] = {[0] = CLONE_NEWUSER, [4] = 17};
	long pid = syscall(SYS_clone3, arguments, sizeof(arguments));

	(void)unused;
	if (!pid)
		_exit(0);
	return verdict("clone3 with CLONE_NEWUSER", pid);
}

const struct verb call_attempts[] = {
	{"try-keyring", keyring, 0, NULL},
	{"try-bpf", bpf, 0, NULL},
	{"try-module", module, 0, NULL},
	{"try-kexec", kexec, 0, NULL},
	{"try-userfaultfd", userfault, 0, NULL},
	{"try-perf", perf, 0, NULL},
	{"try-io-uring", uring, 0, NULL},
	{"try-syslog", kernel_log, 0, NULL},
	{"try-alg", alg, 0, NULL},
	{"try-packet", packet, 0, NULL},
	{"try-vsock", vsock, 0, NULL},
	{"try-socketcall", socketcall, 0, NULL},
	{"try-personality", persona, 0, NULL},
	{"try-tiocsti", push_input, 0, NULL},
	{"try-userns", user_namespace, 0, NULL},
	{"try-clone-userns", clone_namespace, 0, NULL},
	{"try-clone3-userns", clone3_namespace, 0, NULL},
	{0},
};
