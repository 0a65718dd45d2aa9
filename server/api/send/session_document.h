/*
 * Job: a training job's document, or settings of it, out of what a sender says of its process.
 * Ownership: the caller's buffer. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"

/* What is longer than SageMaker's document takes is cut, and ends with an ellipsis. ERR_SEMANTIC with field. */
enum status session_write_document(
	const struct json *body, const char *name, struct buf *out, struct error *err) MUST_CHECK;

/* Settings alone, an object of texts, cut as above; keys that no query could name are left out. */
enum status session_write_settings(const struct json *settings, struct buf *out, struct error *err) MUST_CHECK;
