// SPDX-License-Identifier: MIT
/* The system call filter, run here by an interpreter of classic BPF, for every call and argument checked. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "harness.h"
#include "seccomp.h"

#define NEVER 0xdeadu
#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static uint8_t verdicts[SF_CALLS];
static struct sock_filter program[SF_INSNS_MAX];
static size_t length;

static void build(void)
{
	sf_verdicts(verdicts);
	length = sf_build(verdicts, program);
}

/* What the kernel would be told; NEVER for a jump out of the program or an instruction not known. */
static uint32_t interpret(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < length; at++) {
		const struct sock_filter *in = &program[at];
		bool yes;

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + in->k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			continue;
		case BPF_JMP | BPF_JA:
			at += in->k;
			continue;
		case BPF_RET | BPF_K:
			return in->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == in->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= in->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = a & in->k;
			break;
		default:
			return NEVER;
		}
		at += yes ? in->jt : in->jf;
	}
	return NEVER;
}

static uint32_t call(int number, uint64_t first, uint64_t second)
{
	const struct seccomp_data data = {.nr = number, .arch = ARCH, .args = {first, second}};

	return interpret(&data);
}

static void every_call_gets_the_verdict_of_the_list(void)
{
	static const uint32_t answers[] = {DENIED, SECCOMP_RET_ALLOW, UNKNOWN};

	build();
	CHECK(length > 0 && length <= SF_INSNS_MAX);
	for (int number = 0; number < SF_CALLS; number++)
		if (verdicts[number] <= SF_UNKNOWN)
			CHECK_EQ(call(number, 0, 0), answers[verdicts[number]]);
	CHECK_EQ(call(SF_CALLS, 0, 0), UNKNOWN);
	CHECK_EQ(call(0x40000000 | SYS_read, 0, 0), UNKNOWN); /* x32 */
	CHECK_EQ(call(-1, 0, 0), UNKNOWN);
}

static void other_architectures_have_no_calls(void)
{
	const struct seccomp_data data = {.nr = 3, .arch = AUDIT_ARCH_I386};

	build();
	CHECK_EQ(interpret(&data), UNKNOWN);
}

static void what_reaches_the_machine_is_refused(void)
{
	static const short refused[] = {
		SYS_mount,
		SYS_umount2,
		SYS_pivot_root,
		SYS_setns,
		SYS_unshare,
		SYS_bpf,
		SYS_init_module,
		SYS_finit_module,
		SYS_delete_module,
		SYS_kexec_load,
		SYS_kexec_file_load,
		SYS_keyctl,
		SYS_add_key,
		SYS_request_key,
		SYS_perf_event_open,
		SYS_userfaultfd,
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_io_uring_register,
		SYS_open_by_handle_at,
		SYS_reboot,
		SYS_swapon,
		SYS_swapoff,
		SYS_acct,
		SYS_settimeofday,
		SYS_clock_settime,
		SYS_quotactl,
		SYS_syslog,
		SYS_fsopen,
		SYS_fsconfig,
		SYS_fsmount,
		SYS_move_mount,
		SYS_open_tree,
		SYS_mount_setattr,
		SYS_sethostname,
		SYS_lookup_dcookie,
	};

	build();
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		CHECK_EQ(call(refused[i], 0, 0), DENIED);
	CHECK_EQ(call(SYS_clone3, 0, 0), UNKNOWN);
}

static void clone_makes_processes_but_no_namespaces(void)
{
	static const uint32_t kinds[] = {CLONE_NEWNS,	CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					 CLONE_NEWUSER, CLONE_NEWPID,	 CLONE_NEWNET};

	build();
	CHECK_EQ(call(SYS_clone, 17, 0), SECCOMP_RET_ALLOW);
	CHECK_EQ(call(SYS_clone, CLONE_VM | CLONE_FS | CLONE_THREAD | CLONE_SETTLS, 0),
		 SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		CHECK_EQ(call(SYS_clone, kinds[i] | 17, 0), DENIED);
		CHECK_EQ(call(SYS_clone, 1ull << 40 | kinds[i], 0), DENIED);
	}
}

static void personality_keeps_randomness(void)
{
	static const uint32_t fine[] = {PER_LINUX, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32,
					0xffffffff};

	build();
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
		CHECK_EQ(call(SYS_personality, fine[i], 0), SECCOMP_RET_ALLOW);
	CHECK_EQ(call(SYS_personality, ADDR_NO_RANDOMIZE, 0), DENIED);
	CHECK_EQ(call(SYS_personality, READ_IMPLIES_EXEC | PER_LINUX32, 0), DENIED);
}

static void sockets_are_of_four_families(void)
{
	build();
	for (unsigned int family = 0; family < 64; family++) {
		bool fine = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			    family == AF_NETLINK;

		CHECK_EQ(call(SYS_socket, family, 0), fine ? SECCOMP_RET_ALLOW : DENIED);
		CHECK_EQ(call(SYS_socket, 1ull << 32 | family, 0),
			 fine ? SECCOMP_RET_ALLOW : DENIED);
	}
}

static void ioctl_types_into_no_terminal(void)
{
	build();
	CHECK_EQ(call(SYS_ioctl, 0, TIOCSTI), DENIED);
	CHECK_EQ(call(SYS_ioctl, 0, 1ull << 63 | TIOCSTI), DENIED); /* CVE-2019-7303 */
	CHECK_EQ(call(SYS_ioctl, TIOCSTI, TCGETS), SECCOMP_RET_ALLOW);
	CHECK_EQ(call(SYS_ioctl, 0, TIOCLINUX), DENIED);
}

SUITE(test_seccomp, TEST(every_call_gets_the_verdict_of_the_list),
      TEST(other_architectures_have_no_calls), TEST(what_reaches_the_machine_is_refused),
      TEST(clone_makes_processes_but_no_namespaces), TEST(personality_keeps_randomness),
      TEST(sockets_are_of_four_families), TEST(ioctl_types_into_no_terminal));
