/* SPDX-License-Identifier: MIT */
/*
 * A directory as a cgroup tree. The linker gives the calls of cgroup*.c that the
 * kernel answers otherwise there to fake_cgroup.c: a new directory has the files
 * of a group, and one with files alone is empty.
 */
#ifndef FAKE_CGROUP_H
#define FAKE_CGROUP_H

#include "cgroup.h"

/* A file that new groups do not have, until fake_end(). */
extern const char *fake_lacks;

/* A tree at a new directory, its root a group as the real root is one. */
void fake_begin(struct cg_tree *tree, const char *own);
void fake_end(struct cg_tree *tree);
/* A group at @path and those above it; @controllers are those it may hand down. */
void fake_group(const struct cg_tree *tree, const char *path, const char *controllers);
void fake_write(const struct cg_tree *tree, const char *path, const char *text);
/* What is in a file, in one buffer for all; "" when it is not there. */
const char *fake_read(const struct cg_tree *tree, const char *path);
bool fake_exists(const struct cg_tree *tree, const char *path);

#endif
