// SPDX-License-Identifier: MIT
/*
 * Whether a decoded document may be used as a CDI specification. A table of
 * the members there are; what is not in it is refused, as the reference
 * implementation does.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdi.h"
#include "start.h"

enum form { TEXT, PATH, NUMBER, FLAG, TEXTS, ENVS, NUMBERS, MAP, OBJECT, OBJECTS };

/**
 * struct member - a member of an object
 * @since: index in versions[] of the first version that has it
 * @inner: the members of what it holds, for OBJECT and OBJECTS
 * @allowed: which texts it may be, NULL for any
 */
struct member {
	const char *name;
	enum form form;
	bool required;
	unsigned int since;
	const struct member *inner;
	bool (*allowed)(const char *text);
};

static const char *const versions[] = {"0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0",
				       "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
#define VERSIONS (sizeof(versions) / sizeof(*versions))
enum { V040 = 3, V050, V060, V070, V110 = 9 };

/* A letter (or, for a device, a digit), then letters, digits and @more; no sign at the end. */
static bool is_name(const char *text, size_t length, const char *more, bool digit_first)
{
	size_t i;

	if (!length ||
	    !(isalpha((unsigned char)text[0]) || (digit_first && isdigit((unsigned char)text[0]))))
		return false;
	for (i = 1; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(more, text[i]))
			return false;
	return isalnum((unsigned char)text[length - 1]);
}

static bool is_kind(const char *text)
{
	size_t vendor = strcspn(text, "/");

	return text[vendor] && is_name(text, vendor, "_-.", false) &&
	       is_name(text + vendor + 1, strlen(text + vendor + 1), "_-.", false);
}

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
	while (count--)
		if (!strcmp(text, list[count]))
			return true;
	return false;
}

static bool is_point(const char *text)
{
	static const char *const points[] = {"prestart",       "createRuntime", "createContainer",
					     "startContainer", "poststart",	"poststop"};

	return is_one_of(text, points, sizeof(points) / sizeof(*points));
}

static bool is_node_type(const char *text)
{
	static const char *const types[] = {"", "b", "c", "u", "p"};

	return is_one_of(text, types, sizeof(types) / sizeof(*types));
}

static bool is_access(const char *text)
{
	return !strcmp(text, "none") || !text[strspn(text, "rwm")];
}

static const struct member node_members[] = {
	{"path", PATH, true, 0, NULL, NULL},
	{"hostPath", PATH, false, V050, NULL, NULL},
	{"type", TEXT, false, 0, NULL, is_node_type},
	{"major", NUMBER, false, 0, NULL, NULL},
	{"minor", NUMBER, false, 0, NULL, NULL},
	{"fileMode", NUMBER, false, 0, NULL, NULL},
	{"permissions", TEXT, false, 0, NULL, is_access},
	{"uid", NUMBER, false, 0, NULL, NULL},
	{"gid", NUMBER, false, 0, NULL, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member net_members[] = {
	{"hostInterfaceName", TEXT, true, 0, NULL, NULL},
	{"name", TEXT, true, 0, NULL, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member mount_members[] = {
	{"hostPath", TEXT, true, 0, NULL, NULL}, {"containerPath", PATH, true, 0, NULL, NULL},
	{"type", TEXT, false, V040, NULL, NULL}, {"options", TEXTS, false, 0, NULL, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member hook_members[] = {
	{"hookName", TEXT, true, 0, NULL, is_point}, {"path", PATH, true, 0, NULL, NULL},
	{"args", TEXTS, false, 0, NULL, NULL},	     {"env", ENVS, false, 0, NULL, NULL},
	{"timeout", NUMBER, false, 0, NULL, NULL},   {NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member rdt_members[] = {
	{"closID", TEXT, false, 0, NULL, NULL},
	{"l3CacheSchema", TEXT, false, 0, NULL, NULL},
	{"memBwSchema", TEXT, false, 0, NULL, NULL},
	{"schemata", TEXTS, false, V110, NULL, NULL},
	{"enableMonitoring", FLAG, false, V110, NULL, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member edit_members[] = {
	{"env", ENVS, false, 0, NULL, NULL},
	{"deviceNodes", OBJECTS, false, 0, node_members, NULL},
	{"netDevices", OBJECTS, false, V110, net_members, NULL},
	{"hooks", OBJECTS, false, 0, hook_members, NULL},
	{"mounts", OBJECTS, false, 0, mount_members, NULL},
	{"intelRdt", OBJECT, false, V070, rdt_members, NULL},
	{"additionalGids", NUMBERS, false, V070, NULL, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member device_members[] = {
	{"name", TEXT, true, 0, NULL, NULL},
	{"annotations", MAP, false, V060, NULL, NULL},
	{"containerEdits", OBJECT, true, 0, edit_members, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};
static const struct member spec_members[] = {
	{"cdiVersion", TEXT, true, 0, NULL, NULL},
	{"kind", TEXT, true, 0, NULL, is_kind},
	{"annotations", MAP, false, V060, NULL, NULL},
	{"devices", OBJECTS, true, 0, device_members, NULL},
	{"containerEdits", OBJECT, false, 0, edit_members, NULL},
	{NULL, TEXT, false, 0, NULL, NULL},
};

static bool all_are(const json_t *list, bool (*good)(const json_t *one))
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!good(one))
			return false;
	return json_is_array(list);
}

static bool is_text(const json_t *value)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

static bool is_env(const json_t *value)
{
	const char *equals = is_text(value) ? strchr(json_string_value(value), '=') : NULL;

	return equals && equals != json_string_value(value);
}

static bool is_number(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= -1;
}

static bool has_form(const struct member *member, const json_t *value)
{
	switch (member->form) {
	case TEXT:
		return is_text(value) && (!member->required || *json_string_value(value));
	case PATH:
		return is_text(value) && (*json_string_value(value) == '/' ||
					  (!member->required && !*json_string_value(value)));
	case NUMBER:
		return is_number(value);
	case FLAG:
		return json_is_boolean(value);
	case TEXTS:
		return all_are(value, is_text);
	case ENVS:
		return all_are(value, is_env);
	case NUMBERS:
		return all_are(value, is_number);
	case OBJECTS:
		return json_is_array(value) && (!member->required || json_array_size(value));
	default:
		return json_is_object(value);
	}
}

/* Or holds nothing but what is empty. */
static bool is_empty(const json_t *value)
{
	const char *key;
	json_t *inner;

	json_object_foreach ((json_t *)value, key, inner)
		if (!is_empty(inner))
			return false;
	return (json_is_string(value) && !*json_string_value(value)) || json_is_false(value) ||
	       json_is_object(value) || (json_is_array(value) && !json_array_size(value));
}

static char *check_object(const struct member *members, const json_t *object, const char *where,
			  unsigned int *needed);

static char *check_members(const struct member *inner, const json_t *value, const char *where,
			   unsigned int *needed)
{
	const json_t *one;
	char *wrong = NULL, *place;
	size_t i;

	if (json_is_object(value))
		return check_object(inner, value, where, needed);
	json_array_foreach (value, i, one) {
		place = mr_text("%s[%zu]", where, i);
		wrong = check_object(inner, one, place, needed);
		free(place);
		if (wrong)
			break;
	}
	return wrong;
}

static char *check_member(const struct member *member, const json_t *value, const char *where,
			  unsigned int *needed)
{
	char *wrong, *place = mr_text("%s%s%s", where, *where ? "." : "", member->name);

	if (!has_form(member, value) ||
	    (member->allowed && !member->allowed(json_string_value(value)))) {
		wrong = mr_text("%s is not what it must be", place);
		free(place);
		return wrong;
	}
	if (member->required && is_empty(value)) {
		wrong = mr_text("%s is empty", place);
		free(place);
		return wrong;
	}
	if (member->since > *needed && !is_empty(value))
		*needed = member->since;
	wrong = member->inner ? check_members(member->inner, value, place, needed) : NULL;
	free(place);
	return wrong;
}

static char *check_object(const struct member *members, const json_t *object, const char *where,
			  unsigned int *needed)
{
	const struct member *member;
	const char *key;
	json_t *value;
	char *wrong;

	if (!json_is_object(object))
		return mr_text("%s is no object", where);
	json_object_foreach ((json_t *)object, key, value) {
		for (member = members; member->name && strcmp(member->name, key); member++)
			;
		if (!member->name)
			return mr_text("%s%s%s: there is no such member", where, *where ? "." : "",
				       key);
		wrong = check_member(member, value, where, needed);
		if (wrong)
			return wrong;
	}
	for (member = members; member->name; member++)
		if (member->required && !json_object_get(object, member->name))
			return mr_text("%s%s%s is missing", where, *where ? "." : "", member->name);
	return NULL;
}

static char *check_names(const json_t *document, unsigned int *needed)
{
	const char *kind = json_string_value(json_object_get(document, "kind")), *name;
	const json_t *devices = json_object_get(document, "devices"), *one;
	json_t *seen = json_object();
	char *wrong = NULL;
	size_t i;

	if (strchr(strchr(kind, '/'), '.') && *needed < V060)
		*needed = V060;
	json_array_foreach (devices, i, one) {
		name = json_string_value(json_object_get(one, "name"));
		if (!wrong && !is_name(name, strlen(name), "_-.:", true))
			wrong = mr_text("devices[%zu].name: '%s' is not allowed", i, name);
		if (!wrong && json_object_get(seen, name))
			wrong = mr_text("devices[%zu].name: a second device '%s'", i, name);
		if (isdigit((unsigned char)*name) && *needed < V050)
			*needed = V050;
		json_object_set_new(seen, name, json_true());
	}
	json_decref(seen);
	return wrong;
}

char *cdi_check(const json_t *document)
{
	unsigned int needed = 0, said;
	const char *version;
	char *wrong = check_object(spec_members, document, "", &needed);

	if (!wrong)
		wrong = check_names(document, &needed);
	if (wrong)
		return wrong;
	version = json_string_value(json_object_get(document, "cdiVersion"));
	version += *version == 'v';
	for (said = 0; said < VERSIONS && strcmp(versions[said], version); said++)
		;
	if (said == VERSIONS)
		return mr_text("cdiVersion: '%s' is no version of CDI", version);
	if (said < needed)
		return mr_text("cdiVersion: %s has not all that is used; write %s or newer",
			       version, versions[needed]);
	return NULL;
}
