/* SPDX-License-Identifier: MIT */
/*
 * The Container Device Interface in minirt and its hook: specifications read
 * from directories, and their edits put into the specification of a container.
 */
#ifndef MINIRT_CDI_H
#define MINIRT_CDI_H

#include <jansson.h>

#include "minirt.h"

#define CDI_KIND "glassstack.dev/gpu"
#define CDI_HOOK "fakegpu-hook"

/**
 * struct cdi_device - a device of a specification
 * @name: in full, VENDOR/CLASS=NAME
 * @file: the specification it is from
 * @rank: of its directory; the higher wins
 * @contested: another file of that directory claims the name
 * @edits, @shared: its own, and those of every device of the file; held by @document
 */
struct cdi_device {
	char *name;
	char *file;
	unsigned int rank;
	bool contested;
	json_t *edits;
	json_t *shared;
	json_t *document;
};

/**
 * struct cdi - all devices that a machine's specifications describe
 * @faults: a line for each file that was left out
 */
struct cdi {
	MR_LIST(struct cdi_device) devices;
	MR_LIST(char *) faults;
};

/* cdi_check.c. NULL when the document is a specification; else what is wrong, to be freed. */
char *cdi_check(const json_t *document);

/* cdi_load.c. Directories with colons between; NULL: MINIRT_CDI_DIRS or /etc/cdi:/var/run/cdi. */
void cdi_load(struct cdi *cdi, const char *directories);
/* The device of a full name, or NULL and mr_fail(). */
const struct cdi_device *cdi_find(const struct cdi *cdi, const char *name, struct mr_error *err);
void cdi_free(struct cdi *cdi);

/*
 * cdi_edit.c: the edits of devices into a specification, in their order, those
 * of a file once; with @shared_only no device's own.
 */
int cdi_edit(struct mr_spec *spec, const struct cdi_device *const *devices, size_t count,
	     bool shared_only, struct mr_error *err);

/* cdi_holder.c: the folder for it, made; and there a file for each fakegpu node that the host has not */
char *cdi_holders(struct mr_error *err);
int cdi_place_holders(struct mr_spec *spec, const char *folder, struct mr_error *err);

/* cdi_visible.c: FAKEGPU_VISIBLE_DEVICES */

#define CDI_VISIBLE "FAKEGPU_VISIBLE_DEVICES"

/**
 * struct cdi_wish - what a container asks its hook for
 * @driver: the libraries and the nodes that every program needs
 * @names: of GPUs, in full
 */
struct cdi_wish {
	bool driver;
	MR_LIST(char *) names;
};

void cdi_wish(struct cdi_wish *wish, const char *value);
/* What a wish brings, put into @spec. */
int cdi_grant(struct mr_spec *spec, const struct cdi *cdi, const struct cdi_wish *wish,
	      struct mr_error *err);

#endif
