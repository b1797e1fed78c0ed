// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What error numbers mean: errno and Xid to CUDA's numbers, numbers to text. */
#include <errno.h>
#include "umd.h"

fcuResult fcu_from_errno(int error)
{
	switch (error) {
	case 0:
		return FCU_SUCCESS;
	case EINVAL:
		return FCU_ERROR_INVALID_VALUE;
	case EDQUOT:
	case ENOMEM:
	case ENOSPC: /* no channel left: the real driver calls that out of memory, too */
	case EOVERFLOW:
		return FCU_ERROR_OUT_OF_MEMORY;
	case ENOENT:
		return FCU_ERROR_INVALID_HANDLE;
	case ENODEV: /* fallen off the bus */
	case ENOSYS: /* the embedded device is gone: nobody answers its calls any more */
		return FCU_ERROR_LAUNCH_FAILED;
	case EIO: /* not poisoned, or we would know the Xid: firmware did not answer */
		return FCU_ERROR_UNKNOWN;
	default:
		return FCU_ERROR_OPERATING_SYSTEM;
	}
}

fcuResult fcu_from_xid(uint32_t xid)
{
	switch (xid) {
	case 13: /* graphics engine exception */
	case 31: /* MMU fault */
		return FCU_ERROR_ILLEGAL_ADDRESS;
	case 48: /* double-bit ECC */
	case 94: /* contained */
	case 95: /* uncontained */
	case 140:
		return FCU_ERROR_ECC_UNCORRECTABLE;
	case 8: /* idle timeout */
		return FCU_ERROR_LAUNCH_TIMEOUT;
	default:
		return FCU_ERROR_LAUNCH_FAILED;
	}
}

#define FCU_NAME_CASE(number, driver, runtime, text)                                               \
	case number:                                                                               \
		*name = number ? "CUDA_ERROR_" #driver : "CUDA_SUCCESS";                           \
		return FCU_SUCCESS;

fcuResult fcuGetErrorName(fcuResult result, const char **name)
{
	if (!name)
		return FCU_ERROR_INVALID_VALUE;
	switch ((int)result) {
		FAKECUDA_ERRORS(FCU_NAME_CASE)
	}
	*name = NULL;
	return FCU_ERROR_INVALID_VALUE;
}

#define FCU_TEXT_CASE(number, driver, runtime, words)                                              \
	case number:                                                                               \
		*text = words;                                                                     \
		return FCU_SUCCESS;

fcuResult fcuGetErrorString(fcuResult result, const char **text)
{
	if (!text)
		return FCU_ERROR_INVALID_VALUE;
	switch ((int)result) {
		FAKECUDA_ERRORS(FCU_TEXT_CASE)
	}
	*text = NULL;
	return FCU_ERROR_INVALID_VALUE;
}
