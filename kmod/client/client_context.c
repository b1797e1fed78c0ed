// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a device says of itself, and what separates contexts. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "client.h"
#include "common.h"

#define OTHER_VERSION "1.2.3"

static bool info(void)
{
	struct context context CONTEXT_CLEANUP;
	struct fakegpu_info gpu = {0};

	TRY(context_open(&context));
	EXPECT_CALL(0, context.fd, INFO, &gpu);
	EXPECT(gpu.device == device_index, "INFO is of device %u", gpu.device);
	EXPECT(gpu.device_count > device_index, "device_count is %u", gpu.device_count);
	EXPECT(gpu.uapi_version == FAKEGPU_UAPI_VERSION, "UAPI version is %u", gpu.uapi_version);
	EXPECT(gpu.max_channels == FAKEGPU_MAX_CHANNELS, "max_channels is %u", gpu.max_channels);
	EXPECT(gpu.pci_bus == device_index + 1, "PCI bus is %u", gpu.pci_bus);
	EXPECT(gpu.quota && gpu.quota <= gpu.vram_total, "quota is %llu of %llu",
	       (unsigned long long)gpu.quota, (unsigned long long)gpu.vram_total);
	EXPECT(memchr(gpu.name, 0, sizeof(gpu.name)) && gpu.name[0], "name is not a string");
	EXPECT(memchr(gpu.version, 0, sizeof(gpu.version)) && gpu.version[0],
	       "version is not a string");
	return true;
}

static bool control_node(void)
{
	struct fakegpu_info gpu = {0};
	struct fakegpu_alloc alloc = {.size = FAKEGPU_PAGE};
	struct context ctl CONTEXT_CLEANUP;

	ctl.fd = node_open(CTL_NODE, O_RDWR);
	EXPECT(ctl.fd >= 0, "open %s: %s", CTL_NODE, error_name(-ctl.fd));
	EXPECT_CALL(0, ctl.fd, INFO, &gpu);
	EXPECT(gpu.device == ~0u, "INFO on it is of device %u", gpu.device);
	EXPECT(gpu.device_count >= 1, "device_count is %u", gpu.device_count);
	EXPECT_CALL(ENOTTY, ctl.fd, ALLOC, &alloc);
	ANSWER(ENOTTY, ctl.fd, CTX_INFO, fakegpu_ctx_info, .flags = 0);
	ANSWER(ENOTTY, ctl.fd, USAGE, fakegpu_usage, .flags = 0);
	ANSWER(ENOTTY, ctl.fd, PROCESSES, fakegpu_processes, .flags = 0);
	ANSWER(ENOTTY, ctl.fd, UVM_INIT, fakegpu_uvm_init, .flags = 0);
	return true;
}

static bool uvm_node(void)
{
	struct context uvm CONTEXT_CLEANUP;

	uvm.fd = node_open(UVM_NODE, O_RDWR);
	EXPECT(uvm.fd >= 0, "open %s: %s", UVM_NODE, error_name(-uvm.fd));
	ANSWER(0, uvm.fd, UVM_INIT, fakegpu_uvm_init, .flags = 0);
	ANSWER(EINVAL, uvm.fd, UVM_INIT, fakegpu_uvm_init, .flags = 1);
	ANSWER(EINVAL, uvm.fd, UVM_INIT, fakegpu_uvm_init, .pad = 1);
	ANSWER(ENOTTY, uvm.fd, INFO, fakegpu_info, .flags = 0);
	return true;
}

static bool version(void)
{
	struct fakegpu_check_version check = {.mode = FAKEGPU_VERSION_QUERY,
					      .version = OTHER_VERSION};
	char driver[FAKEGPU_VERSION_LEN];
	struct context ctl CONTEXT_CLEANUP;

	ctl.fd = node_open(CTL_NODE, O_RDWR);
	EXPECT(ctl.fd >= 0, "open %s: %s", CTL_NODE, error_name(-ctl.fd));
	EXPECT_CALL(0, ctl.fd, CHECK_VERSION, &check);
	EXPECT(check.reply == 0, "version %s is called equal to %s", OTHER_VERSION, check.version);
	EXPECT(memchr(check.version, 0, sizeof(check.version)), "version is not a string");
	memcpy(driver, check.version, sizeof(driver));
	check.mode = FAKEGPU_VERSION_STRICT;
	check.reply = 0;
	EXPECT_CALL(0, ctl.fd, CHECK_VERSION, &check);
	EXPECT(check.reply == 1, "version %s is not equal to itself", driver);
	check = (struct fakegpu_check_version){
		.mode = FAKEGPU_VERSION_STRICT, .reply = 1, .version = OTHER_VERSION};
	EXPECT_CALL(EINVAL, ctl.fd, CHECK_VERSION, &check);
	EXPECT(check.reply == 0 && !strcmp(check.version, driver),
	       "a refused version is not answered with the driver's");
	return true;
}

/* Two contexts with equal handles and offsets, and different memory behind them. */
static bool isolation(void)
{
	struct context mine CONTEXT_CLEANUP, other CONTEXT_CLEANUP;
	struct buffer secret BUFFER_CLEANUP, theirs BUFFER_CLEANUP;
	struct fakegpu_ctx_info info;
	uint32_t foreign;

	TRY(context_open(&mine));
	TRY(context_open(&other));
	TRY(buffer_make(&mine, FAKEGPU_PAGE, &secret));
	memset(secret.map, 0x5a, FAKEGPU_PAGE);
	foreign = secret.handle;
	ANSWER(ENOENT, other.fd, MAP, fakegpu_map, .what = FAKEGPU_MAP_BUFFER, .handle = foreign);
	ANSWER(ENOENT, other.fd, FREE, fakegpu_free, .handle = foreign);
	TRY(buffer_make(&other, FAKEGPU_PAGE, &theirs));
	EXPECT(*(uint8_t *)theirs.map == 0, "a new buffer holds another context's bytes");
	memset(theirs.map, 0xa5, FAKEGPU_PAGE);
	EXPECT(*(uint8_t *)secret.map == 0x5a, "a write went through to another context");
	TRY(context_info(&mine, &info));
	EXPECT(info.buffers == 1 && info.bytes == FAKEGPU_PAGE, "context holds %u buffers",
	       info.buffers);
	return true;
}

/* Memory that is freed and made again must not carry old contents, either. */
static bool fresh_memory(void)
{
	struct context context CONTEXT_CLEANUP;

	TRY(context_open(&context));
	for (int round = 0; round < 2; round++) {
		struct buffer buffer BUFFER_CLEANUP;
		const uint64_t *words;

		TRY(buffer_make(&context, 4 * FAKEGPU_PAGE, &buffer));
		words = buffer.map;
		for (size_t i = 0; i < buffer.size / sizeof(*words); i++)
			EXPECT(words[i] == 0, "round %d: word %zu is %#llx", round, i,
			       (unsigned long long)words[i]);
		memset(buffer.map, 0xff, buffer.size);
		buffer_unmap(&buffer);
		ANSWER(0, context.fd, FREE, fakegpu_free, .handle = buffer.handle);
	}
	return true;
}

static bool quota(void)
{
	struct context context CONTEXT_CLEANUP;
	struct fakegpu_info gpu = {0};
	struct fakegpu_alloc alloc = {0};
	struct fakegpu_ctx_info info;
	uint32_t last;

	TRY(context_open(&context));
	EXPECT_CALL(0, context.fd, INFO, &gpu);
	TRY(context_info(&context, &info));
	EXPECT(info.quota == gpu.quota, "CTX_INFO and INFO tell different quotas");
	alloc.size = 1;
	EXPECT_CALL(0, context.fd, ALLOC, &alloc);
	alloc.size = gpu.quota - 2 * FAKEGPU_PAGE;
	EXPECT_CALL(0, context.fd, ALLOC, &alloc);
	alloc.size = FAKEGPU_PAGE + 1;
	EXPECT_CALL(EDQUOT, context.fd, ALLOC, &alloc);
	alloc.size = FAKEGPU_PAGE;
	EXPECT_CALL(0, context.fd, ALLOC, &alloc);
	last = alloc.handle;
	TRY(context_info(&context, &info));
	EXPECT(info.bytes == gpu.quota && info.buffers == 3, "at the limit, %llu of %llu are held",
	       (unsigned long long)info.bytes, (unsigned long long)gpu.quota);
	EXPECT_CALL(EDQUOT, context.fd, ALLOC, &alloc);
	ANSWER(0, context.fd, FREE, fakegpu_free, .handle = last);
	EXPECT_CALL(0, context.fd, ALLOC, &alloc);
	return true;
}

static bool channels(void)
{
	struct context context CONTEXT_CLEANUP;
	struct fakegpu_channel_create create = {0};
	struct fakegpu_ctx_info info;
	uint32_t handle = 0, slots = 0;

	TRY(context_open(&context));
	for (int i = 0; i < FAKEGPU_MAX_CHANNELS; i++) {
		EXPECT_CALL(0, context.fd, CHANNEL_CREATE, &create);
		EXPECT(!(slots & 1u << create.index), "slot %u was given twice", create.index);
		slots |= 1u << create.index;
		handle = create.handle;
	}
	EXPECT_CALL(ENOSPC, context.fd, CHANNEL_CREATE, &create);
	TRY(context_info(&context, &info));
	EXPECT(info.channels == FAKEGPU_MAX_CHANNELS, "CTX_INFO counts %u channels", info.channels);
	ANSWER(0, context.fd, CHANNEL_DESTROY, fakegpu_channel_destroy, .handle = handle);
	EXPECT_CALL(0, context.fd, CHANNEL_CREATE, &create);
	return true;
}

/* dup and the mappings share the context; the last of them ends it. */
static bool lifetime(void)
{
	struct context context CONTEXT_CLEANUP, copy CONTEXT_CLEANUP;
	struct buffer buffer BUFFER_CLEANUP;
	struct fakegpu_ctx_info first, second;

	TRY(context_open(&context));
	TRY(buffer_make(&context, FAKEGPU_PAGE, &buffer));
	copy.fd = fcntl(context.fd, F_DUPFD_CLOEXEC, 0);
	EXPECT(copy.fd >= 0, "dup: %s", error_name(errno));
	TRY(context_info(&context, &first));
	close(context.fd);
	context.fd = -1;
	TRY(context_info(&copy, &second));
	EXPECT(first.id == second.id && second.buffers == 1,
	       "a duplicated descriptor lost its context");
	memset(buffer.map, 1, FAKEGPU_PAGE);
	return true;
}

/* The entry of a context in the device's list. */
static bool find_process(int fd, uint32_t id, struct fakegpu_process *process)
{
	struct fakegpu_processes list = {0};

	do {
		EXPECT_CALL(0, fd, PROCESSES, &list);
		EXPECT(list.count <= FAKEGPU_PROCESSES_MAX && (list.count || !list.more),
		       "PROCESSES: %u entries, %u more", list.count, list.more);
		for (uint32_t i = 0; i < list.count; i++) {
			*process = list.entries[i];
			EXPECT(process->context > list.after, "ids do not rise: %u after %u",
			       process->context, list.after);
			list.after = process->context;
			if (process->context == id)
				return true;
		}
	} while (list.more);
	EXPECT(false, "context %u is not in the list", id);
	return true;
}

/* Each sees the other's context, and what it holds. */
static bool processes(void)
{
	struct context one CONTEXT_CLEANUP, other CONTEXT_CLEANUP;
	struct fakegpu_ctx_info info;
	struct fakegpu_process process = {0};
	struct buffer buffer BUFFER_CLEANUP;

	TRY(context_open(&one));
	TRY(context_open(&other));
	TRY(buffer_make(&one, 3 * FAKEGPU_PAGE, &buffer));
	TRY(context_info(&one, &info));
	TRY(find_process(other.fd, info.id, &process));
	EXPECT(process.bytes == 3 * FAKEGPU_PAGE && !process.channels && !process.xid,
	       "PROCESSES: %llu bytes, %u channels, Xid %u", (unsigned long long)process.bytes,
	       process.channels, process.xid);
	EXPECT(process.pid > 0, "PROCESSES: no process id");
	EXPECT(!strncmp(process.name, program_invocation_short_name, 15), "PROCESSES: name '%.32s'",
	       process.name);
	return true;
}

/* Others may work meanwhile: a job's own time is the least that the device was busy. */
static bool busy(void)
{
	const uint64_t ns = SECOND_NS / 50;
	struct context context CONTEXT_CLEANUP;
	struct channel channel CHANNEL_CLEANUP;
	struct fakegpu_packet_delay packet = DELAY(.ns = ns);
	struct fakegpu_usage before = {0}, after = {0};
	struct fakegpu_process process = {0};
	struct fakegpu_ctx_info info;

	TRY(context_open(&context));
	TRY(context_map(&context));
	TRY(channel_make(&context, 0, &channel));
	TRY(context_info(&context, &info));
	EXPECT_CALL(0, context.fd, USAGE, &before);
	TRY(submit(&channel, &packet, sizeof(packet)));
	TRY(wait_done(&channel));
	EXPECT_CALL(0, context.fd, USAGE, &after);
	EXPECT(after.busy_ns - before.busy_ns >= ns, "USAGE: busy for %llu ns with a job of %llu",
	       (unsigned long long)(after.busy_ns - before.busy_ns), (unsigned long long)ns);
	EXPECT(after.busy_ns - before.busy_ns <= after.now_ns - before.now_ns,
	       "USAGE: busy for longer than passed");
	EXPECT(after.jobs > before.jobs, "USAGE: no job was counted");
	TRY(find_process(context.fd, info.id, &process));
	EXPECT(process.busy_ns >= ns && process.busy_ns <= after.now_ns - before.now_ns,
	       "PROCESSES: %llu ns spent on the context", (unsigned long long)process.busy_ns);
	EXPECT(process.channels == 1, "PROCESSES: %u channels", process.channels);
	return true;
}

const struct check checks_context[] = {
	{"info", info},		  {"control-node", control_node},
	{"uvm-node", uvm_node},	  {"version", version},
	{"isolation", isolation}, {"fresh-memory", fresh_memory},
	{"quota", quota},	  {"channels", channels},
	{"lifetime", lifetime},	  {"processes", processes},
	{"busy", busy},		  {0},
};
