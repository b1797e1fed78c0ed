// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* --query-gpu: chosen fields as CSV. One table says what each is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"
#include "smi.h"

#define FIELDS_MAX 32

struct value {
	const struct smi_system *system;
	const struct smi_device *device;
};

/**
 * struct field - one that can be asked for
 * @unit: "" = none
 * @what: what must be looked at for it
 * @write: into @text; false = the device has no such figure
 */
struct field {
	const char *name;
	const char *unit;
	unsigned int what;
	bool (*write)(const struct value *from, char *text, size_t size);
};

static bool text_of(char *text, size_t size, const char *from)
{
	snprintf(text, size, "%s", from);
	return true;
}

static bool number_of(char *text, size_t size, fmlResult error, uint64_t number)
{
	snprintf(text, size, "%" PRIu64, number);
	return !error;
}

static bool timestamp(const struct value *from, char *text, size_t size)
{
	char clock[40];

	(void)from;
	return text_of(text, size, smi_clock(clock, "%Y/%m/%d %H:%M:%S"));
}

static bool driver_version(const struct value *from, char *text, size_t size)
{
	return text_of(text, size, from->system->driver);
}

static bool count(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, FML_SUCCESS, from->system->count);
}

static bool name(const struct value *from, char *text, size_t size)
{
	return text_of(text, size, from->device->name);
}

static bool uuid(const struct value *from, char *text, size_t size)
{
	return text_of(text, size, from->device->uuid);
}

static bool index_of(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, FML_SUCCESS, from->device->index);
}

static bool bus_id(const struct value *from, char *text, size_t size)
{
	return text_of(text, size, from->device->pci.busId);
}

static bool memory_total(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, from->device->memory_error,
			 smi_mib(from->device->memory.total));
}

static bool memory_used(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, from->device->memory_error,
			 smi_mib(from->device->memory.used));
}

static bool memory_free(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, from->device->memory_error, from->device->memory.free >> 20);
}

static bool gpu_usage(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, from->device->usage_error, from->device->usage.gpu);
}

static bool memory_usage(const struct value *from, char *text, size_t size)
{
	return number_of(text, size, from->device->usage_error, from->device->usage.memory) &&
	       from->device->usage.memory != FML_NOT_AVAILABLE;
}

static bool temperature(const struct value *from, char *text, size_t size)
{
	uint32_t value = 0;

	return number_of(text, size, ml.fmlDeviceGetTemperature(from->device->handle, 0, &value),
			 value);
}

static bool power(const struct value *from, char *text, size_t size)
{
	uint32_t value = 0;
	fmlResult error = ml.fmlDeviceGetPowerUsage(from->device->handle, &value);

	snprintf(text, size, "%.2f", value / 1000.0);
	return !error;
}

static const struct field known[] = {
	{"timestamp", "", SMI_IDENTITY, timestamp},
	{"driver_version", "", SMI_IDENTITY, driver_version},
	{"count", "", SMI_IDENTITY, count},
	{"name", "", SMI_IDENTITY, name},
	{"gpu_name", "", SMI_IDENTITY, name},
	{"uuid", "", SMI_IDENTITY, uuid},
	{"gpu_uuid", "", SMI_IDENTITY, uuid},
	{"index", "", SMI_IDENTITY, index_of},
	{"pci.bus_id", "", SMI_IDENTITY, bus_id},
	{"gpu_bus_id", "", SMI_IDENTITY, bus_id},
	{"memory.total", "MiB", SMI_MEMORY, memory_total},
	{"memory.used", "MiB", SMI_MEMORY, memory_used},
	{"memory.free", "MiB", SMI_MEMORY, memory_free},
	{"utilization.gpu", "%", SMI_USAGE, gpu_usage},
	{"utilization.memory", "%", SMI_USAGE, memory_usage},
	{"temperature.gpu", "", SMI_IDENTITY, temperature},
	{"power.draw", "W", SMI_IDENTITY, power},
};

static const struct field *chosen[FIELDS_MAX];
static size_t chosen_count;

static const struct field *find(const char *word)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, word))
			return &known[i];
	usage("field '%s' is not valid for --query-gpu; see --help-query-gpu", word);
}

unsigned int smi_query_parse(const char *fields)
{
	char *copy = strdup(fields), *word, *rest;
	unsigned int what = SMI_IDENTITY;

	if (!copy)
		abort();
	for (word = strtok_r(copy, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
		if (chosen_count == FIELDS_MAX)
			usage("--query-gpu takes %d fields at most", FIELDS_MAX);
		chosen[chosen_count] = find(word);
		what |= chosen[chosen_count++]->what;
	}
	free(copy);
	if (!chosen_count)
		usage("--query-gpu takes fields, such as name,memory.used");
	return what;
}

void smi_query_head(void)
{
	for (size_t i = 0; i < chosen_count; i++) {
		printf("%s%s", i ? ", " : "", chosen[i]->name);
		if (*chosen[i]->unit)
			printf(" [%s]", chosen[i]->unit);
	}
	putchar('\n');
}

void smi_query_row(const struct smi_system *system, const struct smi_device *device, bool units)
{
	struct value from = {.system = system, .device = device};
	char text[128];

	for (size_t i = 0; i < chosen_count; i++) {
		printf("%s", i ? ", " : "");
		if (!chosen[i]->write(&from, text, sizeof(text)))
			printf("[N/A]");
		else
			printf("%s%s%s", text, units && *chosen[i]->unit ? " " : "",
			       units ? chosen[i]->unit : "");
	}
	putchar('\n');
}

void smi_query_help(void)
{
	printf("fields of --query-gpu:\n");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		printf("  %-20s %s\n", known[i].name, known[i].unit);
}
