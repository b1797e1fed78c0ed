// SPDX-License-Identifier: MIT
/*
 * fakegpu-hook: what a container runtime calls on the way to a container that
 * gets a GPU. The runtime's state comes in on standard input, as OCI has it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"

static const char usage[] =
	"usage: fakegpu-hook create-symlinks --link TARGET::LINK...\n"
	"       fakegpu-hook update-ldcache --folder FOLDER...\n"
	"       fakegpu-hook create-runtime [--visible LIST] [--spec-dirs DIR:DIR] [--no-rules]\n"
	"                                   [--inside FOLDER]\n"
	"\n"
	"Called by a container runtime with the container's state on standard input:\n"
	"  create-symlinks  createContainer hook: links to libraries in the root\n"
	"  update-ldcache   createContainer hook: makes folders known to the root's loader\n"
	"  create-runtime   createRuntime hook: brings in what FAKEGPU_VISIBLE_DEVICES of\n"
	"                   the container asks for, without CDI in the runtime; --inside: as\n"
	"                   a createContainer hook, with FOLDER's files to stand for nodes\n";

static int open_root(const struct hook_state *state, struct mr_error *err)
{
	int root = open(state->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		mr_fail(err, errno, "open the root %s: %m", state->rootfs);
	return root;
}

/* The values of @option, which is all that the verb takes. */
static int values(int argc, char **argv, const char *option, char **found, struct mr_error *err)
{
	int i, count = 0;

	for (i = 0; i < argc; i += 2) {
		if (strcmp(argv[i], option) || i + 1 == argc)
			return mr_usage(err, "unknown or without a value: %s; see --help", argv[i]);
		found[count++] = argv[i + 1];
	}
	return count;
}

static int create_symlinks(int argc, char **argv, struct mr_error *err)
{
	char *links[argc + 1];
	struct hook_state state;
	int i, count = values(argc, argv, "--link", links, err);

	if (count < 0 || hook_state_read(&state, err))
		return -1;
	MR_FD root = open_root(&state, err);
	if (root < 0)
		return -1;
	for (i = 0; i < count; i++)
		if (hook_link(root, links[i], err))
			return -1;
	return 0;
}

static int update_ldcache(int argc, char **argv, struct mr_error *err)
{
	char *folders[argc + 1];
	struct hook_state state;
	int count = values(argc, argv, "--folder", folders, err);

	if (count < 0 || hook_state_read(&state, err))
		return -1;
	MR_FD root = open_root(&state, err);
	return root < 0 ? -1 : hook_ldcache(root, folders, (size_t)count, err);
}

static int create_runtime(int argc, char **argv, struct mr_error *err)
{
	struct hook_options options = {0};
	struct hook_state state;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--no-rules"))
			options.no_rules = true;
		else if (!strcmp(argv[i], "--visible") && i + 1 < argc)
			options.visible = argv[++i];
		else if (!strcmp(argv[i], "--spec-dirs") && i + 1 < argc)
			options.directories = argv[++i];
		else if (!strcmp(argv[i], "--inside") && i + 1 < argc)
			options.inside = argv[++i];
		else
			return mr_usage(err, "unknown or without a value: %s; see --help", argv[i]);
	}
	return hook_state_read(&state, err) ? -1 : hook_runtime(&state, &options, err);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, struct mr_error *err);
} verbs[] = {
	{"create-symlinks", create_symlinks},
	{"update-ldcache", update_ldcache},
	{"create-runtime", create_runtime},
};

int main(int argc, char **argv)
{
	struct mr_error err = {0};
	size_t i;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]))
			continue;
		if (!verbs[i].run(argc - 2, argv + 2, &err))
			return 0;
		fprintf(stderr, "fakegpu-hook: %s: %s\n", argv[1], err.text);
		return err.status;
	}
	fputs(usage, stderr);
	return MR_EXIT_USAGE;
}
