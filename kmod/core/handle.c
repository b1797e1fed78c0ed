// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Handles: small numbers that name the objects of one context. A dropped
 * handle is the last to be used again, so that a program that goes on using
 * it meets an error rather than somebody else's object.
 */
#include "internal.h"

#define FIRST_SIZE 64
#define MAX_SIZE (1U << 20)

/* Entry i is handle i + 1; NO_ENTRY ends the list of free ones. */
#define NO_ENTRY UINT32_MAX

static void free_entry(struct fgpu_handles *handles, uint32_t i)
{
	handles->entries[i].object = NULL;
	handles->entries[i].kind = FGPU_OBJECT_NONE;
	handles->entries[i].next_free = NO_ENTRY;
	if (handles->free_first == NO_ENTRY)
		handles->free_first = i;
	else
		handles->entries[handles->free_last].next_free = i;
	handles->free_last = i;
}

static int grow(struct fgpu_handles *handles)
{
	uint32_t size = handles->size ? handles->size * 2 : FIRST_SIZE;
	struct fgpu_handle *entries;
	uint32_t i;

	if (size > MAX_SIZE)
		return -ENOMEM;
	entries = fgpu_port_alloc(size * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (handles->size)
		memcpy(entries, handles->entries, handles->size * sizeof(*entries));
	fgpu_port_free(handles->entries);
	handles->entries = entries;
	handles->free_first = NO_ENTRY;
	i = handles->size;
	handles->size = size;
	for (; i < size; i++)
		free_entry(handles, i);
	return 0;
}

int fgpu_handle_new(struct fgpu_handles *handles, enum fgpu_object_kind kind, void *object,
		    uint32_t *handle)
{
	uint32_t i;
	int error;

	if (!handles->size || handles->free_first == NO_ENTRY) {
		error = grow(handles);
		if (error)
			return error;
	}
	i = handles->free_first;
	handles->free_first = handles->entries[i].next_free;
	handles->entries[i].object = object;
	handles->entries[i].kind = kind;
	*handle = i + 1;
	return 0;
}

/* NULL when there is no such object of this kind. */
void *fgpu_handle_get(const struct fgpu_handles *handles, enum fgpu_object_kind kind,
		      uint32_t handle)
{
	if (!handle || handle > handles->size || handles->entries[handle - 1].kind != kind)
		return NULL;
	return handles->entries[handle - 1].object;
}

void fgpu_handle_drop(struct fgpu_handles *handles, uint32_t handle)
{
	free_entry(handles, handle - 1);
}
