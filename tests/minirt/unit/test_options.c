// SPDX-License-Identifier: MIT
/* What people write: flags, device rules, names of capabilities; and what is not understood. */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "start.h"

#define CAP(name) (1ull << CAP_##name)

static void capabilities_have_names(void)
{
	uint64_t bit = 0;

	CHECK_EQ(mr_caps_by_name("CAP_SYS_ADMIN", &bit), 0);
	CHECK_EQ(bit, CAP(SYS_ADMIN));
	CHECK_EQ(mr_caps_by_name("net_raw", &bit), 0);
	CHECK_EQ(bit, CAP(NET_RAW));
	CHECK_EQ(mr_caps_by_name("cap_Checkpoint_Restore", &bit), 0);
	CHECK_EQ(bit, CAP(CHECKPOINT_RESTORE));
	CHECK_EQ(bit, 1ull << CAP_LAST_CAP); /* the table ends where the kernel's does */
	CHECK_EQ(mr_caps_by_name("SYSLOG", &bit), 0);
	CHECK_EQ(bit, CAP(SYSLOG));
	CHECK(mr_caps_by_name("CAP_EVERYTHING", &bit) < 0);
	CHECK(mr_caps_by_name("CAP_", &bit) < 0);
}

static void default_capabilities_reach_nothing_outside(void)
{
	static const uint64_t never =
		CAP(SYS_ADMIN) | CAP(SYS_PTRACE) | CAP(SYS_MODULE) | CAP(SYS_RAWIO) |
		CAP(DAC_READ_SEARCH) | CAP(NET_ADMIN) | CAP(NET_RAW) | CAP(MKNOD) | CAP(SYSLOG) |
		CAP(SYS_BOOT) | CAP(SYS_TIME) | CAP(BPF) | CAP(PERFMON) | CAP(CHECKPOINT_RESTORE);

	CHECK_EQ(mr_caps_default() & never, 0);
	CHECK(mr_caps_default() & CAP(SETUID));
}

static void device_rules_are_read_and_written(void)
{
	static const char *const rules[] = {"allow c 240:0 rw", "deny a *:* m", "allow b 8:* r",
					    "deny c 4294967295:0 rwm"};
	struct mr_error err = {0};
	struct mr_rule rule;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		char *text;
		bool same;

		CHECK_EQ(mr_rule_parse(rules[i], &rule, &err), 0);
		text = mr_rule_text(&rule);
		same = !strcmp(text, rules[i]);
		free(text);
		CHECK(same);
	}
}

static void device_rules_not_understood_are_usage(void)
{
	static const char *const rules[] = {"",
					    "allow",
					    "permit c 1:3 r",
					    "allow d 1:3 r",
					    "allow c 1 r",
					    "allow c 1:3",
					    "allow c 1:3 x",
					    "allow c -1:3 r",
					    "allow c 1:3 r more",
					    "allow c 4294967296:0 r",
					    "allow c *1:3 r"};
	struct mr_rule rule;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct mr_error err = {0};

		CHECK(mr_rule_parse(rules[i], &rule, &err) < 0);
		CHECK_EQ(err.status, MR_EXIT_USAGE);
	}
}

/* Parses one flag with its value into @spec. */
static int flag(struct mr_spec *spec, struct mr_error *err, char *name, char *value)
{
	char program[] = "run", *arguments[] = {program, name, value, NULL}, **left = arguments;
	struct mr_choice choice = {0};
	int count = value ? 3 : 2;

	return mr_options(MR_RUN, &count, &left, spec, &choice, err);
}

static void limits_are_sizes_and_numbers(void)
{
	static const struct {
		const char *name, *value;
		size_t field;
		uint64_t wanted;
	} rows[] = {
		{"--memory", "100M", offsetof(struct mr_limits, memory), 100ull << 20},
		{"--memory", "1g", offsetof(struct mr_limits, memory), 1ull << 30},
		{"--memory", "4096", offsetof(struct mr_limits, memory), 4096},
		{"--memory-high", "64k", offsetof(struct mr_limits, memory_high), 64 << 10},
		{"--swap", "0", offsetof(struct mr_limits, swap), 0},
		{"--cpus", "1.5", offsetof(struct mr_limits, cpu_quota_us), 150000},
		{"--pids", "23", offsetof(struct mr_limits, pids), 23},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mr_error err = {0};
		struct mr_spec spec = {0};
		char name[32], value[32];
		uint64_t got;

		strcpy(name, rows[i].name);
		strcpy(value, rows[i].value);
		CHECK_EQ(flag(&spec, &err, name, value), 0);
		memcpy(&got, (char *)&spec.limits + rows[i].field, sizeof(got));
		CHECK_EQ(got, rows[i].wanted);
	}
}

static void flags_not_understood_are_usage(void)
{
	static const char *const rows[][2] = {
		{"--memory", "much"},
		{"--memory", "1T1"},
		{"--memory", "-5"},
		{"--memory", "99999999999999999999"},
		{"--cpus", "none"},
		{"--pids", "x"},
		{"--cap-add", "EVERYTHING"},
		{"--device", "/proc/self/status"},
		{"--id", "../outside"},
		{"--id", ""},
		{"--env", "=x"},
		{"--device-rule", "allow"},
		{"--mount", "/tmp"},
		{"--nothing", "x"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mr_error err = {0};
		struct mr_spec spec = {0};
		char name[32], value[64];

		strcpy(name, rows[i][0]);
		strcpy(value, rows[i][1]);
		if (!flag(&spec, &err, name, value) || err.status != MR_EXIT_USAGE)
			fail(__FILE__, __LINE__, "%s %s: status %d", name, value, err.status);
	}
}

SUITE(test_options, TEST(capabilities_have_names), TEST(default_capabilities_reach_nothing_outside),
      TEST(device_rules_are_read_and_written), TEST(device_rules_not_understood_are_usage),
      TEST(limits_are_sizes_and_numbers), TEST(flags_not_understood_are_usage));
