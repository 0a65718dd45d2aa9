/*
 * Job: tries metric definitions on lines.
 * Ownership: the caller's. Threads: workers; some seconds at most.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"

struct pipeline;

/*
 * Tries an array of metric definitions on lines and writes one object: {"lines":[{"index","text","captures":[…]}],"definitions":
 * [{"Name","tried","matched","numeric","limited","match_rate","us_per_line","warnings":[{"code","text"}]} or {"Name","error"}],
 * "partial"?}. start and end are byte columns of the text. Blocks for at most some seconds: worker threads.
 */
enum status pipeline_try_definitions(const struct pipeline *pipeline, const struct json *definitions,
	const struct span *lines, size_t count, struct json_writer *w, struct error *err) MUST_CHECK;
