// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a well-formed packet is. Addresses are not looked at here: whether they
 * are good is known only when the packet runs.
 */
#include "internal.h"

static const uint16_t sizes[] = {
	[FAKEGPU_OP_NOP] = 0, /* any */
	[FAKEGPU_OP_FILL] = sizeof(struct fakegpu_packet_fill),
	[FAKEGPU_OP_COPY] = sizeof(struct fakegpu_packet_copy),
	[FAKEGPU_OP_VECADD] = sizeof(struct fakegpu_packet_vecadd),
	[FAKEGPU_OP_DELAY] = sizeof(struct fakegpu_packet_delay),
	[FAKEGPU_OP_FENCE] = sizeof(struct fakegpu_packet_fence),
	[FAKEGPU_OP_FAULT] = sizeof(struct fakegpu_packet_fault),
};

const char *fgpu_packet_head_error(const struct fakegpu_packet *head)
{
	if (head->op >= sizeof(sizes) / sizeof(sizes[0]))
		return "unknown op";
	if (head->size < sizeof(*head) || head->size % 8)
		return "bad size";
	if (sizes[head->op] && head->size != sizes[head->op])
		return "wrong size";
	if (head->flags)
		return "unknown flag";
	return NULL;
}

/* The head is well-formed and all of the packet is there (of a NOP, its head). */
const char *fgpu_packet_error(const union fgpu_any_packet *packet)
{
	switch (packet->head.op) {
	case FAKEGPU_OP_FILL:
		if ((packet->fill.offset | packet->fill.length) % 4)
			return "misaligned";
		break;
	case FAKEGPU_OP_VECADD:
		if ((packet->vecadd.a_offset | packet->vecadd.b_offset | packet->vecadd.c_offset) %
		    4)
			return "misaligned";
		break;
	case FAKEGPU_OP_DELAY:
		if (packet->delay.ns > FGPU_DELAY_MAX_NS)
			return "delay too long";
		break;
	case FAKEGPU_OP_FAULT:
		if (packet->fault.pad)
			return "padding not zero";
		if (packet->fault.xid != 13 && packet->fault.xid != FGPU_XID_MMU &&
		    packet->fault.xid != FGPU_XID_PUSH_BUFFER)
			return "no such fault";
		break;
	}
	return NULL;
}
