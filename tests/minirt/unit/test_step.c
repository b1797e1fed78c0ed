// SPDX-License-Identifier: MIT
/* A step as its line: valid JSON whatever is in it, one write, never longer than a pipe takes at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "harness.h"
#include "start.h"

/* The line that @tell writes, parsed; NULL when it is no JSON. */
static json_t *line_of(void (*tell)(const struct mr_step *), size_t *size)
{
	static char line[2 * PIPE_BUF];
	struct mr_step step;
	json_t *json;
	int ends[2];
	ssize_t n;

	if (pipe(ends))
		return NULL;
	mr_step_open("unit", ends[1]);
	step = mr_step_begin("mount");
	tell(&step);
	mr_step_open("", -1);
	close(ends[1]);
	n = read(ends[0], line, sizeof(line));
	close(ends[0]);
	*size = n > 0 ? (size_t)n : 0;
	json = n > 0 && line[n - 1] == '\n' ? json_loadb(line, (size_t)n, 0, NULL) : NULL;
	return json;
}

static const json_t *detail(const json_t *line, const char *name)
{
	return json_object_get(json_object_get(line, "detail"), name);
}

static bool is_text(const json_t *value, const char *text)
{
	return json_is_string(value) && !strcmp(json_string_value(value), text);
}

static void tell_kinds(const struct mr_step *step)
{
	mr_step_end(step, ENOENT,
		    "text=%s int=%d long=%lu size=%zu hex=%#lx octal=%o path=%s%s/%d word=as-is",
		    "a b", -7, 1UL << 40, (size_t)23, 0xabcUL, 0644, "/mnt", "/group", 5);
}

static void each_kind_of_value_keeps_its_type(void)
{
	size_t size;
	json_t *line = line_of(tell_kinds, &size);

	CHECK(line);
	CHECK(is_text(json_object_get(line, "id"), "unit"));
	CHECK(is_text(json_object_get(line, "step"), "mount"));
	CHECK_EQ(json_integer_value(json_object_get(line, "errno")), ENOENT);
	CHECK_EQ(json_integer_value(json_object_get(line, "pid")), getpid());
	CHECK(json_is_integer(json_object_get(line, "ts")));
	CHECK(json_is_integer(json_object_get(line, "duration_ns")));
	CHECK(is_text(detail(line, "text"), "a b"));
	CHECK_EQ(json_integer_value(detail(line, "int")), -7);
	CHECK_EQ(json_integer_value(detail(line, "long")), 1LL << 40);
	CHECK_EQ(json_integer_value(detail(line, "size")), 23);
	CHECK(is_text(detail(line, "hex"), "0xabc"));
	CHECK(is_text(detail(line, "octal"), "0644"));
	CHECK(is_text(detail(line, "path"), "/mnt/group/5"));
	CHECK(is_text(detail(line, "word"), "as-is"));
	json_decref(line);
}

static const char *volatile nothing; /* so that the compiler can't see it coming */

static void tell_hostile(const struct mr_step *step)
{
	mr_step_end(step, 0, "text=%s missing=%s", "\"}\\\n\t\x1b[2J\x7f%s\xc3\xa9", nothing);
}

static void what_is_hostile_stays_a_string(void)
{
	size_t size;
	json_t *line = line_of(tell_hostile, &size);

	CHECK(line);
	CHECK(is_text(detail(line, "text"), "\"}\\\n\t\x1b[2J\x7f%s\xc3\xa9"));
	CHECK(is_text(detail(line, "missing"), ""));
	json_decref(line);
}

static void tell_long(const struct mr_step *step)
{
	char text[PIPE_BUF + 100];

	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	mr_step_end(step, 0, "one=%s two=%s three=%d", text, text, 3);
}

static void what_is_long_is_cut_and_stays_a_line(void)
{
	size_t size;
	json_t *line = line_of(tell_long, &size);

	CHECK(line);
	CHECK(size <= PIPE_BUF);
	CHECK(json_string_length(detail(line, "one")) > 1000);
	json_decref(line);
}

static void tell_and_keep(const struct mr_step *step)
{
	errno = EXDEV;
	mr_step_end(step, 0, "a=%d", 1);
}

static void the_callers_errno_is_kept(void)
{
	size_t size;

	json_decref(line_of(tell_and_keep, &size));
	errno = 0;
	mr_step_open("unit", 1023); /* not open */
	tell_and_keep(&(struct mr_step){.name = "mount"});
	mr_step_open("", -1);
	CHECK_EQ(errno, EXDEV);
}

static void mount_options_are_flags_or_the_file_systems(void)
{
	struct mr_mount mount = {.flags = MS_NODEV};

	mr_mount_options(&mount, "ro,nosuid,dev,size=64k,,rbind,relatime,mode=755");
	CHECK_EQ(mount.flags, MS_RDONLY | MS_NOSUID | MS_BIND | MS_REC);
	CHECK(mount.data && !strcmp(mount.data, "size=64k,mode=755"));
}

static void names_of_containers_are_names_of_folders_too(void)
{
	static const char *const bad[] = {"",	 ".",	"..",	    ".x", "-x",
					  "a/b", "a b", "\xc3\xa9", "a\n"};
	char longest[MR_ID_MAX + 1] = {0};
	size_t i;

	CHECK(mr_good_id("web-1.A_b"));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!mr_good_id(bad[i]));
	memset(longest, 'a', MR_ID_MAX);
	CHECK(!mr_good_id(longest));
	CHECK(mr_good_id(longest + 1));
}

SUITE(test_step, TEST(each_kind_of_value_keeps_its_type), TEST(what_is_hostile_stays_a_string),
      TEST(what_is_long_is_cut_and_stays_a_line), TEST(the_callers_errno_is_kept),
      TEST(mount_options_are_flags_or_the_file_systems),
      TEST(names_of_containers_are_names_of_folders_too));
