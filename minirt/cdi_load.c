// SPDX-License-Identifier: MIT
/*
 * The CDI specifications of a machine. A later directory wins over an earlier
 * one; two files of one directory that claim a name make that name unusable,
 * and no other. A bad file is left out and told of.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cdi.h"
#include "start.h"

#define DIRECTORIES "/etc/cdi:/var/run/cdi"

static void leave_out(struct cdi *cdi, const char *file, const char *why)
{
	*mr_list_add(&cdi->faults) = mr_text("%s: %s", file, why);
}

static struct cdi_device *find(const struct cdi *cdi, const char *name)
{
	size_t i;

	for (i = 0; i < cdi->devices.count; i++)
		if (!strcmp(cdi->devices.items[i].name, name))
			return &cdi->devices.items[i];
	return NULL;
}

/* Takes over @fresh. */
static void add(struct cdi *cdi, struct cdi_device fresh)
{
	struct cdi_device *known = find(cdi, fresh.name);

	if (known && known->rank == fresh.rank) {
		known->contested = true;
		free(fresh.name);
		free(fresh.file);
		json_decref(fresh.document);
		return;
	}
	if (known) {
		free(known->name);
		free(known->file);
		json_decref(known->document);
	} else {
		known = mr_list_add(&cdi->devices);
	}
	*known = fresh;
}

static void add_all(struct cdi *cdi, json_t *document, const char *file, unsigned int rank)
{
	const char *kind = json_string_value(json_object_get(document, "kind"));
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(document, "devices"), i, device) {
		const char *name = json_string_value(json_object_get(device, "name"));

		add(cdi, (struct cdi_device){
				 .name = mr_text("%s=%s", kind, name),
				 .file = mr_copy(file),
				 .rank = rank,
				 .edits = json_object_get(device, "containerEdits"),
				 .shared = json_object_get(document, "containerEdits"),
				 .document = json_incref(document),
			 });
	}
}

static void load_file(struct cdi *cdi, const char *file, unsigned int rank)
{
	json_error_t error;
	MR_FD fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	json_t *document = fd < 0 ? NULL : json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
	char *wrong;

	if (!document) {
		leave_out(cdi, file, fd < 0 ? strerror(errno) : error.text);
		return;
	}
	wrong = cdi_check(document);
	if (wrong)
		leave_out(cdi, file, wrong);
	else
		add_all(cdi, document, file, rank);
	free(wrong);
	json_decref(document);
}

static int is_specification(const struct dirent *entry)
{
	const char *suffix = strrchr(entry->d_name, '.');

	return suffix &&
	       (!strcmp(suffix, ".json") || !strcmp(suffix, ".yaml") || !strcmp(suffix, ".yml"));
}

static void load_directory(struct cdi *cdi, const char *directory, unsigned int rank)
{
	struct dirent **entries;
	int i, count = scandir(directory, &entries, is_specification, alphasort);

	for (i = 0; i < count; i++) {
		char *file = mr_text("%s/%s", directory, entries[i]->d_name);

		if (!strcmp(strrchr(file, '.'), ".json"))
			load_file(cdi, file, rank);
		else
			leave_out(cdi, file, "YAML is not read here; write it as JSON");
		free(file);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

void cdi_load(struct cdi *cdi, const char *directories)
{
	const char *named = directories ? directories : getenv("MINIRT_CDI_DIRS");
	char *copy = mr_copy(named ? named : DIRECTORIES), *rest = copy, *directory;
	unsigned int rank = 0;

	*cdi = (struct cdi){0};
	while ((directory = strsep(&rest, ":")))
		if (*directory)
			load_directory(cdi, directory, rank++);
	free(copy);
}

const struct cdi_device *cdi_find(const struct cdi *cdi, const char *name, struct mr_error *err)
{
	const struct cdi_device *device = find(cdi, name);

	if (!device && cdi->faults.count)
		mr_fail(err, ENODEV, "unresolvable CDI device %s; left out: %s", name,
			cdi->faults.items[0]);
	else if (!device)
		mr_fail(err, ENODEV, "unresolvable CDI device %s; see: glassstack cdi list", name);
	else if (device->contested)
		mr_fail(err, EEXIST, "%s is claimed by %s and another file beside it; remove one",
			name, device->file);
	return device && !device->contested ? device : NULL;
}

void cdi_free(struct cdi *cdi)
{
	size_t i;

	for (i = 0; i < cdi->devices.count; i++) {
		free(cdi->devices.items[i].name);
		free(cdi->devices.items[i].file);
		json_decref(cdi->devices.items[i].document);
	}
	for (i = 0; i < cdi->faults.count; i++)
		free(cdi->faults.items[i]);
	free(cdi->devices.items);
	free(cdi->faults.items);
	*cdi = (struct cdi){0};
}
