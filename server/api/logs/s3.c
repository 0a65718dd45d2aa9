/* Requests to S3 and its refusals by prefix, against the service's limits: docs/s3.md. */
#include "read/logs/s3_requests.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/json/json_read.h"

#include <math.h>
#include <stdio.h>

enum {
	DEPTH_DEFAULT = 2,
	DEPTH_MAX = 16,
	LIMIT_DEFAULT = 100,
	LIMIT_MAX = 2000,
	RATE_MAX = 1000000000,
	TEXT_BYTES = 512,
	PLACE_BYTES = 300
};

static const double near_share = 0.8; /* of a limit: above it the next growth is refused */

struct s3_limits {
	int64_t writes, reads; /* a second of one prefix */
	struct span source;
};

static enum status read_limits(
	const struct http_request *request, const struct json *limits, struct s3_limits *out, struct error *err)
{
	const struct json *own = json_get(limits, "s3");

	*out = (struct s3_limits){.source = json_string_of(json_get(own, "source"))};
	TRY(json_want_i64(own, "writes_per_s", &out->writes, err));
	TRY(json_want_i64(own, "reads_per_s", &out->reads, err));
	TRY(http_query_i64(request, "writes_per_s", 1, RATE_MAX, &out->writes, err));
	return http_query_i64(request, "reads_per_s", 1, RATE_MAX, &out->reads, err);
}

static enum status read_asking(const struct api *api, const struct http_request *request, struct span job,
	struct s3_asking *out, struct error *err)
{
	int64_t depth = DEPTH_DEFAULT;

	*out = (struct s3_asking){.job = job,
		.stream = SPAN(""),
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.time_ms = api->options.search_ms,
		.asker = api_asker(api, request)};
	http_request_query(request, "stream", &out->stream);
	TRY(http_query_i64(request, "depth", 0, DEPTH_MAX, &depth, err));
	TRY(http_query_i64(request, "from_ms", INT64_MIN, INT64_MAX, &out->from_ms, err));
	TRY(http_query_i64(request, "to_ms", INT64_MIN, INT64_MAX, &out->to_ms, err));
	out->depth = (size_t)depth;
	return OK;
}

/* How many prefixes would each stay below four fifths of the limits. 1: it does already; NAN: no access log tells. */
static double parts_of(const struct s3_prefix *prefix)
{
	return prefix->peak_load > 0 ? ceil(prefix->peak_load) : NAN;
}

static void write_split(struct json_writer *w, const struct s3_prefix *prefix)
{
	double parts = parts_of(prefix);
	char text[TEXT_BYTES], place[PLACE_BYTES];

	json_key(w, "split");
	if (!prefix->slow_downs && !(parts > 1)) {
		json_null(w);
		return;
	}
	json_object(w);
	if (prefix->bucket.len)
		snprintf(place, sizeof place, "under s3://%.*s/%.*s", SPAN_ARGS(span_cut(prefix->bucket, 63)),
			SPAN_ARGS(span_cut(prefix->prefix, 200)));
	else
		snprintf(place, sizeof place, "of a bucket that the lines do not name");
	if (parts > 1)
		snprintf(text, sizeof text,
			"spread the keys %s over %g prefixes (a hash or the rank in front of the name), or pack them into fewer, larger objects",
			place, parts);
	else
		snprintf(text, sizeof text,
			"S3 refused requests %s: spread its keys over several prefixes (a hash or the rank in front of the name), pack them into fewer, larger objects, or begin more slowly",
			place);
	api_put_known(w, "parts", parts > 1 ? parts : NAN);
	json_put_text(w, "text", text);
	json_object_end(w);
}

static void put_peak(struct json_writer *w, const char *key, const struct s3_prefix *prefix, enum s3_kind kind)
{
	bool is_told = prefix->peaks[S3_READ] + prefix->peaks[S3_WRITE] > 0;

	api_put_known(w, key, is_told ? (double)prefix->peaks[kind] : NAN);
}

static void write_prefix(struct json_writer *w, const struct s3_prefix *prefix)
{
	json_object(w);
	json_key(w, "bucket");
	if (prefix->bucket.len)
		json_span(w, prefix->bucket);
	else
		json_null(w);
	json_put_span(w, "prefix", prefix->prefix);
	json_put_i64(w, "reads", (int64_t)prefix->requests[S3_READ]);
	json_put_i64(w, "writes", (int64_t)prefix->requests[S3_WRITE]);
	json_put_i64(w, "unknown", (int64_t)prefix->requests[S3_UNKNOWN]);
	json_put_i64(w, "slow_downs", (int64_t)prefix->slow_downs);
	put_peak(w, "peak_reads_per_s", prefix, S3_READ);
	put_peak(w, "peak_writes_per_s", prefix, S3_WRITE);
	json_put_i64(w, "first_ms", prefix->first_ms);
	json_put_i64(w, "last_ms", prefix->last_ms);
	api_put_known(w, "last_slow_down_ms", prefix->last_slow_down_ms ? (double)prefix->last_slow_down_ms : NAN);
	write_split(w, prefix);
	json_object_end(w);
}

static void write_sums(struct json_writer *w, const struct s3_requests *found)
{
	uint64_t sums[3] = {0}, slow_downs = 0;

	for (size_t i = 0; i < found->count; i++) {
		for (int kind = 0; kind < 3; kind++)
			sums[kind] += found->prefixes[i].requests[kind];
		slow_downs += found->prefixes[i].slow_downs;
	}
	json_put_i64(w, "reads", (int64_t)sums[S3_READ]);
	json_put_i64(w, "writes", (int64_t)sums[S3_WRITE]);
	json_put_i64(w, "unknown", (int64_t)sums[S3_UNKNOWN]);
	json_put_i64(w, "slow_downs", (int64_t)slow_downs);
	json_put_i64(w, "left_out", (int64_t)found->left_out);
	json_put_bool(w, "partial", found->is_partial);
	json_put_i64(w, "lines", (int64_t)found->lines);
	json_put_i64(w, "lines_looked_at", (int64_t)(found->lines - found->lines_left));
	json_put_bool(w, "peaks_partial", !found->has_all_peaks);
}

static void write_answer(struct json_writer *w, const struct s3_requests *found, const struct s3_limits *limits,
	size_t limit, struct span job)
{
	json_object(w);
	json_put_span(w, "job", job);
	json_key(w, "limits");
	json_object(w);
	json_put_i64(w, "writes_per_s", limits->writes);
	json_put_i64(w, "reads_per_s", limits->reads);
	json_put_span(w, "source", limits->source);
	json_object_end(w);
	write_sums(w, found);
	json_key(w, "prefixes");
	json_array(w);
	for (size_t i = 0; i < found->count && i < limit; i++)
		write_prefix(w, &found->prefixes[i]);
	json_array_end(w);
	json_put_i64(w, "prefix_count", (int64_t)found->count);
	json_object_end(w);
}

enum status api_job_s3(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) data = NULL;
	struct json_writer w = api_reply(response);
	struct span job = http_request_segment(request, 0);
	struct s3_limits limits;
	struct s3_asking asking;
	struct s3_requests found;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(read_asking(api, request, job, &asking, err));
	TRY(json_parse(&data, api->options.limits, err));
	TRY(read_limits(request, data, &limits, err));
	asking.most[S3_READ] = near_share * (double)limits.reads; /* a partition serves both */
	asking.most[S3_WRITE] = near_share * (double)limits.writes;
	asking.most[S3_UNKNOWN] = INFINITY;
	TRY(s3_requests_read(
		api->options.pipeline, ((struct api_worker *)worker)->reader, arena, &asking, &found, err));
	write_answer(&w, &found, &limits, limit, job);
	return buf_status(&response->body, err);
}
