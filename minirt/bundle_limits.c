// SPDX-License-Identifier: MIT
/* Resource limits of config.json, and what of it is refused. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>

#include "bundle.h"

static const struct {
	const char *name;
	int resource;
} resources[] = {
	{"RLIMIT_AS", RLIMIT_AS},
	{"RLIMIT_CORE", RLIMIT_CORE},
	{"RLIMIT_CPU", RLIMIT_CPU},
	{"RLIMIT_DATA", RLIMIT_DATA},
	{"RLIMIT_FSIZE", RLIMIT_FSIZE},
	{"RLIMIT_LOCKS", RLIMIT_LOCKS},
	{"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK},
	{"RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE},
	{"RLIMIT_NICE", RLIMIT_NICE},
	{"RLIMIT_NOFILE", RLIMIT_NOFILE},
	{"RLIMIT_NPROC", RLIMIT_NPROC},
	{"RLIMIT_RSS", RLIMIT_RSS},
	{"RLIMIT_RTPRIO", RLIMIT_RTPRIO},
	{"RLIMIT_RTTIME", RLIMIT_RTTIME},
	{"RLIMIT_SIGPENDING", RLIMIT_SIGPENDING},
	{"RLIMIT_STACK", RLIMIT_STACK},
};

/* Members whose absence would make the container another than the one described. */
static const char *const refused[] = {
	"process.user.additionalGids",
	"process.apparmorProfile",
	"process.selinuxLabel",
	"linux.sysctl",
	"linux.rootfsPropagation",
	"linux.mountLabel",
	"linux.personality",
	"linux.timeOffsets",
	"linux.intelRdt",
};

static int add(struct mr_spec *spec, const json_t *json, struct mr_error *err)
{
	const char *type = mr_json_text(json, "type");
	size_t i;

	for (i = 0; type && i < sizeof(resources) / sizeof(*resources); i++) {
		if (strcmp(resources[i].name, type))
			continue;
		*mr_list_add(&spec->rlimits) = (struct mr_rlimit){
			.resource = resources[i].resource,
			.soft = (uint64_t)mr_json_number(json, "soft", -1),
			.hard = (uint64_t)mr_json_number(json, "hard", -1),
		};
		return 0;
	}
	return mr_usage(err, "config.json: no such resource limit: %s", type ? type : "?");
}

int mr_bundle_rlimits(struct mr_spec *spec, const json_t *list, struct mr_error *err)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (add(spec, one, err))
			return -1;
	return 0;
}

/* Given, and not in a form that asks for nothing. */
static bool asks(const json_t *value)
{
	if (json_is_string(value))
		return *json_string_value(value);
	if (json_is_array(value))
		return json_array_size(value);
	if (json_is_object(value))
		return json_object_size(value);
	return value && !json_is_null(value);
}

int mr_bundle_refuse(const json_t *config, struct mr_error *err)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (asks(mr_json_at(config, refused[i])))
			return mr_usage(err, "config.json: %s is not offered; take it out",
					refused[i]);
	return 0;
}
