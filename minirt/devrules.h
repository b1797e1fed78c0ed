/* SPDX-License-Identifier: MIT */
/* The device list as a program, apart from the kernel, so that a test can run it by itself. */
#ifndef MINIRT_DEVRULES_H
#define MINIRT_DEVRULES_H

#include <linux/bpf.h>

#include "minirt.h"

#define DR_RULES_MAX 256
#define DR_INSNS_MAX (DR_RULES_MAX * 8 + 16)

/* Writes the program of @rules to @program, of DR_INSNS_MAX; gives its length, 0 for too many. */
size_t dr_compile(const struct mr_rule *rules, size_t count, struct bpf_insn *program);
/* devrules.c: a descriptor of it in the kernel; what the verifier says against it is in @err */
int dr_load(const struct bpf_insn *program, size_t length, struct mr_error *err);

#endif
