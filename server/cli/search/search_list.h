/*
 * Job: sm-search attachments JOB, sm-search evaluations SCORE QUERY, sm-search --trash: what is no search but a list of the server's, as
 *      table, CSV, JSON or NDJSON; and sm-search attachments JOB PATH: one file to standard output.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "base/options/options.h"
#include "cli/http/http_post.h"

enum list_format { LIST_TABLE, LIST_CSV, LIST_JSON, LIST_NDJSON };

struct search_list {
	struct http_client *client;
	const struct options *options; /* --limit; the words say which list */
	enum list_format format;
	bool is_terminal, has_colours;
	size_t width;
	size_t found; /* printed */
};

/* Whether the command line asks for one. ERR_INVALID: it asks for something of jobs beside it, or for none that there is. */
enum status search_list_wanted(const struct options *options, bool *wanted, struct error *err) MUST_CHECK;
/* To standard output. ERR_INVALID: a file that would command the terminal. */
enum status search_list_print(struct search_list *search, struct error *err) MUST_CHECK;
