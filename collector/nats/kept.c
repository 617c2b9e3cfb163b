/* SPDX-License-Identifier: MIT */
#include "collector/nats/kept.h"

enum {
	ANSWER_MS = 1000,
	NEXT_MS = 500, /* nothing for so long: there are none */
};

/* There is one, whoever has made it, and however it was. */
static bool has_stream(jsCtx *context)
{
	const char *subjects[] = { KEPT_SUBJECT };
	jsStreamConfig stream;
	jsErrCode error = 0;

	jsStreamConfig_Init(&stream);
	stream.Name = KEPT_STREAM;
	stream.Subjects = subjects;
	stream.SubjectsLen = 1;
	stream.Storage = js_MemoryStorage;
	stream.MaxAge = KEPT_AGE_NS;
	stream.MaxBytes = KEPT_BYTES;
	stream.NoAck = true;
	return js_AddStream(NULL, context, &stream, NULL, &error) == NATS_OK || error == JSStreamNameExistErr;
}

static natsStatus subscribe(jsCtx *context, const char *subject, natsSubscription **subscription)
{
	jsSubOptions options;

	jsSubOptions_Init(&options);
	options.Stream = KEPT_STREAM;
	options.Ordered = true;
	return js_SubscribeSync(subscription, context, subject, NULL, &options, NULL);
}

/* How many come behind this one; 0: it is not known. */
static uint64_t count_behind(natsMsg *message)
{
	jsMsgMetaData *data = NULL;

	if (natsMsg_GetMetaData(&data, message) != NATS_OK)
		return 0;
	uint64_t behind = data->NumPending;
	jsMsgMetaData_Destroy(data);
	return behind;
}

static void read_all(jsCtx *context, const char *subject, kept_take *take, void *argument)
{
	natsSubscription *subscription = NULL;
	natsMsg *message = NULL;
	uint64_t behind = 1;

	if (subscribe(context, subject, &subscription) != NATS_OK)
		return;
	for (int i = 0; i < KEPT_MOST && behind; i++) {
		if (natsSubscription_NextMsg(&message, subscription, NEXT_MS) != NATS_OK)
			break;
		behind = count_behind(message);
		take(argument, message);
	}
	natsSubscription_Unsubscribe(subscription);
	natsSubscription_Destroy(subscription);
}

bool kept_read(natsConnection *connection, const char *subject, kept_take *take, void *argument)
{
	jsCtx *context = NULL;
	jsOptions options;

	jsOptions_Init(&options);
	options.Wait = ANSWER_MS;
	bool keeps = natsConnection_JetStream(&context, connection, &options) == NATS_OK && has_stream(context);
	if (keeps && take)
		read_all(context, subject, take, argument);
	jsCtx_Destroy(context);
	return keeps;
}
