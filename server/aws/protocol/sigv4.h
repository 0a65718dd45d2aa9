/*
 * Job: AWS Signature Version 4: what an Authorization header says, and whether a request bears that signature.
 *      The host, the time and every x-amz-* header that is there must be signed. The body is hashed as it came. Paths are
 *      encoded once more, as for every service but S3, of which none but the root is signed here.
 * Ownership: spans of the caller's. Threads: values. Pure.
 * Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"

enum { SIGV4_HEADERS_MAX = 100, SIGV4_SECRET_MAX_BYTES = 128 };

struct sigv4_request {
	struct span method;
	struct span path; /* decoded */
	struct span query; /* canonical: encoded, by name and value */
	bool may_be_unsigned; /* its body, of which there is none */
	struct span body;
	const struct http_header *headers; /* as they came, twice where they came twice */
	size_t header_count;
};

struct sigv4_authorization {
	struct span key_id;
	struct span date, region, service; /* of the credential's scope */
	struct span scope; /* DATE/REGION/SERVICE/aws4_request */
	struct span signed_headers;
	struct span signature;
};

bool sigv4_is(struct span authorization); /* is it of this kind? */
/* ERR_UNAUTHORIZED with AWS's code and what is missing. */
enum status sigv4_parse(struct sigv4_authorization *out, struct span authorization, struct error *err) MUST_CHECK;
/* ERR_UNAUTHORIZED with AWS's code and why. */
enum status sigv4_verify(const struct sigv4_authorization *authorization, const struct sigv4_request *request,
	struct span secret, int64_t now_ms, int64_t skew_ms, struct error *err) MUST_CHECK;
