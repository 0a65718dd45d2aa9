/*
 * Job: requests to S3 by prefix, as a job's log tells them, and how many a second where an access log has each.
 * Ownership: results live in the caller's arena. Threads: workers.
 */
#pragma once

#include "fleet/s3_line.h"
#include "read/logs/log_search.h"

enum { S3_PREFIXES_MAX = 2000, S3_SAMPLES_MAX = 4 << 20 };

struct s3_prefix {
	struct span bucket; /* "": lines do not say it */
	struct span prefix;
	uint64_t requests[3]; /* by enum s3_kind */
	uint64_t slow_downs;
	int64_t first_ms, last_ms;
	int64_t last_slow_down_ms; /* 0: none */
	uint64_t peaks[3]; /* the most within one second; 0: no access log tells */
	double peak_load; /* of one second: reads and writes, each by what a prefix takes of it */
};

struct s3_requests {
	struct s3_prefix *prefixes; /* most refused first, then most requests */
	size_t count;
	uint64_t left_out; /* requests of prefixes beyond the first */
	bool has_all_peaks; /* no more requests than are kept for them */
	bool is_partial; /* out of time: */
	uint64_t lines, lines_left; /* in reach, and not looked at */
};

struct s3_asking {
	struct span job, stream;
	int64_t from_ms, to_ms;
	double most[3]; /* requests a second that a prefix takes, by enum s3_kind; infinite: any number */
	size_t depth; /* folders of a key that make its prefix */
	int64_t time_ms;
	struct log_asker asker;
};

enum status s3_requests_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct s3_asking *asking, struct s3_requests *out, struct error *err) MUST_CHECK;
