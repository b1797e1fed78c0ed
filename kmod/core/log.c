// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kernel log and the trace events: lines as the real driver writes them,
 * and the Xid table. Nothing here changes the device.
 */
#include "internal.h"

struct xid_text {
	uint16_t xid;
	const char *text;
};

/* What follows the channel in the line when nothing more exact is known. */
static const struct xid_text xids[] = {
	{8, "GPU stopped processing"},
	{11, "Invalid or corrupted push buffer stream"},
	{13, "Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address"},
	{25, "Invalid or illegal push buffer stream"},
	{31, "MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_0 faulted @ 0x0_00000000. "
	     "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"},
	{32, "Corrupted push buffer"},
	{37, "Driver firmware error"},
	{38, "Driver firmware error"},
	{39, "CE0 exception"},
	{40, "CE1 exception"},
	{41, "CE2 exception"},
	{43, ""},
	{44, "Graphics engine fault during context switch"},
	{45, ""},
	{46, "GPU stopped processing"},
	{48, "An uncorrectable double bit error (DBE) has been detected on GPU"},
	{54, "Auxiliary power is not connected"},
	{61, "PMU breakpoint"},
	{62, "PMU halt"},
	{63, "Row Remapper: row marked for remapping, reset GPU to activate"},
	{64, "Row Remapper: row remapping failed"},
	{66, "Illegal access by driver"},
	{67, "Illegal access by driver"},
	{68, "NVDEC0 exception"},
	{69, "Graphics Exception: Class Error"},
	{70, "CE3 exception"},
	{71, "CE4 exception"},
	{72, "CE5 exception"},
	{74, "NVLink: fatal error detected on link 0"},
	{75, "CE6 exception"},
	{76, "CE7 exception"},
	{77, "CE8 exception"},
	{78, "vGPU start error"},
	{79, "GPU has fallen off the bus."},
	{80, "Push buffer CRC mismatch"},
	{85, "CE9 exception"},
	{92, "High single-bit ECC error rate"},
	{93, "InfoROM wear limit reached"},
	{94, "Contained: SM (0x1). RST: No, D-RST: No"},
	{95, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"},
	{109, "errorString CTX SWITCH TIMEOUT, Info 0x4000"},
	{110, "Security fault"},
	{119, "Timeout waiting for RPC from GSP!"},
	{120, "GSP task exception"},
	{121, "C2C link error"},
	{136, "Link training failed"},
	{137, "NVLink privilege error"},
	{140, "Unrecovered ECC error"},
	{141, "Fast path error"},
	{143, "GPU initialization error"},
	{144, "SAW_MVB Nonfatal XC0 i0 Link 0"},
	{145, "RLW_RXPIPE Nonfatal XC0 i0 Link 0"},
	{146, "TLW_TX Nonfatal XC0 i0 Link 0"},
	{147, "TREX Nonfatal XC0 i0 Link 0"},
	{148, "NVLPW_CTRL Nonfatal XC0 i0 Link 0"},
	{149, "NETIR_LINK_EVT Fatal XC0 i0 Link 0"},
	{150, "MSE Nonfatal XC0 i0 Link 0"},
	{151, "Key rotation error"},
	{154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
	{155, "NVLink software-defined error"},
	{156, "Resource retirement event"},
	{157, "Resource retirement failure"},
	{158, "GPU fatal timeout"},
	{160, "Channel retirement event"},
	{161, "Channel retirement failure"},
};

const char *fgpu_xid_text(uint32_t xid)
{
	size_t i;

	for (i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (xids[i].xid == xid)
			return xids[i].text;
	return NULL;
}

/* Copy text that a program chose: no control characters, always terminated. */
void fgpu_log_copy(char *to, const char *from, size_t size)
{
	fgpu_strscpy(to, from, size);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 0x7f)
			*to = '?';
}

void fgpu_event(struct fgpu_device *device, enum fgpu_event_type type,
		const struct fgpu_channel *channel, uint64_t value, uint32_t xid)
{
	struct fgpu_event event = {
		.type = type,
		.context = channel->context->id,
		.channel = channel->index,
		.xid = xid,
		.now = device->now,
		.value = value,
	};

	fgpu_port_event(device, &event);
}

static void log_line(struct fgpu_device *device, uint32_t context, uint32_t channel, uint32_t xid,
		     const char *line)
{
	struct fgpu_event event = {
		.type = FGPU_EVENT_LOG,
		.level = FGPU_LOG_ERR,
		.context = context,
		.channel = channel,
		.xid = xid,
		.now = fgpu_port_now(),
		.text = line,
	};

	fgpu_port_event(device, &event);
}

void fgpu_log(struct fgpu_device *device, const char *format, ...)
{
	char line[FGPU_LOG_LINE];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_line(device, 0, 0, 0, line);
}

/* `channel` may be NULL: a call, not a job, ran into it. `context` too: the device did. */
void fgpu_log_xid(struct fgpu_device *device, const struct fgpu_context *context,
		  const struct fgpu_channel *channel, uint32_t xid, const char *text)
{
	char line[FGPU_LOG_LINE];
	char who[FGPU_PROGRAM_NAME + 32] = "";
	char where[16] = "";

	if (context)
		snprintf(who, sizeof(who), ", pid=%d, name=%s", context->pid, context->name);
	if (channel)
		snprintf(where, sizeof(where), ", Ch %08x", channel->index);
	snprintf(line, sizeof(line), "FGPU: Xid (PCI:0000:%02x:00): %u%s%s%s%s",
		 device->config.index + 1, xid, who, where, *text ? ", " : "", text);
	log_line(device, context ? context->id : 0, channel ? channel->index : 0, xid, line);
}
