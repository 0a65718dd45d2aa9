/*
 * Job: which stream a request for lines is about. Lines are read by read/logs/lines.h, and written by line_page.h.
 * Ownership and threads: as api.h.
 */
#pragma once

#include "api/core/api_state.h"

/* What stream= says, unchecked; without it the job's first stream, or "" if the job has none. ERR_NOT_FOUND names the job. */
enum status api_choose_stream(struct api_worker *worker, struct arena *arena, const struct http_request *request,
	struct span *stream, struct error *err) MUST_CHECK;
