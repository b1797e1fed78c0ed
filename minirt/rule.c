// SPDX-License-Identifier: MIT
/* One line of the device list as text: "allow c 240:0 rwm". Pure. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"

static bool number(const char *text, int64_t *value)
{
	char *end;

	if (!strcmp(text, "*")) {
		*value = -1;
		return true;
	}
	*value = (int64_t)strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *value <= UINT32_MAX;
}

int mr_access_parse(const char *text, unsigned int *access)
{
	*access = 0;
	for (; *text; text++) {
		if (*text == 'r')
			*access |= MR_READ;
		else if (*text == 'w')
			*access |= MR_WRITE;
		else if (*text == 'm')
			*access |= MR_MKNOD;
		else
			return -1;
	}
	return *access ? 0 : -1;
}

int mr_rule_parse(const char *text, struct mr_rule *rule, struct mr_error *err)
{
	char verdict[8], type[2], major[16], minor[16], access[8], more;

	if (text &&
	    sscanf(text, "%7s %1[abc] %15[0-9*]:%15[0-9*] %7s %c", verdict, type, major, minor,
		   access, &more) == 5 &&
	    (!strcmp(verdict, "allow") || !strcmp(verdict, "deny"))) {
		rule->allow = *verdict == 'a';
		rule->type = *type;
		if (number(major, &rule->major) && number(minor, &rule->minor) &&
		    !mr_access_parse(access, &rule->access))
			return 0;
	}
	return mr_usage(err, "a device rule is \"allow|deny a|b|c MAJOR:MINOR rwm\", not: %s",
			text ? text : "");
}

static void put_number(char *text, size_t size, int64_t value)
{
	if (value < 0)
		snprintf(text, size, "*");
	else
		snprintf(text, size, "%" PRId64, value);
}

char *mr_rule_text(const struct mr_rule *rule)
{
	char major[24], minor[24];

	put_number(major, sizeof(major), rule->major);
	put_number(minor, sizeof(minor), rule->minor);
	return mr_text("%s %c %s:%s %s%s%s", rule->allow ? "allow" : "deny", rule->type, major,
		       minor, rule->access & MR_READ ? "r" : "", rule->access & MR_WRITE ? "w" : "",
		       rule->access & MR_MKNOD ? "m" : "");
}
