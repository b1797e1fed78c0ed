// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fair turns. Each sharer carries a clock (vtime) that runs while it is
 * served; the one that is most behind goes next. The engine is shared between
 * contexts this way, and a context's share between its channels.
 */
#include "internal.h"

void fgpu_sharing_init(struct fgpu_sharing *sharing)
{
	fgpu_list_init(&sharing->waiting);
	sharing->vtime = 0;
}

bool fgpu_sharer_waits(const struct fgpu_sharer *sharer)
{
	return !fgpu_list_empty(&sharer->link);
}

/* Who slept does not come back with a claim on the time it did not use. */
void fgpu_sharer_join(struct fgpu_sharing *sharing, struct fgpu_sharer *sharer)
{
	if (fgpu_sharer_waits(sharer))
		return;
	if (sharer->vtime < sharing->vtime)
		sharer->vtime = sharing->vtime;
	fgpu_list_append(&sharing->waiting, &sharer->link);
}

void fgpu_sharer_leave(struct fgpu_sharer *sharer)
{
	fgpu_list_remove(&sharer->link);
}

/* Who goes next, or NULL. It stays in line. */
struct fgpu_sharer *fgpu_sharing_next(struct fgpu_sharing *sharing)
{
	struct fgpu_sharer *sharer, *best = NULL;
	struct fgpu_list *at;

	fgpu_list_for_each(at, &sharing->waiting)
	{
		sharer = fgpu_entry(at, struct fgpu_sharer, link);
		if (!best || sharer->vtime < best->vtime)
			best = sharer;
	}
	if (best && sharing->vtime < best->vtime)
		sharing->vtime = best->vtime;
	return best;
}
