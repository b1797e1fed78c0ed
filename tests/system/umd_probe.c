// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Drives the UMD through its own API, for test_umd_api.py: one case per run,
 * prints what each call returned and exits 0 when the case holds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fakecuda.h"

#define WANT(expected, call)                                                                       \
	do {                                                                                       \
		fcuResult result_ = (call);                                                        \
		if (result_ != (expected)) {                                                       \
			printf("%s = %d, want %d\n", #call, result_, expected);                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define OK(call) WANT(FCU_SUCCESS, call)

static fcuContext context;

static void start(void)
{
	OK(fcuInit(0));
	OK(fcuCtxCreate(&context, FCU_CTX_SUBMIT_AUTO, 0));
}

static void fill(fcuDevicePtr to, uint32_t value, uint32_t words, fcuStream stream)
{
	void *params[] = {&to, &value, &words};

	OK(fcuLaunchKernel("fill", words, 1, params, stream));
}

static void arguments(void)
{
	fcuDevice device;
	fcuDevicePtr pointer;
	fcuStream stream;
	uint32_t word = 0;
	uint64_t none = 0;
	void *params[] = {&none};
	int count;

	WANT(FCU_ERROR_NOT_INITIALIZED, fcuDeviceGetCount(&count));
	WANT(FCU_ERROR_INVALID_CONTEXT, fcuMemAlloc(&pointer, 4));
	WANT(FCU_ERROR_INVALID_VALUE, fcuInit(1));
	OK(fcuInit(0));
	OK(fcuDeviceGetCount(&count));
	WANT(FCU_ERROR_INVALID_DEVICE, fcuDeviceGet(&device, count));
	WANT(FCU_ERROR_INVALID_DEVICE, fcuCtxCreate(&context, 0, -1));
	WANT(FCU_ERROR_INVALID_VALUE, fcuCtxCreate(&context, 8, 0));
	start();
	WANT(FCU_ERROR_INVALID_VALUE, fcuMemAlloc(&pointer, 0));
	WANT(FCU_ERROR_OUT_OF_MEMORY, fcuMemAlloc(&pointer, (size_t)1 << 39));
	WANT(FCU_ERROR_OUT_OF_MEMORY, fcuMemAlloc(&pointer, SIZE_MAX));
	OK(fcuMemAlloc(&pointer, 8));
	WANT(FCU_ERROR_INVALID_VALUE, fcuMemcpyDtoH(&word, pointer + 5, 4));
	WANT(FCU_ERROR_INVALID_VALUE, fcuMemcpyHtoD(pointer, NULL, 4));
	WANT(FCU_ERROR_INVALID_VALUE, fcuMemFree(pointer + 4));
	WANT(FCU_ERROR_NOT_FOUND, fcuLaunchKernel("nothing", 1, 1, params, NULL));
	WANT(FCU_ERROR_INVALID_VALUE, fcuLaunchKernel("delay", 0, 1, params, NULL));
	WANT(FCU_ERROR_INVALID_VALUE, fcuStreamCreate(&stream, 1));
	OK(fcuStreamQuery(NULL));
	OK(fcuMemFree(pointer));
	WANT(FCU_ERROR_INVALID_VALUE, fcuMemFree(pointer));
	OK(fcuCtxDestroy(context));
	WANT(FCU_ERROR_INVALID_CONTEXT, fcuCtxSynchronize());
}

static void memory(void)
{
	uint32_t host[1024], back[1024];
	fcuDevicePtr a, b;

	start();
	OK(fcuMemAlloc(&a, sizeof(host)));
	OK(fcuMemAlloc(&b, sizeof(host)));
	for (uint32_t i = 0; i < 1024; i++)
		host[i] = i * i;
	OK(fcuMemcpyHtoD(a, host, sizeof(host)));
	OK(fcuMemsetD32(b, 7, 1024));
	OK(fcuMemcpyDtoD(b + 400, a + 400, 400));
	OK(fcuMemcpyDtoH(back, b, sizeof(back)));
	for (uint32_t i = 0; i < 1024; i++) {
		uint32_t want = i >= 100 && i < 200 ? i * i : 7;

		if (back[i] != want) {
			printf("word %u is %u, want %u\n", i, back[i], want);
			exit(1);
		}
	}
	OK(fcuMemFree(a));
	OK(fcuMemFree(b));
	OK(fcuCtxDestroy(context));
}

/* A fault shows at the next synchronisation and stays; a new context is well. */
static void fault(uint32_t xid, fcuResult want)
{
	void *params[] = {&xid};
	uint32_t words = 1;
	fcuDevicePtr pointer;

	start();
	OK(fcuLaunchKernel("fault", 1, 1, params, NULL));
	WANT(want, fcuCtxSynchronize());
	WANT(want, fcuMemAlloc(&pointer, 4));
	WANT(want, fcuStreamQuery(NULL));
	OK(fcuCtxDestroy(context));
	start();
	OK(fcuMemAlloc(&pointer, 4));
	fill(pointer, 1, words, NULL);
	OK(fcuCtxSynchronize());
}

/* Past the end of an allocation: what an MMU finds, not the API. */
static void overrun(void)
{
	fcuDevicePtr pointer;

	start();
	OK(fcuMemAlloc(&pointer, 4096));
	fill(pointer + 4092, 1, 2, NULL);
	WANT(FCU_ERROR_ILLEGAL_ADDRESS, fcuCtxSynchronize());
}

static void query(void)
{
	uint64_t ns = 50000000;
	void *params[] = {&ns};
	fcuStream stream;

	start();
	OK(fcuStreamCreate(&stream, 0));
	OK(fcuLaunchKernel("delay", 1, 1, params, stream));
	WANT(FCU_ERROR_NOT_READY, fcuStreamQuery(stream));
	OK(fcuStreamQuery(NULL));
	OK(fcuStreamSynchronize(stream));
	OK(fcuStreamQuery(stream));
	OK(fcuStreamDestroy(stream));
	OK(fcuCtxDestroy(context));
}

#define THREADS 4
#define LAUNCHES 5000
static fcuDevicePtr words;
static fcuStream shared;

static void *hammer(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	fcuStream own;

	OK(fcuCtxSetCurrent(context));
	OK(fcuStreamCreate(&own, 0));
	for (uint32_t i = 1; i <= LAUNCHES; i++) {
		fill(words + 8 * me, i, 1, shared);
		fill(words + 8 * me + 4, i, 1, own);
		if (i % 1000 == 0)
			OK(fcuStreamSynchronize(i % 2000 ? shared : own));
	}
	OK(fcuStreamDestroy(own));
	return NULL;
}

/* Threads share one ring and have one each; both go round many times. */
static void threads(void)
{
	pthread_t thread[THREADS];
	uint32_t back[2 * THREADS];

	start();
	OK(fcuMemAlloc(&words, sizeof(back)));
	OK(fcuStreamCreate(&shared, 0));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, hammer, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	OK(fcuMemcpyDtoH(back, words, sizeof(back)));
	for (int i = 0; i < 2 * THREADS; i++) {
		if (back[i] != LAUNCHES) {
			printf("word %d is %u, want %d\n", i, back[i], LAUNCHES);
			exit(1);
		}
	}
	OK(fcuCtxDestroy(context));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "arguments"))
		arguments();
	else if (!strcmp(name, "memory"))
		memory();
	else if (!strcmp(name, "fault-13"))
		fault(13, FCU_ERROR_ILLEGAL_ADDRESS);
	else if (!strcmp(name, "fault-31"))
		fault(31, FCU_ERROR_ILLEGAL_ADDRESS);
	else if (!strcmp(name, "fault-32"))
		fault(32, FCU_ERROR_LAUNCH_FAILED);
	else if (!strcmp(name, "overrun"))
		overrun();
	else if (!strcmp(name, "query"))
		query();
	else if (!strcmp(name, "threads"))
		threads();
	else
		return 2;
	return 0;
}
