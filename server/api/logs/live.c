/* Server-sent events: a subscriber of the hub behind a stream of HTTP. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/core/tokens.h"
#include "live/filters.h"

enum { JOBS_MAX = 256, FILTER_MAX_BYTES = 4096 };

struct live {
	struct hub *hub;
	struct subscriber *subscriber; /* NULL: filtered */
	struct filtered *filtered;
};

static enum status read_kinds(const struct http_request *request, bool has_jobs, unsigned *kinds, struct error *err)
{
	static const struct {
		const char *name;
		unsigned kind;
	} names[] = {{"points", HUB_POINTS}, {"lines", HUB_LINES}, {"job", HUB_JOB}, {"incident", HUB_INCIDENT},
		{"backfill", HUB_BACKFILL}, {"pool", HUB_POOL}};
	struct span rest, part;

	*kinds = HUB_POINTS | HUB_JOB | HUB_INCIDENT | HUB_BACKFILL | HUB_POOL;
	if (!http_request_query(request, "kinds", &rest))
		return OK;
	*kinds = 0;
	while (span_next(&rest, ',', &part)) {
		unsigned kind = 0;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (span_equal(part, span_from(names[i].name)))
				kind = names[i].kind;
		*kinds |= kind;
		if (!kind)
			return error_set_field(err, ERR_INVALID, "kinds",
				"kind '%.*s' is none of points, lines, job, incident, backfill, pool", SPAN_ARGS(part));
	}
	if ((*kinds & HUB_LINES) && !has_jobs)
		return error_set_field(
			err, ERR_INVALID, "kinds", "lines of all jobs are too many for one stream: name them in jobs=");
	return OK;
}

static enum status read_jobs(
	const struct http_request *request, struct arena *arena, struct span *jobs, size_t *count, struct error *err)
{
	struct span rest, part;

	*count = 0;
	if (!http_request_query(request, "jobs", &rest) || !rest.len)
		return OK;
	while (span_next(&rest, ',', &part)) {
		if (!part.len)
			continue;
		if (*count == JOBS_MAX)
			return error_set_field(
				err, ERR_TOO_LARGE, "jobs", "one stream takes at most %d jobs", JOBS_MAX);
		TRY(api_decode_name(arena, part, &jobs[(*count)++], err));
	}
	return OK;
}

static enum status read_after(const struct http_request *request, uint64_t *after, struct error *err)
{
	struct span text = http_request_header(request, "Last-Event-ID"); /* a browser that comes back */

	*after = UINT64_MAX;
	if (!text.len && !http_request_query(request, "after", &text))
		return OK;
	if (!span_parse_u64(text, after))
		return error_set_field(
			err, ERR_INVALID, "after", "after '%.*s' is no sequence of this server", SPAN_ARGS(text));
	return OK;
}

/* *has_it: lines are wanted of one stream alone, or filtered. */
static enum status read_filter(
	const struct http_request *request, unsigned kinds, struct filter_spec *spec, bool *has_it, struct error *err)
{
	bool has_stream = http_request_query(request, "stream", &spec->stream) && spec->stream.len;
	bool has_text = http_request_query(request, "filter", &spec->text) && spec->text.len;

	TRY(http_query_bool(request, "filter_regex", &spec->is_regex, err));
	TRY(http_query_bool(request, "filter_ignore_case", &spec->ignores_case, err));
	if (!has_stream)
		spec->stream = span_of(NULL, 0);
	*has_it = has_stream || has_text;
	if (*has_it && !(kinds & HUB_LINES))
		return error_set_field(err, ERR_INVALID, has_text ? "filter" : "stream",
			"'%s' chooses among lines: ask for them by kinds=lines", has_text ? "filter" : "stream");
	if (spec->text.len > FILTER_MAX_BYTES)
		return error_set_field(err, ERR_TOO_LARGE, "filter", "'filter' has %zu bytes, more than %d",
			spec->text.len, FILTER_MAX_BYTES);
	return OK;
}

static void wake(void *handle)
{
	http_stream_wake(handle);
}

static enum status subscribe(struct api *api, const struct http_request *request, struct http_stream *handle,
	struct live *live, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct span jobs[JOBS_MAX];
	const struct principal *principal = http_request_principal(request);
	struct hub_wish wish = {.jobs = jobs, .team = api_is_narrow(api, principal) ? principal->team : NULL};
	struct filter_spec filter = {0};
	bool is_filtered;

	TRY(api_arena(&arena, err));
	TRY(read_jobs(request, arena, jobs, &wish.job_count, err));
	TRY(read_kinds(request, wish.job_count != 0, &wish.kinds, err));
	TRY(read_after(request, &wish.after, err));
	TRY(read_filter(request, wish.kinds, &filter, &is_filtered, err));
	live->hub = api->options.hub;
	if (is_filtered)
		return filters_subscribe(api->options.filters, &live->filtered, &filter, &wish, wake, handle, err);
	return hub_subscribe(live->hub, &live->subscriber, &wish, wake, handle, err);
}

static enum status open_live(void *context, const struct http_request *request, struct http_stream *handle,
	void **stream, struct http_response *head, struct error *err)
{
	struct live *live = mem_zeroed(sizeof *live);

	if (!live)
		return error_no_memory(err);
	enum status status = subscribe(context, request, handle, live, err);
	if (status != OK) {
		mem_free(live);
		return status;
	}
	head->content_type = "text/event-stream";
	http_response_header(head, "X-Accel-Buffering", "no"); /* a proxy in front must not hold events back */
	*stream = live;
	return OK;
}

static ssize_t read_live(void *stream, char *out, size_t room)
{
	struct live *live = stream;

	return live->filtered ? filters_read(live->filtered, out, room)
			      : hub_read(live->hub, live->subscriber, out, room);
}

static void free_live(void *stream)
{
	struct live *live = stream;

	if (live->filtered)
		filters_unsubscribe(live->filtered);
	else
		hub_unsubscribe(live->hub, live->subscriber);
	mem_free(live);
}

const struct http_stream_ops api_live = {open_live, read_live, free_live};
