// SPDX-License-Identifier: MIT
/*
 * FAKEGPU_VISIBLE_DEVICES, with the meanings of NVIDIA_VISIBLE_DEVICES: what a
 * container asks its hook for. A wish, no isolation: nodes and the device list
 * alone say what it may open.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cdi.h"
#include "start.h"

void cdi_wish(struct cdi_wish *wish, const char *value)
{
	char *copy = mr_copy(value ? value : ""), *rest = copy, *word;

	*wish = (struct cdi_wish){0};
	while ((word = strsep(&rest, ", "))) {
		if (!*word || !strcmp(word, "void"))
			continue;
		wish->driver = true;
		if (strcmp(word, "none"))
			*mr_list_add(&wish->names) = mr_text(CDI_KIND "=%s", word);
	}
	free(copy);
}

int cdi_grant(struct mr_spec *spec, const struct cdi *cdi, const struct cdi_wish *wish,
	      struct mr_error *err)
{
	const struct cdi_device **devices = NULL;
	size_t i, count = 0;
	int ret;

	if (!wish->driver)
		return 0;
	for (i = 0; i < wish->names.count; i++) {
		devices = mr_grow(devices, &count, sizeof(*devices));
		devices[i] = cdi_find(cdi, wish->names.items[i], err);
		if (!devices[i]) {
			free(devices);
			return -1;
		}
	}
	if (!count) { /* "none": what every device has */
		devices = mr_grow(devices, &count, sizeof(*devices));
		devices[0] = cdi_find(cdi, CDI_KIND "=all", err);
		if (!devices[0]) {
			free(devices);
			return -1;
		}
	}
	ret = cdi_edit(spec, devices, count, !wish->names.count, err);
	free(devices);
	return ret;
}
