// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Eventfds bound to fences: each is signalled once, as soon as a WAIT for the
 * same fence would not block any more, and then let go of.
 */
#include "internal.h"

struct fgpu_binding {
	struct fgpu_list link;
	uint64_t seqno;
	void *eventfd;
};

static void end(struct fgpu_channel *channel, struct fgpu_binding *binding, bool signal)
{
	fgpu_list_remove(&binding->link);
	channel->context->bindings--;
	fgpu_port_eventfd_end(binding->eventfd, signal);
	fgpu_port_free(binding);
}

/* Takes the driver's reference, unless it fails. */
int fgpu_eventfd_bind(struct fgpu_channel *channel, uint64_t seqno, void *eventfd)
{
	struct fgpu_context *context = channel->context;
	struct fgpu_binding *binding;

	if (channel->signalled >= seqno) {
		fgpu_port_eventfd_end(eventfd, true);
		return 0;
	}
	if (context->bindings >= FGPU_BINDINGS_MAX)
		return -EAGAIN;
	binding = fgpu_port_alloc(sizeof(*binding));
	if (!binding)
		return -ENOMEM;
	binding->seqno = seqno;
	binding->eventfd = eventfd;
	fgpu_list_append(&channel->bindings, &binding->link);
	context->bindings++;
	return 0;
}

/* The channel's timeline has reached `seqno`; UINT64_MAX: nobody need wait for it any more. */
void fgpu_eventfd_signal(struct fgpu_channel *channel, uint64_t seqno)
{
	struct fgpu_list *at, *next;

	for (at = channel->bindings.next; at != &channel->bindings; at = next) {
		struct fgpu_binding *binding = fgpu_entry(at, struct fgpu_binding, link);

		next = at->next;
		if (binding->seqno <= seqno)
			end(channel, binding, true);
	}
}

/* Takes back the newest binding to `seqno`, unless it is over already. */
void fgpu_eventfd_undo(struct fgpu_channel *channel, uint64_t seqno)
{
	struct fgpu_list *at;

	for (at = channel->bindings.prev; at != &channel->bindings; at = at->prev) {
		struct fgpu_binding *binding = fgpu_entry(at, struct fgpu_binding, link);

		if (binding->seqno == seqno) {
			end(channel, binding, false);
			return;
		}
	}
}
