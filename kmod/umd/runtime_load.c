// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Finding the driver. LD_LIBRARY_PATH comes before this library's own folder
 * ($ORIGIN) and the system's: whatever injection put there is what is used.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include "runtime.h"
#include "versions.h"

#define UMD "libfakecuda.so.1"

struct fcudart_driver fcudart_driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int loaded, initialised;

#define IMPORT_TARGET(name) {#name, (void **)&fcudart_driver.name},
static const struct import {
	const char *name;
	void **target;
} imports[] = {FCUDART_IMPORTS(IMPORT_TARGET)};

static fcudaError_t load_locked(void)
{
	void *umd = dlopen(UMD, RTLD_NOW | RTLD_LOCAL);

	if (!umd)
		return fcudaErrorInsufficientDriver;
	for (size_t i = 0; i < sizeof(imports) / sizeof(*imports); i++) {
		*imports[i].target = dlsym(umd, imports[i].name);
		if (!*imports[i].target) { /* too old a driver to know it */
			dlclose(umd);
			return fcudaErrorInsufficientDriver;
		}
	}
	return fcudaSuccess;
}

/* Failures are not remembered: a driver may be installed meanwhile. */
static fcudaError_t load(void)
{
	fcudaError_t error = fcudaSuccess;

	if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE))
		return fcudaSuccess;
	pthread_mutex_lock(&lock);
	if (!loaded)
		error = load_locked();
	if (!error)
		__atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return error;
}

fcudaError_t fcudart_init(void)
{
	fcudaError_t error = fcudaSuccess;

	if (__atomic_load_n(&initialised, __ATOMIC_ACQUIRE))
		return fcudaSuccess;
	error = load();
	if (error)
		return error;
	if (!fakecuda_runs_on(fakecuda_number(FAKECUDART_VERSION),
			      fcudart_driver.fcuDriverGetVersionString()))
		return fcudaErrorInsufficientDriver;
	error = (fcudaError_t)fcudart_driver.fcuInit(0);
	if (!error)
		__atomic_store_n(&initialised, 1, __ATOMIC_RELEASE);
	return error;
}

fcudaError_t fcudaRuntimeGetVersion(int *version)
{
	if (!version)
		return fcudart_return(fcudaErrorInvalidValue);
	*version = fakecuda_number(FAKECUDART_VERSION);
	return fcudaSuccess;
}

fcudaError_t fcudaDriverGetVersion(int *version)
{
	if (!version)
		return fcudart_return(fcudaErrorInvalidValue);
	*version = 0;
	if (load())
		return fcudaSuccess;
	return fcudart_return(fcudart_driver.fcuDriverGetVersion(version));
}
