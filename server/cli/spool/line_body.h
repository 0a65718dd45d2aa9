/*
 * Job: a batch of lines -> the body of POST /api/v1/logs.
 * Ownership: the buf is the caller's. Threads: any. Pure.
 */
#pragma once

#include "cli/spool/spool_batch.h"

/*
 * NDJSON {"line","ts"} where JSON holds the lines exactly; else the lines as they are, without their times: the server
 * counts the same bytes either way. *content_type says which.
 */
enum status line_body_put(
	const struct spool_batch *batch, struct buf *out, const char **content_type, struct error *err) MUST_CHECK;
