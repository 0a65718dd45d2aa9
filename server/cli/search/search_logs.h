/*
 * Job: the lines of one job's log that match, as grep shows them: job/stream:number: text.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "cli/http/http_post.h"

struct search_logs {
	struct http_client *client;
	const char *regex;
	bool is_ndjson, is_terminal;
	uint64_t found; /* all jobs */
	bool is_partial; /* the server stopped a search early */
};

/* To standard output, page by page. */
enum status search_logs_print(struct search_logs *search, struct span job, struct error *err) MUST_CHECK;
