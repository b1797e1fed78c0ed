/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A circular doubly-linked list whose links sit inside the things it holds.
 * A link that is on no list points to itself.
 */
#ifndef FGPU_LIST_H
#define FGPU_LIST_H

#include "port.h"

struct fgpu_list {
	struct fgpu_list *next;
	struct fgpu_list *prev;
};

#define fgpu_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

#define fgpu_list_for_each(at, list) for ((at) = (list)->next; (at) != (list); (at) = (at)->next)

static inline void fgpu_list_init(struct fgpu_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool fgpu_list_empty(const struct fgpu_list *list)
{
	return list->next == list;
}

/* Two members at least. */
static inline bool fgpu_list_many(const struct fgpu_list *list)
{
	return list->next != list->prev;
}

static inline void fgpu_list_insert_after(struct fgpu_list *at, struct fgpu_list *link)
{
	link->prev = at;
	link->next = at->next;
	at->next->prev = link;
	at->next = link;
}

static inline void fgpu_list_append(struct fgpu_list *list, struct fgpu_list *link)
{
	fgpu_list_insert_after(list->prev, link);
}

static inline void fgpu_list_remove(struct fgpu_list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	fgpu_list_init(link);
}

#endif
