// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Finding the management library: LD_LIBRARY_PATH, then beside this program, then the system. */
#include <dlfcn.h>
#include "smi.h"

#define LIBRARY "libfakeml.so.1"

struct smi_library ml;

#define SMI_TARGET(name) {#name, (void **)&ml.name},
static const struct import {
	const char *name;
	void **target;
} imports[] = {SMI_IMPORTS(SMI_TARGET)};

fmlResult smi_load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return FML_ERROR_LIBRARY_NOT_FOUND;
	for (size_t i = 0; i < sizeof(imports) / sizeof(*imports); i++) {
		*imports[i].target = dlsym(library, imports[i].name);
		if (!*imports[i].target)
			return FML_ERROR_FUNCTION_NOT_FOUND;
	}
	return FML_SUCCESS;
}
