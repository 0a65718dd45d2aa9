/*
 * Job: what one line of a log says of a request to S3: S3's own access logs; AWS CLI, boto3, s5cmd, Mountpoint, the SDKs and s3fs as they
 *      print transfers and refusals.
 * Ownership: spans are the line's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

enum s3_kind { S3_UNKNOWN, S3_READ, S3_WRITE }; /* GET and HEAD; PUT, COPY, POST, DELETE */

struct s3_line {
	struct span bucket; /* "": the line does not say it */
	struct span key; /* "": none, or the bucket itself */
	enum s3_kind kind;
	bool is_slow_down; /* 503: the service asks for fewer requests */
	int64_t ts_ms; /* of an access log; 0: the line's own */
};

/* Which lines are worth a look: an expression for a search. */
extern const char s3_line_pattern[];
/* false: it tells of no request. */
bool s3_line_read(struct span line, struct s3_line *out);
/* "ckpt/step-10/" of a key's first `depth` folders. */
struct span s3_line_prefix(struct span key, size_t depth);
