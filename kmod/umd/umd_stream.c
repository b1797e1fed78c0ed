// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Streams: the API over channels. */
#include "umd.h"

static fcuResult stream_of(fcuStream stream, struct fcu_channel **channel)
{
	struct fcu_context *context;
	fcuResult result;

	if (stream) {
		*channel = stream;
		return __atomic_load_n(&stream->context->sticky, __ATOMIC_RELAXED);
	}
	result = fcu_current(&context);
	if (!result)
		*channel = context->stream0;
	return result;
}

fcuResult fcuStreamCreate(fcuStream *stream, unsigned int flags)
{
	struct fcu_context *context;
	fcuResult result = fcu_current(&context);

	if (result)
		return result;
	return !stream || flags ? FCU_ERROR_INVALID_VALUE : fcu_channel_create(context, stream);
}

/* Waits for the stream's work, as dropping a channel drops what it still has. */
fcuResult fcuStreamDestroy(fcuStream stream)
{
	struct fcu_context *context;
	struct fcu_channel **link;
	fcuResult result, destroyed;

	if (!stream || stream == stream->context->stream0)
		return FCU_ERROR_INVALID_HANDLE;
	context = stream->context;
	result = fcu_channel_sync(stream);
	pthread_mutex_lock(&context->lock);
	for (link = &context->channels; *link != stream; link = &(*link)->next)
		;
	*link = stream->next;
	pthread_mutex_unlock(&context->lock);
	destroyed = fcu_channel_destroy(stream);
	fcu_channel_free(stream);
	return result ? result : destroyed;
}

fcuResult fcuStreamSynchronize(fcuStream stream)
{
	struct fcu_channel *channel;
	fcuResult result = stream_of(stream, &channel);

	return result ? result : fcu_channel_sync(channel);
}

fcuResult fcuStreamQuery(fcuStream stream)
{
	struct fcu_channel *channel;
	fcuResult result = stream_of(stream, &channel);

	return result ? result : fcu_channel_query(channel);
}
