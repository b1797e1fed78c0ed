// SPDX-License-Identifier: MIT
/*
 * The list of calls as a classic BPF program: numbers with the same verdict
 * form runs, and a binary tree over the starts of the runs leads to the leaf
 * with the verdict. Some verdicts jump to a check of an argument behind the tree.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "seccomp.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no list of system calls for this architecture"
#endif

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)
#define FAIL(code) (SECCOMP_RET_ERRNO | (code))

/* Low half of argument @n: all that are checked are 32 bits to the kernel too. */
#define LOW_OF_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))

struct run {
	uint32_t start;
	uint8_t verdict;
};

struct builder {
	struct sock_filter *program;
	size_t length;
	struct run runs[SF_INSNS_MAX / 2];
	size_t checks[SF_IOCTL +
		      1]; /* where the jump to the check of a verdict stands; 0: nowhere */
};

static void add(struct builder *b, const struct sock_filter *insns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		b->program[b->length++] = insns[i];
}

#define ADD(b, ...)                                                                                \
	add(b, (const struct sock_filter[]){__VA_ARGS__},                                          \
	    sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

static size_t find_runs(struct run *runs, const uint8_t *verdicts)
{
	size_t count = 0;

	for (uint32_t call = 0; call < SF_CALLS; call++)
		if (!call || verdicts[call] != verdicts[call - 1])
			runs[count++] = (struct run){call, verdicts[call]};
	return count;
}

static void leaf(struct builder *b, uint8_t verdict)
{
	static const uint32_t answers[] = {[SF_REFUSE] = FAIL(EPERM),
					   [SF_ALLOW] = SECCOMP_RET_ALLOW,
					   [SF_UNKNOWN] = FAIL(ENOSYS)};

	if (verdict <= SF_UNKNOWN) {
		ADD(b, RETURN(answers[verdict]));
		return;
	}
	b->checks[verdict] = b->length;
	ADD(b, BPF_STMT(BPF_JMP | BPF_JA, 0));
}

/* 2 × count - 1 instructions: a comparison, the left half, the right half. */
static void tree(struct builder *b, const struct run *runs, size_t count)
{
	size_t left = count / 2;

	if (count == 1) {
		leaf(b, runs->verdict);
		return;
	}
	ADD(b, BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, runs[left].start, (uint8_t)(2 * left - 1), 0));
	tree(b, runs, left);
	tree(b, runs + left, count - left);
}

/* The check that follows is where the leaf of @verdict jumps to. */
static void here(struct builder *b, enum sf_verdict verdict)
{
	size_t from = b->checks[verdict];

	b->program[from].k = (uint32_t)(b->length - from - 1);
}

static void add_checks(struct builder *b)
{
	here(b, SF_CLONE);
	ADD(b, LOAD(LOW_OF_ARGUMENT(0)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
	    RETURN(FAIL(EPERM)), RETURN(SECCOMP_RET_ALLOW));
	/* Linux or Linux32, either with the old release in uname(2), or what it is now. */
	here(b, SF_PERSONALITY);
	ADD(b, LOAD(LOW_OF_ARGUMENT(0)), IS(0xffffffff, 2, 0),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~0x20008u), IS(0, 0, 1), RETURN(SECCOMP_RET_ALLOW),
	    RETURN(FAIL(EPERM)));
	/* Not of this list: vsock reaches the hypervisor; packet, alg and the old ones the kernel. */
	here(b, SF_SOCKET);
	ADD(b, LOAD(LOW_OF_ARGUMENT(0)), IS(AF_UNIX, 3, 0), IS(AF_INET, 2, 0), IS(AF_INET6, 1, 0),
	    IS(AF_NETLINK, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(FAIL(EPERM)));
	/* Both type into the terminal for whoever reads it after the container. */
	here(b, SF_IOCTL);
	ADD(b, LOAD(LOW_OF_ARGUMENT(1)), IS(TIOCSTI, 1, 0), IS(TIOCLINUX, 0, 1),
	    RETURN(FAIL(EPERM)), RETURN(SECCOMP_RET_ALLOW));
}

size_t sf_build(const uint8_t verdicts[SF_CALLS], struct sock_filter program[SF_INSNS_MAX])
{
	struct builder b = {.program = program};

	/* Calls of another architecture have other numbers: as if there were none. */
	ADD(&b, LOAD(offsetof(struct seccomp_data, arch)), IS(ARCH, 1, 0), RETURN(FAIL(ENOSYS)),
	    LOAD(offsetof(struct seccomp_data, nr)));
	tree(&b, b.runs, find_runs(b.runs, verdicts));
	add_checks(&b);
	return b.length;
}
