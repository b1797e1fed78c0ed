// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fault grammar: one line to a struct fgpu_fault and back.
 *
 *   KIND[=VALUE][,device=D][,ctx=C][,after=N][,count=M]
 */
#include "internal.h"

#define WORD_MAX 24
#define DEVICE_HERE UINT32_MAX

struct kind {
	const char *name;
	enum fgpu_fault_kind kind;
	bool value;
};

static const struct kind kinds[] = {
	{"xid", FGPU_FAULT_XID, true},
	{"ecc", FGPU_FAULT_ECC, false},
	{"hang", FGPU_FAULT_HANG, false},
	{"slow", FGPU_FAULT_SLOW, true},
	{"no-fence", FGPU_FAULT_NO_FENCE, false},
	{"lost-doorbell", FGPU_FAULT_LOST_DOORBELL, false},
	{"off-bus", FGPU_FAULT_OFF_BUS, false},
	{"fw-timeout", FGPU_FAULT_FW_TIMEOUT, false},
};

/* One `name[=number]` of the line. */
struct word {
	char name[WORD_MAX];
	bool has_number;
	uint64_t number;
};

struct reader {
	const char *at;
	char *why;
	size_t why_size;
};

static int refuse(struct reader *reader, const char *what, const char *word)
{
	char shown[WORD_MAX];

	fgpu_log_copy(shown, word, sizeof(shown));
	snprintf(reader->why, reader->why_size, "%s: %s", shown, what);
	return -EINVAL;
}

static int read_number(struct reader *reader, struct word *word)
{
	uint32_t digits = 0;

	word->number = 0;
	for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++, digits++) {
		if (digits == 18)
			return refuse(reader, "the number is too big", word->name);
		word->number = word->number * 10 + (uint64_t)(*reader->at - '0');
	}
	if (!digits)
		return refuse(reader, "a decimal number must follow '='", word->name);
	word->has_number = true;
	return 0;
}

static int read_word(struct reader *reader, struct word *word)
{
	size_t length = 0;
	int error;

	while (reader->at[length] && !strchr("=,\n", reader->at[length]))
		length++;
	if (length >= sizeof(word->name))
		return refuse(reader, "no such fault or option", reader->at);
	memcpy(word->name, reader->at, length);
	word->name[length] = '\0';
	word->has_number = false;
	reader->at += length;
	if (*reader->at == '=') {
		reader->at++;
		error = read_number(reader, word);
		if (error)
			return error;
	}
	if (*reader->at && !strchr(",\n", *reader->at))
		return refuse(reader, "what follows the number is not ','", word->name);
	return 0;
}

static int take_xid(struct reader *reader, uint64_t xid)
{
	if (xid == FGPU_XID_OFF_BUS)
		return refuse(reader, "79 concerns the whole device: use off-bus", "xid");
	if (xid == FGPU_XID_FIRMWARE)
		return refuse(reader, "119 concerns calls, not jobs: use fw-timeout", "xid");
	if (xid > UINT32_MAX || !fgpu_xid_text((uint32_t)xid))
		return refuse(reader, "not in the table of Xids", "xid");
	return 0;
}

static int take_kind(struct reader *reader, const struct word *word, struct fgpu_fault *fault)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(word->name, kinds[i].name))
			continue;
		if (word->has_number && !kinds[i].value)
			return refuse(reader, "takes no value", word->name);
		if (!word->has_number && kinds[i].value)
			return refuse(reader, "needs a value, as in xid=31 or slow=1000000",
				      word->name);
		fault->kind = kinds[i].kind;
		fault->value = word->number;
		if (fault->kind == FGPU_FAULT_SLOW && word->number > FGPU_DELAY_MAX_NS)
			return refuse(reader, "at most 10000000000 ns", word->name);
		if (fault->kind == FGPU_FAULT_XID)
			return take_xid(reader, word->number);
		return 0;
	}
	return refuse(reader, "no such fault", word->name);
}

enum { OPTION_DEVICE = 1, OPTION_CTX = 2, OPTION_AFTER = 4, OPTION_COUNT = 8 };

static uint32_t option_of(const char *name)
{
	if (!strcmp(name, "device"))
		return OPTION_DEVICE;
	if (!strcmp(name, "ctx"))
		return OPTION_CTX;
	if (!strcmp(name, "after"))
		return OPTION_AFTER;
	return strcmp(name, "count") ? 0 : OPTION_COUNT;
}

static int take_option(struct reader *reader, const struct word *word, struct fgpu_fault *fault,
		       const struct fgpu_device *device, uint32_t *target, uint32_t *seen)
{
	uint32_t option = option_of(word->name);

	if (!option)
		return refuse(reader, "no such option: device, ctx, after, count", word->name);
	if (!word->has_number)
		return refuse(reader, "needs a number", word->name);
	if (*seen & option)
		return refuse(reader, "given twice", word->name);
	*seen |= option;
	switch (option) {
	case OPTION_DEVICE:
		if (word->number >= device->config.count)
			return refuse(reader, "no such device", word->name);
		*target = (uint32_t)word->number;
		break;
	case OPTION_CTX:
		if (!word->number || word->number > UINT32_MAX)
			return refuse(reader, "no such context", word->name);
		fault->context = (uint32_t)word->number;
		break;
	case OPTION_AFTER:
		fault->after = word->number;
		break;
	default:
		if (fault->kind == FGPU_FAULT_OFF_BUS && word->number)
			return refuse(reader, "off-bus lasts until cleared", word->name);
		fault->count = word->number;
	}
	return 0;
}

int fgpu_fault_parse(const struct fgpu_device *device, const char *spec, struct fgpu_fault *fault,
		     bool *here, char *why, size_t why_size)
{
	struct reader reader = {.at = spec, .why = why, .why_size = why_size};
	uint32_t target = device->config.index, seen = 0;
	struct word word;
	int error;

	memset(fault, 0, sizeof(*fault));
	error = read_word(&reader, &word);
	if (!error)
		error = take_kind(&reader, &word, fault);
	fault->count = fault->kind != FGPU_FAULT_OFF_BUS;
	while (!error && *reader.at == ',') {
		reader.at++;
		error = read_word(&reader, &word);
		if (!error)
			error = take_option(&reader, &word, fault, device, &target, &seen);
	}
	if (!error && *reader.at == '\n' && reader.at[1])
		error = refuse(&reader, "one fault a line", word.name);
	*here = target == device->config.index;
	return error;
}

/* Like snprintf(), for several calls in a row: returns what was written, not what would be. */
static int append(char *text, size_t size, const char *name, uint64_t number)
{
	int length = snprintf(text, size, ",%s=" FGPU_U64, name, (fgpu_print_t)number);

	return (size_t)length < size ? length : (int)size - 1;
}

/* One line with its newline, cut to `size`; returns its length. */
int fgpu_fault_print(const struct fgpu_device *device, const struct fgpu_fault *fault, char *text,
		     size_t size)
{
	char line[160];
	const char *name = "?";
	int used;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == fault->kind)
			name = kinds[i].name;
	used = snprintf(line, sizeof(line), "%s", name);
	if (fault->kind == FGPU_FAULT_XID || fault->kind == FGPU_FAULT_SLOW)
		used += snprintf(line + used, sizeof(line) - (size_t)used, "=" FGPU_U64,
				 (fgpu_print_t)fault->value);
	if (device->config.count > 1)
		used += append(line + used, sizeof(line) - (size_t)used, "device",
			       device->config.index);
	if (fault->context)
		used += append(line + used, sizeof(line) - (size_t)used, "ctx", fault->context);
	if (fault->after)
		used += append(line + used, sizeof(line) - (size_t)used, "after", fault->after);
	if (fault->count != 1 && fault->kind != FGPU_FAULT_OFF_BUS)
		used += append(line + used, sizeof(line) - (size_t)used, "count", fault->count);
	fgpu_strscpy(text, line, size);
	used = (int)strnlen(text, size);
	if ((size_t)used + 1 < size) {
		text[used++] = '\n';
		text[used] = '\0';
	}
	return used;
}
