/*
 * Job: sm-search --compare A B C: what differs between jobs, as a table with a column a job, as CSV or as the server's JSON.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "base/options/options.h"
#include "cli/http/http_post.h"

struct search_compare {
	struct http_client *client;
	const struct options *options; /* its words are the jobs */
	bool is_json, is_csv, has_colours;
	size_t width;
};

/* To standard output. */
enum status search_compare_print(const struct search_compare *search, struct error *err) MUST_CHECK;
