/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Tracepoints (events/fakegpu/): the life of a job. `channel` is the slot of
 * the channel in the fence page, but its handle in fakegpu_submit, which is
 * all that the call names.
 */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fakegpu

#if !defined(FAKEGPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FAKEGPU_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(fakegpu_submit,
	TP_PROTO(u32 device, u32 context, u32 channel, u64 seqno, u32 length),
	TP_ARGS(device, context, channel, seqno, length),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, context)
		__field(u32, channel)
		__field(u32, length)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->context = context;
		__entry->channel = channel;
		__entry->length = length;
		__entry->seqno = seqno;
	),
	TP_printk("device=%u ctx=%u channel=%u seqno=%llu length=%u", __entry->device,
		  __entry->context, __entry->channel, __entry->seqno, __entry->length)
);

TRACE_EVENT(fakegpu_doorbell,
	TP_PROTO(u32 device, u32 context, u32 channel, u32 wptr),
	TP_ARGS(device, context, channel, wptr),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, context)
		__field(u32, channel)
		__field(u32, wptr)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->context = context;
		__entry->channel = channel;
		__entry->wptr = wptr;
	),
	TP_printk("device=%u ctx=%u channel=%u wptr=0x%08x", __entry->device, __entry->context,
		  __entry->channel, __entry->wptr)
);

DECLARE_EVENT_CLASS(fakegpu_job,
	TP_PROTO(u32 device, u32 context, u32 channel, u64 seqno),
	TP_ARGS(device, context, channel, seqno),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, context)
		__field(u64, seqno)
		__field(u32, channel)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->context = context;
		__entry->seqno = seqno;
		__entry->channel = channel;
	),
	TP_printk("device=%u ctx=%u channel=%u seqno=%llu", __entry->device, __entry->context,
		  __entry->channel, __entry->seqno)
);

DEFINE_EVENT(fakegpu_job, fakegpu_job_start,
	TP_PROTO(u32 device, u32 context, u32 channel, u64 seqno),
	TP_ARGS(device, context, channel, seqno)
);

DEFINE_EVENT(fakegpu_job, fakegpu_fence_signalled,
	TP_PROTO(u32 device, u32 context, u32 channel, u64 seqno),
	TP_ARGS(device, context, channel, seqno)
);

TRACE_EVENT(fakegpu_fault,
	TP_PROTO(u32 device, u32 context, u32 channel, u32 xid),
	TP_ARGS(device, context, channel, xid),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, context)
		__field(u32, channel)
		__field(u32, xid)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->context = context;
		__entry->channel = channel;
		__entry->xid = xid;
	),
	TP_printk("device=%u ctx=%u channel=%u xid=%u", __entry->device, __entry->context,
		  __entry->channel, __entry->xid)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
