// SPDX-License-Identifier: MIT
/* Where a container's group goes and what is written to it, on a directory as the tree. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_cgroup.h"
#include "harness.h"

#define NONE MR_UNLIMITED
#define CHECK_TEXT(got, wanted)                                                                    \
	do {                                                                                       \
		const char *got_ = (got);                                                          \
		if (strcmp(got_, wanted)) {                                                        \
			fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #got, got_, wanted);  \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static const struct mr_spec unlimited = {
	.id = "a", .limits = {NONE, NONE, NONE, NONE, NONE, NONE}, .steps_fd = -1};
static const struct mr_spec limited = {
	.id = "a", .limits = {1 << 20, NONE, NONE, NONE, NONE, NONE}, .steps_fd = -1};
static const struct mr_spec full = {
	.id = "b", .limits = {100 << 20, 90 << 20, 0, 150000, 0, 23}, .steps_fd = -1};

/* Each test's tree, group and error; the tree goes at its end, however it ends. */
struct world {
	struct cg_tree tree;
	struct mr_cgroup group;
	struct mr_error err;
};

static void leave(struct world *world)
{
	if (world->group.fd >= 0)
		close(world->group.fd);
	fake_end(&world->tree);
}

#define WORLD(own)                                                                                 \
	__attribute__((cleanup(leave))) struct world w = {.group.fd = -1};                         \
	fake_begin(&w.tree, own)

static void limits_are_written(void)
{
	WORLD("/");
	CHECK_EQ(cg_make(&w.tree, &w.group, &full, &w.err), 0);
	CHECK_TEXT(w.group.path, "/minirt-b");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/memory.max"), "104857600");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/memory.high"), "94371840");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/memory.swap.max"), "0");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/memory.oom.group"), "1");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/cpu.max"), "150000 100000");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-b/pids.max"), "23");
}

static void what_is_unlimited_is_left_alone(void)
{
	WORLD("/");
	CHECK_EQ(cg_make(&w.tree, &w.group, &unlimited, &w.err), 0);
	CHECK_TEXT(fake_read(&w.tree, "/minirt-a/memory.max"), "");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-a/memory.oom.group"), "");
	CHECK_TEXT(fake_read(&w.tree, "/minirt-a/pids.max"), "");
}

static void a_second_of_the_same_name_is_refused(void)
{
	WORLD("/");
	fake_group(&w.tree, "/minirt-a", "");
	CHECK(cg_make(&w.tree, &w.group, &unlimited, &w.err) < 0);
	CHECK_EQ(w.err.code, EEXIST);
	CHECK(fake_exists(&w.tree, "/minirt-a"));
}

/* A controller bound to v1 is not in the list of v2. */
static void a_missing_controller_is_named_and_nothing_left(void)
{
	WORLD("/");
	fake_write(&w.tree, "/cgroup.controllers", "cpu pids");
	CHECK(cg_make(&w.tree, &w.group, &limited, &w.err) < 0);
	CHECK_EQ(w.err.status, MR_EXIT_PREREQUISITE);
	CHECK(strstr(w.err.text, "memory"));
	CHECK(strstr(w.err.text, "glassstack lab"));
	CHECK(!fake_exists(&w.tree, "/minirt-a"));
}

/* As where the kernel does not count swap. */
static void a_file_that_is_missing_is_named_and_nothing_left(void)
{
	WORLD("/");
	fake_lacks = "memory.swap.max";
	CHECK(cg_make(&w.tree, &w.group, &full, &w.err) < 0);
	CHECK_EQ(w.err.status, MR_EXIT_PREREQUISITE);
	CHECK(strstr(w.err.text, "memory.swap.max"));
	CHECK(!fake_exists(&w.tree, "/minirt-b"));
}

static void an_undelegated_unit_is_refused(void)
{
	WORLD("/user.slice/session-1.scope");
	fake_group(&w.tree, "/user.slice/session-1.scope", "memory pids");
	CHECK(cg_make(&w.tree, &w.group, &limited, &w.err) < 0);
	CHECK_EQ(w.err.status, MR_EXIT_PREREQUISITE);
	CHECK(strstr(w.err.text, "Delegate=yes"));
	CHECK(!fake_exists(&w.tree, "/user.slice/session-1.scope/" CG_SELF));
	CHECK_TEXT(fake_read(&w.tree, "/user.slice/session-1.scope/cgroup.subtree_control"), "");
}

static void a_delegated_unit_is_emptied_into_a_leaf_first(void)
{
	WORLD("/run-1.scope");
	fake_group(&w.tree, "/run-1.scope", "memory pids");
	fake_write(&w.tree, "/run-1.scope/user.delegate", "1");
	fake_write(&w.tree, "/run-1.scope/cgroup.procs", "41\n42\n");
	CHECK_EQ(cg_make(&w.tree, &w.group, &limited, &w.err), 0);
	CHECK_TEXT(w.group.path, "/run-1.scope/minirt-a");
	/* One write each; a file keeps the last. */
	CHECK_TEXT(fake_read(&w.tree, "/run-1.scope/" CG_SELF "/cgroup.procs"), "42");
	CHECK(fake_read(&w.tree, "/run-1.scope/cgroup.subtree_control")[0] == '+');
}

static void a_start_from_the_leaf_uses_the_group_above(void)
{
	WORLD("/run-1.scope/" CG_SELF);
	fake_group(&w.tree, "/run-1.scope/" CG_SELF, "");
	fake_write(&w.tree, "/run-1.scope/user.delegate", "1");
	fake_write(&w.tree, "/run-1.scope/cgroup.controllers", "memory cpu pids");
	fake_write(&w.tree, "/run-1.scope/cgroup.subtree_control", "memory cpu pids");
	CHECK_EQ(cg_make(&w.tree, &w.group, &limited, &w.err), 0);
	CHECK_TEXT(w.group.path, "/run-1.scope/minirt-a");
}

/* The nearest unit decides: what a service makes below itself is its own. */
static void the_nearest_unit_decides(void)
{
	WORLD("/user.slice/app.service/inner");
	fake_group(&w.tree, "/user.slice/app.service/inner", "memory pids");
	fake_write(&w.tree, "/user.slice/user.delegate", "1");
	CHECK(cg_make(&w.tree, &w.group, &limited, &w.err) < 0);
	CHECK_EQ(w.err.status, MR_EXIT_PREREQUISITE);
	w.err = (struct mr_error){0};
	fake_write(&w.tree, "/user.slice/app.service/user.delegate", "1");
	CHECK_EQ(cg_make(&w.tree, &w.group, &limited, &w.err), 0);
}

static void without_limits_no_delegation_is_needed(void)
{
	WORLD("/user.slice/session-1.scope");
	fake_group(&w.tree, "/user.slice/session-1.scope", "memory pids");
	CHECK_EQ(cg_make(&w.tree, &w.group, &unlimited, &w.err), 0);
	CHECK_TEXT(w.group.path, "/user.slice/session-1.scope/minirt-a");
}

static void removal_takes_what_is_below_and_only_minirts(void)
{
	WORLD("/");
	fake_group(&w.tree, "/minirt-a/inner/deep", "");
	fake_group(&w.tree, "/system.slice", "");
	CHECK_EQ(cg_remove(&w.tree, "/minirt-a", 1000, &w.err), 0);
	CHECK(!fake_exists(&w.tree, "/minirt-a"));
	CHECK_EQ(cg_remove(&w.tree, "/minirt-a", 1000, &w.err), 0); /* it is gone: fine */
	CHECK(cg_remove(&w.tree, "/system.slice", 1000, &w.err) < 0);
	CHECK(cg_remove(&w.tree, "/minirt-a/../system.slice/minirt-", 1000, &w.err) < 0);
	CHECK(cg_remove(&w.tree, "/", 1000, &w.err) < 0);
	CHECK(fake_exists(&w.tree, "/system.slice"));
}

static void removal_gives_up_at_the_deadline(void)
{
	WORLD("/");
	fake_group(&w.tree, "/minirt-a", "");
	fake_write(&w.tree, "/minirt-a/cgroup.events", "populated 1\nfrozen 0\n");
	CHECK(cg_remove(&w.tree, "/minirt-a", 20, &w.err) < 0);
	CHECK_EQ(w.err.code, ETIMEDOUT);
	CHECK(strstr(w.err.text, "cgroup.procs"));
	CHECK_TEXT(fake_read(&w.tree, "/minirt-a/cgroup.kill"), "1");
}

static void oom_kills_are_counted_where_they_are_told(void)
{
	WORLD("/");
	fake_group(&w.tree, "/minirt-a", "");
	CHECK_EQ(cg_oom_kills(&w.tree, "/minirt-a"), 0);
	fake_write(&w.tree, "/minirt-a/memory.events",
		   "low 0\noom 1\noom_kill 23\noom_group_kill 1\n");
	CHECK_EQ(cg_oom_kills(&w.tree, "/minirt-a"), 23);
	/* Mounted with memory_localevents the first counts the group alone. */
	fake_write(&w.tree, "/minirt-a/memory.events.local", "oom_kill 29\n");
	CHECK_EQ(cg_oom_kills(&w.tree, "/minirt-a"), 29);
	CHECK_EQ(cg_oom_kills(&w.tree, "/minirt-gone"), 0);
}

SUITE(test_cgroup, TEST(limits_are_written), TEST(what_is_unlimited_is_left_alone),
      TEST(a_second_of_the_same_name_is_refused),
      TEST(a_missing_controller_is_named_and_nothing_left),
      TEST(a_file_that_is_missing_is_named_and_nothing_left), TEST(an_undelegated_unit_is_refused),
      TEST(a_delegated_unit_is_emptied_into_a_leaf_first),
      TEST(a_start_from_the_leaf_uses_the_group_above), TEST(the_nearest_unit_decides),
      TEST(without_limits_no_delegation_is_needed),
      TEST(removal_takes_what_is_below_and_only_minirts), TEST(removal_gives_up_at_the_deadline),
      TEST(oom_kills_are_counted_where_they_are_told));
