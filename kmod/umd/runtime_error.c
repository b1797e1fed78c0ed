// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The thread's last error, and names and texts of all of them. */
#include "runtime.h"

static __thread fcudaError_t last_error;

fcudaError_t fcudart_return(int result)
{
	if (result && result != fcudaErrorNotReady)
		last_error = (fcudaError_t)result;
	return (fcudaError_t)result;
}

fcudaError_t fcudaGetLastError(void)
{
	fcudaError_t error = last_error;

	last_error = fcudaSuccess;
	return error;
}

fcudaError_t fcudaPeekAtLastError(void)
{
	return last_error;
}

#define NAME_CASE(number, driver, runtime, text)                                                   \
	case number:                                                                               \
		return "cuda" #runtime;

const char *fcudaGetErrorName(fcudaError_t error)
{
	switch ((int)error) {
		FAKECUDA_ERRORS(NAME_CASE)
	}
	return "unrecognized error code";
}

#define TEXT_CASE(number, driver, runtime, text)                                                   \
	case number:                                                                               \
		return text;

const char *fcudaGetErrorString(fcudaError_t error)
{
	switch ((int)error) {
		FAKECUDA_ERRORS(TEXT_CASE)
	}
	return "unrecognized error code";
}
