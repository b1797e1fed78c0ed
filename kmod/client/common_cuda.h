/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Checking runtime calls, as CUDA's samples do, with exit codes of this lab. */
#ifndef FAKEGPU_COMMON_CUDA_H
#define FAKEGPU_COMMON_CUDA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../umd/fakecudart.h"
#include "common.h"

/* Errors that say the stack is not fit to run anything, rather than that something ran badly. */
static inline int cuda_exit_code(fcudaError_t error)
{
	switch ((int)error) {
	case fcudaErrorInsufficientDriver:
	case fcudaErrorNoDevice:
	case fcudaErrorSystemNotReady:
	case fcudaErrorSystemDriverMismatch:
	case fcudaErrorCompatNotSupportedOnDevice:
		return EXIT_MISSING;
	default:
		return EXIT_FAILED;
	}
}

#define CUDA_CHECK(call)                                                                           \
	do {                                                                                       \
		fcudaError_t error_ = (call);                                                      \
		if (error_) {                                                                      \
			fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\": %s\n",            \
				strrchr("/" __FILE__, '/') + 1, __LINE__, (int)error_,             \
				fcudaGetErrorName(error_), #call, fcudaGetErrorString(error_));    \
			exit(cuda_exit_code(error_));                                              \
		}                                                                                  \
	} while (0)

#endif
