// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Kernels: from a name and its parameters to a packet. */
#include <string.h>
#include "umd.h"

union packet {
	struct fakegpu_packet head;
	struct fakegpu_packet_vecadd vecadd;
	struct fakegpu_packet_fill fill;
	struct fakegpu_packet_delay delay;
	struct fakegpu_packet_fault fault;
};

static uint32_t elements(uint32_t n, uint64_t threads)
{
	return n < threads ? n : (uint32_t)threads;
}

static void build_vector_add(union packet *packet, void **params, uint64_t threads)
{
	fcuDevicePtr a = *(fcuDevicePtr *)params[0];
	fcuDevicePtr b = *(fcuDevicePtr *)params[1];
	fcuDevicePtr c = *(fcuDevicePtr *)params[2];

	packet->vecadd = (struct fakegpu_packet_vecadd){
		.head = {.op = FAKEGPU_OP_VECADD, .size = sizeof(packet->vecadd)},
		.a = fcu_pointer_handle(a),
		.b = fcu_pointer_handle(b),
		.c = fcu_pointer_handle(c),
		.count = elements(*(uint32_t *)params[3], threads),
		.a_offset = fcu_pointer_offset(a),
		.b_offset = fcu_pointer_offset(b),
		.c_offset = fcu_pointer_offset(c),
	};
}

static void build_fill(union packet *packet, void **params, uint64_t threads)
{
	fcuDevicePtr to = *(fcuDevicePtr *)params[0];

	packet->fill = (struct fakegpu_packet_fill){
		.head = {.op = FAKEGPU_OP_FILL, .size = sizeof(packet->fill)},
		.handle = fcu_pointer_handle(to),
		.value = *(uint32_t *)params[1],
		.offset = fcu_pointer_offset(to),
		.length = (uint64_t)elements(*(uint32_t *)params[2], threads) * sizeof(uint32_t),
	};
}

static void build_delay(union packet *packet, void **params, uint64_t threads)
{
	(void)threads;
	packet->delay = (struct fakegpu_packet_delay){
		.head = {.op = FAKEGPU_OP_DELAY, .size = sizeof(packet->delay)},
		.ns = *(uint64_t *)params[0],
	};
}

static void build_fault(union packet *packet, void **params, uint64_t threads)
{
	(void)threads;
	packet->fault = (struct fakegpu_packet_fault){
		.head = {.op = FAKEGPU_OP_FAULT, .size = sizeof(packet->fault)},
		.xid = *(uint32_t *)params[0],
	};
}

static const struct kernel {
	const char *name;
	void (*build)(union packet *packet, void **params, uint64_t threads);
} kernels[] = {
	{"vectorAdd", build_vector_add},
	{"fill", build_fill},
	{"delay", build_delay},
	{"fault", build_fault},
};

fcuResult fcuLaunchKernel(const char *name, unsigned int grid, unsigned int block, void **params,
			  fcuStream stream)
{
	const struct kernel *kernel = kernels;
	const struct kernel *end = kernels + sizeof(kernels) / sizeof(*kernels);
	struct fcu_context *context;
	union packet packet;
	fcuResult result;

	if (stream) {
		result = __atomic_load_n(&stream->context->sticky, __ATOMIC_RELAXED);
	} else {
		result = fcu_current(&context);
		if (!result)
			stream = context->stream0;
	}
	if (result)
		return result;
	if (!name || !params || !grid || !block)
		return FCU_ERROR_INVALID_VALUE;
	while (kernel < end && strcmp(kernel->name, name) != 0)
		kernel++;
	if (kernel == end)
		return FCU_ERROR_NOT_FOUND;
	kernel->build(&packet, params, (uint64_t)grid * block);
	return fcu_channel_push(stream, &packet, packet.head.size);
}
