/*
 * Job: sm-search --by --of: what groups of jobs come to, as a table, CSV, JSON or NDJSON.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "base/options/options.h"
#include "cli/http/http_post.h"

enum groups_format { GROUPS_TABLE, GROUPS_CSV, GROUPS_JSON, GROUPS_NDJSON };

struct search_groups {
	struct http_client *client;
	const struct options *options;
	struct span query;
	enum groups_format format;
	bool has_colours;
	size_t width;
};

/* Does the command line ask for groups? ERR_INVALID: with something that is of jobs alone. */
enum status search_groups_wanted(const struct options *options, bool *wanted, struct error *err) MUST_CHECK;
/* To standard output. *found: groups. */
enum status search_groups_print(const struct search_groups *search, size_t *found, struct error *err) MUST_CHECK;
