// SPDX-License-Identifier: MIT
/*
 * The device program, run here by an interpreter of the few instructions it
 * uses, against the list read as people read it: the last matching line decides.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "devrules.h"
#include "harness.h"

#define NEVER (-1)

/* -1: not a program that this knows, or one that does not end. */
static long interpret(const struct bpf_insn *program, size_t length, const uint32_t request[3])
{
	uint64_t r[11] = {0};
	size_t at = 0;

	for (size_t steps = 0; steps < length; steps++) {
		const struct bpf_insn *in = &program[at];
		uint64_t *to = &r[in->dst_reg];
		bool jump = false;

		if (at++ >= length)
			return NEVER;
		switch (in->code) {
		case BPF_LDX | BPF_MEM | BPF_W:
			if (in->src_reg != BPF_REG_1 || in->off % 4 || in->off > 8)
				return NEVER;
			*to = request[in->off / 4];
			break;
		case BPF_ALU64 | BPF_MOV | BPF_X:
			*to = r[in->src_reg];
			break;
		case BPF_ALU64 | BPF_MOV | BPF_K:
			*to = (uint64_t)(int64_t)in->imm;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			*to = (uint32_t)*to & (uint32_t)in->imm;
			break;
		case BPF_ALU | BPF_RSH | BPF_K:
			*to = (uint32_t)*to >> in->imm;
			break;
		case BPF_JMP32 | BPF_JNE | BPF_K:
			jump = (uint32_t)*to != (uint32_t)in->imm;
			break;
		case BPF_JMP32 | BPF_JEQ | BPF_K:
			jump = (uint32_t)*to == (uint32_t)in->imm;
			break;
		case BPF_JMP | BPF_EXIT:
			return (long)r[0];
		default:
			return NEVER;
		}
		if (jump)
			at += (size_t)in->off;
	}
	return NEVER;
}

static bool matches(const struct mr_rule *rule, char type, uint32_t major, uint32_t minor)
{
	return (rule->type == 'a' || rule->type == type) &&
	       (rule->major < 0 || rule->major == major) &&
	       (rule->minor < 0 || rule->minor == minor);
}

/* Each of read, write and mknod by itself: the last line with it, and no line denies. */
static bool allowed(const struct mr_rule *rules, size_t count, char type, uint32_t major,
		    uint32_t minor, unsigned int access)
{
	for (unsigned int bit = 1; bit <= MR_MKNOD; bit <<= 1) {
		bool yes = false;

		if (!(access & bit))
			continue;
		for (size_t i = 0; i < count; i++)
			if (matches(&rules[i], type, major, minor) && rules[i].access & bit)
				yes = rules[i].allow;
		if (!yes)
			return false;
	}
	return true;
}

static uint32_t kernel_access(unsigned int access)
{
	return (access & MR_READ ? BPF_DEVCG_ACC_READ : 0u) |
	       (access & MR_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
	       (access & MR_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);
}

static long ask(const struct mr_rule *rules, size_t count, char type, uint32_t major,
		uint32_t minor, unsigned int access)
{
	static struct bpf_insn program[DR_INSNS_MAX];
	uint32_t kind = type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
	const uint32_t request[] = {kernel_access(access) << 16 | kind, major, minor};

	return interpret(program, dr_compile(rules, count, program), request);
}

/* All types, accesses, and numbers around those of the rules. */
static void check_all(const char *name, const struct mr_rule *rules, size_t count)
{
	static const uint32_t numbers[] = {0, 1, 3, 5, 8, 240, 511, UINT32_MAX};
	size_t n = sizeof(numbers) / sizeof(*numbers);

	for (size_t i = 0; i < n * n * 14; i++) {
		char type = i % 2 ? 'b' : 'c';
		unsigned int access = (unsigned int)(i / 2 % 7 + 1);
		uint32_t major = numbers[i / 14 % n], minor = numbers[i / 14 / n];
		long got = ask(rules, count, type, major, minor, access);

		if (got != allowed(rules, count, type, major, minor, access))
			fail(__FILE__, __LINE__, "%s: %c %u:%u access %u gives %ld", name, type,
			     major, minor, access, got);
	}
}

static const struct mr_rule usual[] = {
	{true, 'c', 1, 3, 7}, {true, 'c', 1, 5, 7}, {true, 'c', 240, -1, MR_READ | MR_WRITE}};
static const struct mr_rule split[] = {{true, 'c', 1, 3, MR_READ}, {true, 'c', 1, 3, MR_WRITE}};
static const struct mr_rule taken_back[] = {{true, 'a', -1, -1, 7},
					    {false, 'b', -1, -1, 7},
					    {false, 'c', 1, -1, MR_WRITE},
					    {true, 'c', 1, 3, 7}};
static const struct mr_rule denied_last[] = {{true, 'c', 1, 3, 7}, {false, 'a', -1, -1, MR_MKNOD}};
static const struct mr_rule large[] = {{true, 'b', UINT32_MAX, UINT32_MAX, 7},
				       {true, 'b', 8, 0, 1}};

#define CHECK_ALL(rules) check_all(#rules, rules, sizeof(rules) / sizeof(*(rules)))

static void device_program_answers_as_the_list_reads(void)
{
	CHECK_ALL(usual);
	CHECK_ALL(split);
	CHECK_ALL(taken_back);
	CHECK_ALL(denied_last);
	CHECK_ALL(large);
	check_all("empty", usual, 0);
}

static void device_program_takes_any_list(void)
{
	struct mr_rule rules[5];
	uint32_t seed = 23;

	for (int round = 0; round < 499 && !failed(); round++) {
		for (size_t i = 0; i < 5; i++) {
			seed = seed * 1664525u + 1013904223u;
			rules[i] = (struct mr_rule){.allow = seed >> 31,
						    .type = "abc"[(seed >> 8) % 3],
						    .major = (seed >> 10) % 4 - 1,
						    .minor = (seed >> 14) % 4 - 1,
						    .access = (seed >> 20) % 7 + 1};
		}
		CHECK_ALL(rules);
	}
}

static void device_program_has_a_limit(void)
{
	static struct bpf_insn program[DR_INSNS_MAX];
	static struct mr_rule rules[DR_RULES_MAX + 1];

	for (size_t i = 0; i <= DR_RULES_MAX; i++)
		rules[i] = (struct mr_rule){false, 'c', 1, 3, 7};
	CHECK(dr_compile(rules, DR_RULES_MAX, program) > 0);
	CHECK(dr_compile(rules, DR_RULES_MAX, program) <= DR_INSNS_MAX);
	CHECK_EQ(dr_compile(rules, DR_RULES_MAX + 1, program), 0);
}

/* That there is a node at all may be asked without wanting anything of it. */
static void nothing_asked_is_nothing_denied_where_a_line_allows(void)
{
	CHECK_EQ(ask(usual, 3, 'c', 1, 3, 0), 1);
	CHECK_EQ(ask(usual, 3, 'c', 9, 9, 0), 0);
}

/* An answer that was never set: the verifier's own words say so, where it may be asked. */
static void what_the_verifier_says_is_in_the_error(void)
{
	const struct bpf_insn exit_only = {.code = BPF_JMP | BPF_EXIT};
	struct mr_error err = {0};

	CHECK(dr_load(&exit_only, 1, &err) < 0);
	if (err.status == MR_EXIT_PREREQUISITE) {
		CHECK(strstr(err.text, "root"));
		return;
	}
	CHECK_EQ(err.status, MR_EXIT_FAILED);
	CHECK(strstr(err.text, "verifier: R0 !read_ok"));
}

SUITE(test_devrules, TEST(what_the_verifier_says_is_in_the_error),
      TEST(device_program_answers_as_the_list_reads), TEST(device_program_takes_any_list),
      TEST(device_program_has_a_limit), TEST(nothing_asked_is_nothing_denied_where_a_line_allows));
