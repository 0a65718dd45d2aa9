/*
 * Job: completion of sm-search's command line: the script that a shell reads, and what it asks for while a query is typed.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "base/options/options.h"
#include "cli/http/http_post.h"

/* shell: "bash" or "zsh"; ERR_INVALID names it else. */
enum status completion_put_script(
	const struct option_program *program, const char *shell, struct buf *out, struct error *err) MUST_CHECK;

/* The query as it could go on, one way a line. */
enum status completion_put_queries(
	struct http_client *client, const char *typed, struct buf *out, struct error *err) MUST_CHECK;
