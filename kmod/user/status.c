// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the device says of itself: one line of JSON.
 */
#define _GNU_SOURCE
#include "user.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TAIL_ROOM 4096 /* kept for the other devices and the end */

void say(struct reply *reply, const char *format, ...)
{
	size_t room = sizeof(reply->text) - reply->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(reply->text + reply->used, room, format, args);
	va_end(args);
	if (n > 0)
		reply->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* A program's name is its own choice: only what needs no escape goes into JSON. */
static void say_name(struct reply *reply, const char *name)
{
	for (; *name; name++)
		say(reply, "%c",
		    *name < ' ' || *name == '"' || *name == '\\' || *name > '~' ? '?' : *name);
}

static int ask(struct context *context, unsigned int command, void *arg)
{
	return fgpu_ioctl(context->core, command, arg, NULL);
}

static void say_context(struct reply *reply, struct context *context)
{
	struct fakegpu_ctx_info info = {0};

	say(reply, "{\"id\":%u,\"pid\":%d,\"name\":\"", context->id, (int)context->pid);
	say_name(reply, context->name);
	say(reply, "\",\"inode\":%llu,\"rules\":\"%s\"", (unsigned long long)context->ino,
	    context->kernel ? "kernel" : "emulated");
	if (!ask(context, FAKEGPU_IOC_CTX_INFO, &info))
		say(reply,
		    ",\"buffers\":%u,\"channels\":%u,\"bytes\":%llu,\"quota\":%llu,"
		    "\"submits\":%llu,\"completions\":%llu,\"doorbells\":%llu,\"xid\":%u",
		    info.buffers, info.channels, (unsigned long long)info.bytes,
		    (unsigned long long)info.quota, (unsigned long long)info.submits,
		    (unsigned long long)info.completions, (unsigned long long)info.doorbells,
		    info.xid);
	say(reply, "}");
}

static void say_uuid(struct reply *reply, const uint8_t uuid[16])
{
	int i;

	say(reply, "GPU-");
	for (i = 0; i < 16; i++)
		say(reply, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void say_faults(struct reply *reply, struct fgpu_device *device)
{
	char text[2048], *line, *rest;

	fgpu_fault_list(device, text, sizeof(text));
	say(reply, ",\"faults\":[");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		say(reply, "%s\"%s\"", line == text ? "" : ",", line);
	say(reply, "]");
}

static void say_device(struct reply *reply, unsigned int index)
{
	struct fakegpu_info info = {0};
	struct context *own = context_own(index);
	struct context *context;
	unsigned int more = 0;
	const char *comma = "";

	if (own)
		ask(own, FAKEGPU_IOC_INFO, &info);
	say(reply, "{\"index\":%u,\"name\":\"%s\",\"uuid\":\"", index, info.name);
	say_uuid(reply, info.uuid);
	say(reply,
	    "\",\"pci\":\"%04x:%02x:%02x\",\"vram_total\":%llu,\"vram_used\":%llu,\"quota\":%llu",
	    info.pci_domain, info.pci_bus, info.pci_slot, (unsigned long long)info.vram_total,
	    (unsigned long long)info.vram_used, (unsigned long long)info.quota);
	say_faults(reply, devices[index]);
	say(reply, ",\"contexts\":[");
	for (context = contexts; context; context = context->next) {
		if (context->minor != index)
			continue;
		if (reply->used > sizeof(reply->text) - TAIL_ROOM * (options.devices - index)) {
			more++;
			continue;
		}
		say(reply, "%s", comma);
		say_context(reply, context);
		comma = ",";
	}
	say(reply, "],\"contexts_left_out\":%u}", more);
}

void say_status(struct reply *reply)
{
	unsigned int i;

	say(reply, "{\"version\":\"%s\",\"pid\":%d,\"name\":\"%s\",\"devices\":[", options.version,
	    (int)getpid(), options.name);
	for (i = 0; i < options.devices; i++) {
		say(reply, "%s", i ? "," : "");
		say_device(reply, i);
	}
	say(reply, "]}\n");
}
