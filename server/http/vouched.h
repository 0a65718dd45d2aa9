/*
 * Job: whom a trusted proxy vouches for: the name and the groups in the headers that it sets. From anywhere else, twice, or under a name
 *      that the proxy may take for the same, these headers are refused: they would be somebody's word about himself.
 * Ownership: new/free; what it reads lives as long as the request. Immutable. Threads: any.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

struct sockaddr;
struct http_request;
struct vouched;

struct vouched_options {
	const char *proxies; /* addresses and networks (10.0.0.0/8), separated by commas */
	const char *user_header, *groups_header;
};

/* NULL when there are no proxies. ERR_INVALID names the address that is none. */
enum status vouched_new(struct vouched **out, const struct vouched_options *options, struct error *err) MUST_CHECK;
void vouched_free(struct vouched *vouched);

bool vouched_is_proxy(const struct vouched *vouched, const struct sockaddr *address);

struct vouched_person {
	struct span user; /* empty: nobody */
	struct span groups; /* separated by commas */
};
/* ERR_FORBIDDEN: not from a proxy; ERR_INVALID: said twice, or by another spelling. */
enum status vouched_read(const struct vouched *vouched, const struct sockaddr *address,
	const struct http_request *request, struct vouched_person *out, struct error *err) MUST_CHECK;

AUTO_TYPE(vouched)
