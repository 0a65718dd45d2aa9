/*
 * Job: a message as a receiver wants it: a stored payload to the body that is sent. "json" and "cloudevents" are the payload
 *      with the attributes of CloudEvents 1.0 (structured mode), and say so in their content type or not; the others are templates in server/data/webhooks.json.
 * Ownership: new/free. Threads: immutable; any.
 * Source: CloudEvents 1.0.2, JSON format and HTTP binding. Feishu's and DingTalk's signatures: their documents on custom bots.
 */
#pragma once

#include "alert/rule.h"

/* Template: strings with {{name}}; a member whose text becomes empty is left out; "{{#name}}" alone is a number. */
enum status webhook_formats_new(struct webhook_formats **out, struct span json, struct error *err) MUST_CHECK;

struct webhook_shape {
	struct span format; /* a known one */
	struct span payload;
	struct span message_id;
	struct span secret; /* its text; "": none */
	struct span public_url;
	int64_t now_ms;
};
/* The body, and what its content type is. url_suffix: what its signature adds to the URL. */
enum status webhook_render(const struct webhook_formats *formats, const struct webhook_shape *shape, struct buf *body,
	const char **content_type, struct buf *url_suffix, struct error *err) MUST_CHECK;

/* Of an answer with a good status: does its body say that it was refused? The reason goes to err. */
bool webhook_is_refused(
	const struct webhook_formats *formats, struct span format, struct span reply, struct error *err);
