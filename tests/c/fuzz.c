// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libFuzzer target: the input is a script of opens, ioctls, ring writes,
 * doorbells, steps, time and faults. The sanitizers watch memory; the checks
 * here watch what must hold whatever a program does.
 */
#include <stdlib.h>

#include "rig.h"

#define PROGRAMS 3
#define RINGS 4

_Static_assert(sizeof(struct fakegpu_processes) >= sizeof(struct fakegpu_info),
	       "the longest argument");

struct script {
	const uint8_t *at;
	const uint8_t *end;
};

struct player {
	struct fgpu_device *device;
	struct program *programs[PROGRAMS];
	struct script script;
	uint64_t seqno;
	struct fake_eventfd eventfd;
	uint64_t bound;
};

void fail(const char *file, int line, const char *format, ...)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, format);
	abort();
}

bool failed(void)
{
	return false;
}

static void take(struct script *script, void *to, size_t size)
{
	size_t left = (size_t)(script->end - script->at), some = left < size ? left : size;

	memset(to, 0, size);
	memcpy(to, script->at, some);
	script->at += some;
}

static uint8_t byte(struct script *script)
{
	uint8_t value;

	take(script, &value, 1);
	return value;
}

static struct program *program_of(struct player *player, uint8_t n)
{
	struct program **slot = &player->programs[n % PROGRAMS];
	struct program *program;

	if (*slot)
		return *slot;
	program = calloc(1, sizeof(*program));
	if (program_open(player->device, FGPU_NODE_GPU, program)) {
		if (program->backing.ranges)
			fail(__FILE__, __LINE__, "a failed open left memory behind");
		free(program);
		return NULL;
	}
	return *slot = program;
}

static void play_close(struct player *player, uint8_t n)
{
	struct program **slot = &player->programs[n % PROGRAMS];

	if (*slot)
		program_close(*slot);
	*slot = NULL;
}

static const unsigned int commands[] = {
	FAKEGPU_IOC_INFO,
	FAKEGPU_IOC_CHECK_VERSION,
	FAKEGPU_IOC_ALLOC,
	FAKEGPU_IOC_FREE,
	FAKEGPU_IOC_MAP,
	FAKEGPU_IOC_CHANNEL_CREATE,
	FAKEGPU_IOC_CHANNEL_DESTROY,
	FAKEGPU_IOC_SUBMIT,
	FAKEGPU_IOC_WAIT,
	FAKEGPU_IOC_CTX_INFO,
	FAKEGPU_IOC_UVM_INIT,
	FAKEGPU_IOC_FENCE_EVENTFD,
	FAKEGPU_IOC_USAGE,
	FAKEGPU_IOC_PROCESSES,
};

/* An ioctl with any argument; SUBMIT's packets come from the script as well. */
static void play_ioctl(struct player *player, bool undo)
{
	struct script *script = &player->script;
	struct program *program = program_of(player, byte(script));
	unsigned int command = commands[byte(script) % (sizeof(commands) / sizeof(commands[0]))];
	uint64_t arg[sizeof(struct fakegpu_processes) / 8] = {0}, pointer;
	struct fgpu_eventfd eventfd = {.object = &player->eventfd};
	void *payload = NULL;
	int size, length, error;

	if (!program)
		return;
	size = fgpu_ioctl_size(command);
	take(script, arg, (size_t)size);
	length = fgpu_ioctl_payload(command, arg, &pointer);
	if (length < 0)
		return;
	if (length) {
		payload = malloc((size_t)length);
		take(script, payload, (size_t)length);
	}
	fgpu_ioctl_delay(program->context, command);
	fgpu_device_lock(player->device);
	error = fgpu_ioctl_locked(program->context, command, arg,
				  command == FAKEGPU_IOC_FENCE_EVENTFD ? &eventfd : payload);
	player->bound += command == FAKEGPU_IOC_FENCE_EVENTFD && !error;
	if (!error && undo)
		fgpu_ioctl_undo_locked(program->context, command, arg);
	fgpu_device_unlock(player->device);
	if (error > 0 || error < -200)
		fail(__FILE__, __LINE__, "no errno");
	free(payload);
}

/* A plain useful call, so that scripts soon have something to play with. */
static void play_set_up(struct player *player)
{
	struct script *script = &player->script;
	struct program *program = program_of(player, byte(script));
	struct fakegpu_alloc alloc = {.size = 1 + (uint64_t)byte(script) * 1024};
	struct fakegpu_channel_create ring = {.flags = 1, .ring_size = 4096};
	struct fakegpu_channel_create plain = {0};

	if (!program)
		return;
	call(program, FAKEGPU_IOC_ALLOC, &alloc);
	call(program, FAKEGPU_IOC_CHANNEL_CREATE, &ring);
	if (byte(script) & 1)
		call(program, FAKEGPU_IOC_CHANNEL_CREATE, &plain);
}

/* A packet of the right size. A tame one names small handles and addresses too. */
static uint32_t make_packet(struct player *player, uint64_t *words)
{
	static const uint16_t sizes[] = {8, 32, 40, 48, 16, 16, 16};
	const uint64_t handles = 0x0000000700000007, address = 0xffc;
	uint8_t kind = byte(&player->script);
	struct fakegpu_packet head = {.op = kind % 7, .size = sizes[kind % 7]};
	uint32_t i;

	take(&player->script, words, head.size);
	memcpy(words, &head, sizeof(head));
	if (kind & 0x80)
		return head.size;
	for (i = 1; i < head.size / 8u; i++)
		words[i] &= i == 1 ? handles : address;
	if (head.op == FAKEGPU_OP_VECADD)
		words[2] = (words[2] & 7) | (words[2] & 0xf8) << 32;
	if (head.op == FAKEGPU_OP_FENCE)
		words[1] = ++player->seqno;
	if (head.op == FAKEGPU_OP_FAULT)
		words[1] = words[1] & 1 ? 13 : 31;
	return head.size;
}

static void play_packet(struct player *player)
{
	struct program *program = program_of(player, byte(&player->script));
	uint32_t index = byte(&player->script) % RINGS, at, size;
	struct fakegpu_doorbell_slot *doorbell;
	uint64_t words[6];
	uint8_t *ring;

	if (!program)
		return;
	ring = backing_at(&program->backing, FAKEGPU_OFF_RING + index * FAKEGPU_RING_STRIDE);
	doorbell = (struct fakegpu_doorbell_slot *)backing_at(&program->backing, 0) + index;
	size = make_packet(player, words);
	at = doorbell->wptr % 4096;
	if (!ring || at % 8 || size > 4096 - at)
		return;
	memcpy(ring + at, words, size);
	doorbell->wptr += size;
}

static void play_submit(struct player *player)
{
	struct program *program = program_of(player, byte(&player->script));
	uint32_t channel = byte(&player->script) % 8, length = 0;
	uint64_t words[6 * 4];
	int count = 1 + byte(&player->script) % 4;

	while (count--)
		length += make_packet(player, words + length / 8);
	if (program)
		submit(program, channel, words, length, NULL);
}

/* Bytes anywhere in a ring. */
static void play_garbage(struct player *player)
{
	struct program *program = program_of(player, byte(&player->script));
	uint64_t index = byte(&player->script) % RINGS;
	uint8_t *ring;

	if (!program)
		return;
	ring = backing_at(&program->backing, FAKEGPU_OFF_RING + index * FAKEGPU_RING_STRIDE);
	if (ring)
		take(&player->script, ring + (byte(&player->script) % 128) * 8, 48);
}

static void play_doorbell(struct player *player)
{
	struct script *script = &player->script;
	struct program *program = program_of(player, byte(script));
	struct fakegpu_doorbell_slot *doorbells;
	uint32_t wptr;

	if (!program)
		return;
	doorbells = backing_at(&program->backing, FAKEGPU_OFF_DOORBELL);
	take(script, &wptr, byte(script) & 1 ? 4 : 1);
	doorbells[byte(script) % FAKEGPU_MAX_CHANNELS].wptr = wptr * 8;
}

static void play_fault(struct player *player)
{
	static const char *const specs[] = {
		"xid=31",   "xid=13,after=1", "ecc,count=2",	"hang",
		"slow=900", "no-fence",	      "lost-doorbell",	"off-bus,after=2",
		"off-bus",  "fw-timeout",     "slow=1,count=0", "hang,ctx=2",
	};
	char spec[64] = "", why[64], list[64];
	uint8_t n = byte(&player->script);

	if (n < 128)
		snprintf(spec, sizeof(spec), "%s", specs[n % (sizeof(specs) / sizeof(specs[0]))]);
	else
		take(&player->script, spec, n % (sizeof(spec) - 1));
	fgpu_fault_set(player->device, spec, why, sizeof(why));
	fgpu_fault_list(player->device, list, sizeof(list));
}

static void play_steps(struct player *player)
{
	int steps = 1 + byte(&player->script) % 16;
	uint64_t wake;

	while (steps--) {
		wake = fgpu_engine_step(player->device);
		if (wake != UINT64_MAX && wake > fake_now + 20000000000ULL)
			fail(__FILE__, __LINE__, "the engine wants to sleep too long");
		if (wake != UINT64_MAX && wake > fake_now && steps % 2)
			fake_now = wake;
	}
}

/* What no program can bring about. */
static void check_program(struct program *program)
{
	struct fakegpu_ctx_info info = {0};
	const struct fakegpu_fence_slot *slot;
	uint32_t i;

	if (call(program, FAKEGPU_IOC_CTX_INFO, &info))
		return; /* off the bus */
	if (info.bytes > QUOTA || info.bytes % 4096 || info.channels > FAKEGPU_MAX_CHANNELS)
		fail(__FILE__, __LINE__, "accounting is off");
	if (info.completions > info.submits || info.poisoned != (info.xid != 0))
		fail(__FILE__, __LINE__, "counters are off");
	if (completions(program) != info.completions)
		fail(__FILE__, __LINE__, "the completion ring is off");
	for (i = 0; i < FAKEGPU_MAX_CHANNELS; i++) {
		slot = fence_slot(program, i);
		if (slot->done_ns > fake_now || slot->jobs > info.completions || slot->rptr % 8)
			fail(__FILE__, __LINE__, "a fence slot is off");
	}
}

static void play(struct player *player)
{
	uint32_t ns;

	switch (byte(&player->script) % 11) {
	case 0:
		play_close(player, byte(&player->script));
		break;
	case 1:
		play_ioctl(player, false);
		break;
	case 2:
		play_ioctl(player, true);
		break;
	case 3:
		play_set_up(player);
		break;
	case 4:
		play_garbage(player);
		break;
	case 5:
		play_packet(player);
		break;
	case 9:
		play_submit(player);
		break;
	case 6:
		play_doorbell(player);
		break;
	case 7:
		play_steps(player);
		break;
	case 8:
		take(&player->script, &ns, sizeof(ns));
		fake_now += ns;
		if (ns % 4 == 0)
			fgpu_fault_clear(player->device);
		break;
	default:
		play_fault(player);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct player player = {.script = {data, data + size}};
	struct fakegpu_info info = {0};
	int i;

	player.device = device_new(0, 1);
	while (player.script.at < player.script.end)
		play(&player);
	for (i = 0; i < PROGRAMS; i++)
		if (player.programs[i])
			check_program(player.programs[i]);
	for (i = 1; i < PROGRAMS; i++)
		play_close(&player, (uint8_t)i);
	if (player.programs[0] && !call(player.programs[0], FAKEGPU_IOC_INFO, &info) &&
	    info.vram_used != ctx_info(player.programs[0]).bytes)
		fail(__FILE__, __LINE__, "closed contexts still hold memory");
	play_close(&player, 0);
	if (player.eventfd.ends != player.bound)
		fail(__FILE__, __LINE__, "an eventfd was kept, or let go of twice");
	fgpu_device_destroy(player.device);
	return 0;
}
