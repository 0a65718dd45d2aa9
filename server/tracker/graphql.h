/*
 * Job: which operation a GraphQL request is, and with what. The SDK's operations have fixed names and known replies, so that the query's
 *      own text is not looked into. Pure.
 * Ownership: what is read points into the body. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"

struct graphql_request {
	struct span operation; /* "UpsertBucket" */
	struct span query; /* its text; "": none */
	const struct json *variables; /* NULL: none */
};

/* {"query", "variables", "operationName"}; without the last, the first name in the query. ERR_SEMANTIC: it has none. */
enum status graphql_read(const struct json *body, struct graphql_request *out, struct error *err) MUST_CHECK;
/* A variable that is a text; "" : absent or null. ERR_SEMANTIC: it is something else, is longer, or no UTF-8. */
enum status graphql_text(const struct graphql_request *request, const char *name, size_t max_bytes, struct span *out,
	struct error *err) MUST_CHECK;
/* A member that is a whole number from `least` to `most`; absent or null: *out stays. from NULL: there is none. ERR_SEMANTIC */
enum status graphql_integer(const struct json *from, const char *name, int64_t least, int64_t most, int64_t *out,
	struct error *err) MUST_CHECK;
