/* SPDX-License-Identifier: MIT */
/*
 * What the files of the cgroup group share. Every function takes the tree it
 * works in, so that a test may give a directory for one.
 */
#ifndef MINIRT_CGROUP_H
#define MINIRT_CGROUP_H

#include "minirt.h"

#define CG_PREFIX "minirt-"   /* of each container's group; nothing else is ever removed */
#define CG_SELF "minirt.self" /* leaf for the processes that were in the delegated group */
#define CG_LAB "works in the lab VM: glassstack lab"

/**
 * struct cg_tree - a hierarchy of cgroup v2
 * @root: descriptor of the directory it is mounted at
 * @mount: that directory's path, for messages
 * @own: group of this process in it, "/" or "/a/b"
 */
struct cg_tree {
	int root;
	char mount[256];
	char own[3072];
};

/* cgroup_tree.c: finding it; files of a group. Paths begin with '/' and count from the root. */
int cg_tree_open(struct cg_tree *tree, struct mr_error *err);
void cg_tree_close(struct cg_tree *tree);
int cg_open(const struct cg_tree *tree, const char *path);
/* Up to @room - 1 bytes and a NUL; -1 with errno. */
ssize_t cg_read(int group, const char *file, char *text, size_t room);
/* One write, which is one order to the kernel; -1 with errno. */
int cg_write(int group, const char *file, const char *text);
/* Whether @word is one of the words in @file. */
bool cg_has_word(int group, const char *file, const char *word);

/* cgroup_parent.c: where a group may be made, with the controllers in @needed (and in
 * @wanted, as far as there are any) switched on for it. Gives the parent's path. */
struct cg_controllers {
	bool memory, cpu, pids;
};
int cg_parent(const struct cg_tree *tree, const struct cg_controllers *needed, char *path,
	      size_t room, struct mr_error *err);

/* cgroup.c and cgroup_remove.c on a given tree */
int cg_place(const struct cg_tree *tree, struct mr_cgroup *group, const struct mr_spec *spec,
	     struct mr_error *err);
int cg_make(const struct cg_tree *tree, struct mr_cgroup *group, const struct mr_spec *spec,
	    struct mr_error *err);
int cg_remove(const struct cg_tree *tree, const char *path, int deadline_ms, struct mr_error *err);
/* The number behind @key in a file of such lines, 0 where there is none. */
uint64_t cg_number_of(const char *text, const char *key);

/* cgroup_oom.c */
uint64_t cg_oom_kills(const struct cg_tree *tree, const char *path);

#endif
