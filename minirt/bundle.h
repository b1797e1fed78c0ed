/* SPDX-License-Identifier: MIT */
/* Reading config.json, which is in bundle*.c. */
#ifndef MINIRT_BUNDLE_H
#define MINIRT_BUNDLE_H

#include <jansson.h>

#include "start.h"

/* The member @name, or NULL; of a path such as "linux.resources" with dots. */
const json_t *mr_json_at(const json_t *json, const char *path);
const char *mr_json_text(const json_t *json, const char *path);
int64_t mr_json_number(const json_t *json, const char *path, int64_t otherwise);
/* NULL-terminated copies of the texts of a list. */
char **mr_json_texts(const json_t *list);

/* bundle_limits.c: rlimits, and what is refused as it would silently be missing */
int mr_bundle_rlimits(struct mr_spec *spec, const json_t *list, struct mr_error *err);
int mr_bundle_refuse(const json_t *config, struct mr_error *err);
int mr_bundle_linux(struct mr_spec *spec, const json_t *config, struct mr_error *err);

#endif
