/*
 * Job: a page of log lines as a JSON object or NDJSON, not longer than --max-reply-bytes unless its one line is.
 * Ownership: lines are in the request's arena. Threads: workers.
 */
#pragma once

#include "api/core/api_state.h"
#include "read/logs/merge.h"

struct lines_asked {
	bool is_merged;
	bool has_cursor;
	struct span cursor;
	int64_t from; /* -1: the newest; 0: from the first line on */
	int64_t around_ms; /* INT64_MIN: not asked; 0 is a time */
	size_t limit;
	struct span *streams; /* merged: of these alone; none: of all */
	size_t stream_count;
};

struct line_page {
	struct http_response *response;
	size_t max_bytes;
	bool is_ndjson;
	struct merged_line *lines; /* after line_page_write those that were written */
	size_t count;
	size_t before_count; /* so many come before what the page is about: where there are too many, the first ones go */
	bool has_more_before, has_more_after;
	uint64_t total;
	bool has_at;
	uint64_t at; /* the line that was asked for by its time */
	struct span at_stream;
};

struct line_page line_page_on(struct api *api, const struct http_request *request, struct http_response *response);
void line_page_write(struct line_page *page);
/* A member of the object; of NDJSON, where every line is a log line, a header. */
void line_page_put_u64(struct line_page *page, const char *key, const char *header, uint64_t value);
void line_page_put_text(struct line_page *page, const char *key, const char *header, struct span text);
void line_page_end(struct line_page *page);

/* ---- lines_merged.c: merge=true ---- */
enum status api_lines_merged(struct api *api, struct api_worker *worker, const struct http_request *request,
	struct lines_asked *asked, struct line_page *page, struct arena *arena, struct error *err) MUST_CHECK;
