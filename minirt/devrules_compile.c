// SPDX-License-Identifier: MIT
/*
 * A device list as a BPF program. The kernel asks it at each open and mknod of
 * a node, by processes of the group; 1 allows, 0 is EPERM.
 *
 * The rules are walked from the last to the first, so that a later one wins. What
 * is asked for (read, write, mknod) is answered bit by bit: an allowing rule
 * takes its bits off what is still open, a denying one ends it if it meets one.
 */
#include "devrules.h"

#define INSN(op, to, from, jump, value)                                                            \
	((struct bpf_insn){                                                                        \
		.code = (op), .dst_reg = (to), .src_reg = (from), .off = (jump), .imm = (value)})
#define LOAD32(to, from, at) INSN(BPF_LDX | BPF_MEM | BPF_W, to, from, at, 0)
#define MOVE(to, from) INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define MOVE_IMM(to, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define AND_IMM(to, value) INSN(BPF_ALU | BPF_AND | BPF_K, to, 0, 0, value)
#define SHIFT_RIGHT(to, value) INSN(BPF_ALU | BPF_RSH | BPF_K, to, 0, 0, value)
#define JUMP_UNEQUAL(left, value, jump) INSN(BPF_JMP32 | BPF_JNE | BPF_K, left, 0, jump, value)
#define JUMP_EQUAL(left, value, jump) INSN(BPF_JMP32 | BPF_JEQ | BPF_K, left, 0, jump, value)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

enum { ANSWER = BPF_REG_0, ASKED = BPF_REG_1, TYPE, OPEN, MAJOR, MINOR, MET };

static unsigned int kernel_access(unsigned int access)
{
	return (access & MR_READ ? BPF_DEVCG_ACC_READ : 0) |
	       (access & MR_WRITE ? BPF_DEVCG_ACC_WRITE : 0) |
	       (access & MR_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0);
}

/* struct bpf_cgroup_dev_ctx: u32 access_type = access << 16 | type, u32 major, u32 minor. */
static size_t load_request(struct bpf_insn *at)
{
	const struct bpf_insn head[] = {
		LOAD32(TYPE, ASKED, 0), MOVE(OPEN, TYPE),	 AND_IMM(TYPE, 0xffff),
		SHIFT_RIGHT(OPEN, 16),	LOAD32(MAJOR, ASKED, 4), LOAD32(MINOR, ASKED, 8),
	};
	size_t length = sizeof(head) / sizeof(*head);

	for (size_t i = 0; i < length; i++)
		at[i] = head[i];
	return length;
}

/* Each rule is a block; a comparison that fails jumps to the end of it. */
static size_t add_rule(struct bpf_insn *at, const struct mr_rule *rule)
{
	int access = (int)kernel_access(rule->access);
	size_t n = 0, tests;

	if (rule->type != 'a')
		at[n++] = JUMP_UNEQUAL(
			TYPE, rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, 0);
	if (rule->major >= 0)
		at[n++] = JUMP_UNEQUAL(MAJOR, (int)rule->major, 0);
	if (rule->minor >= 0)
		at[n++] = JUMP_UNEQUAL(MINOR, (int)rule->minor, 0);
	tests = n;
	if (rule->allow) {
		at[n++] = AND_IMM(OPEN, ~access);
		at[n++] = JUMP_UNEQUAL(OPEN, 0, 2);
		at[n++] = MOVE_IMM(ANSWER, 1);
	} else {
		at[n++] = MOVE(MET, OPEN);
		at[n++] = AND_IMM(MET, access);
		at[n++] = JUMP_EQUAL(MET, 0, 2);
		at[n++] = MOVE_IMM(ANSWER, 0);
	}
	at[n++] = EXIT();
	for (size_t i = 0; i < tests; i++)
		at[i].off = (short)(n - i - 1);
	return n;
}

size_t dr_compile(const struct mr_rule *rules, size_t count, struct bpf_insn *program)
{
	size_t length;

	if (count > DR_RULES_MAX)
		return 0;
	length = load_request(program);
	for (size_t i = count; i-- > 0;)
		length += add_rule(program + length, &rules[i]);
	program[length++] = MOVE_IMM(ANSWER, 0);
	program[length++] = EXIT();
	return length;
}
