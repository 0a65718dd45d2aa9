/*
 * FilterLogEvents, which also is `aws logs tail`. Jobs are looked through in the order of their numbers, some at a time; events of
 * these come in the order of their times, and the token says where among them the next page begins.
 */
#include "aws/logs/filter_pattern.h"
#include "aws/logs/logs.h"
#include "base/clock.h"
#include "read/logs/log_search.h"
#include "store/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	JOBS_AT_ONCE = 100,
	NAMES_MAX = 100,
	SEARCH_MS = 2500,
	JOB_MS = 250,
	EVENT_ID_BYTES = 57,
	BATCH_BYTES = 8 << 20
};

struct job {
	int64_t job_id;
	struct span name;
};

struct event {
	int64_t job_id;
	struct log_place place;
	struct span stream; /* its full name */
	struct span text;
};

struct filtering {
	struct aws_call *call;
	struct span group, prefix;
	bool is_training;
	struct logs_name *names; /* logStreamNames; none: all */
	size_t name_count;
	struct filter_pattern *pattern;
	int64_t from_ms, to_ms; /* inclusive */
	size_t limit;
	struct logs_filter_token at; /* where the page begins */
	struct job *jobs;
	size_t job_count, searched; /* so many of them */
	bool has_more_jobs;
	int64_t until_ms; /* on the monotonic clock */
	struct event *events;
	size_t count, cap, bytes;
	bool has_bound; /* what lies behind it is not known yet */
	struct event bound;
};

/* ---- what is asked ---- */

static enum status read_names(struct filtering *f, struct error *err)
{
	const struct json *names = json_get(f->call->input, "logStreamNames");

	if (!names || json_kind(names) != JSON_ARRAY)
		return OK;
	if (f->prefix.len)
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException",
			"logStreamNamePrefix and logStreamNames are mutually exclusive parameters.");
	f->names = arena_alloc(f->call->arena, NAMES_MAX * sizeof *f->names);
	if (!f->names)
		return error_no_memory(err);
	for (const struct json *item = json_first(names); item; item = json_next(item)) {
		struct span name = json_string_of(item);
		TRY(logs_reworded(f->call, name, logs_split(f->group, name, &f->names[f->name_count], err), err));
		TRY(logs_resolve(f->call, &f->names[f->name_count++], err));
	}
	return OK;
}

static enum status read_request(struct filtering *f, struct error *err)
{
	struct span pattern = SPAN(""), token = SPAN("");
	int64_t limit = LOGS_PAGE_EVENTS;

	TRY(logs_group(f->call, &f->group, err));
	f->is_training = logs_is_training(f->group);
	f->prefix = SPAN("");
	f->from_ms = INT64_MIN;
	f->to_ms = INT64_MAX;
	aws_string(f->call, "logStreamNamePrefix", &f->prefix);
	aws_string(f->call, "filterPattern", &pattern);
	aws_string(f->call, "nextToken", &token);
	aws_integer(json_get(f->call->input, "startTime"), &f->from_ms);
	aws_integer(json_get(f->call->input, "endTime"), &f->to_ms);
	aws_integer(json_get(f->call->input, "limit"), &limit);
	f->limit = (size_t)limit;
	TRY(read_names(f, err));
	enum status status = filter_pattern_new(&f->pattern, pattern, err);
	if (status == ERR_INVALID && err)
		err->code = "InvalidParameterException";
	TRY(status);
	if (token.len && !logs_filter_token_read(token, &f->at))
		return aws_error(err, ERR_SEMANTIC, "InvalidParameterException", "The specified nextToken is invalid.");
	return OK;
}

/* ---- which jobs ---- */

static int by_id(const void *a, const void *b)
{
	int64_t left = ((const struct job *)a)->job_id, right = ((const struct job *)b)->job_id;

	return (left > right) - (left < right);
}

/* A job that is named: it is there, or has no events. */
static enum status add_job(struct filtering *f, struct span name, struct error *err)
{
	struct job_row row;

	for (size_t i = 0; i < f->job_count; i++)
		if (span_equal(f->jobs[i].name, name))
			return OK;
	enum status status = store_read_job(f->call->reader, f->call->arena, name, &row, err);
	if (status == ERR_NOT_FOUND)
		return f->is_training ? OK : logs_no_group(err);
	TRY(status);
	f->jobs[f->job_count++] = (struct job){row.job_id, row.name};
	return OK;
}

static enum status add_jobs_by_id(struct filtering *f, struct error *err)
{
	struct log_job_query query = {.order = LOG_JOBS_BY_ID,
		.prefix = f->prefix,
		.after = SPAN(""),
		.after_id = f->at.first_id - 1,
		.since_ms = f->from_ms > 0 ? f->from_ms : 0,
		.limit = JOBS_AT_ONCE};
	struct log_job_row *rows;
	size_t count, kept;

	TRY(store_read_log_jobs(f->call->reader, f->call->arena, &query, &rows, &count, err));
	f->has_more_jobs = count == JOBS_AT_ONCE;
	int64_t last_id = count ? rows[count - 1].job_id : INT64_MAX - 1;
	if (f->at.last_id && last_id > f->at.last_id) {
		last_id = f->at.last_id; /* those that the page before began with */
		f->has_more_jobs = true;
	}
	f->at.last_id = last_id;
	kept = query.since_ms ? pipeline_keep_heard_jobs(f->call->pipeline, rows, count, query.since_ms) : count;
	for (size_t i = 0; i < kept && rows[i].job_id <= last_id; i++)
		f->jobs[f->job_count++] = (struct job){rows[i].job_id, rows[i].name};
	return OK;
}

/* Of named jobs, those of this page. */
static void keep_range(struct filtering *f)
{
	size_t kept = 0;

	if (f->job_count)
		qsort(f->jobs, f->job_count, sizeof *f->jobs, by_id);
	for (size_t i = 0; i < f->job_count; i++) {
		bool is_later = f->at.last_id && f->jobs[i].job_id > f->at.last_id;
		f->has_more_jobs = f->has_more_jobs || is_later;
		if (f->jobs[i].job_id >= f->at.first_id && !is_later)
			f->jobs[kept++] = f->jobs[i];
	}
	f->job_count = kept;
}

/* Those that a prefix with slashes names whole: more than one only if jobs have slashes in their names. */
static enum status add_jobs_of_prefix(struct filtering *f, struct error *err)
{
	for (size_t at = 1; at < f->prefix.len && f->job_count < NAMES_MAX; at++)
		if (f->prefix.ptr[at] == '/')
			TRY(add_job(f, span_of(f->prefix.ptr, at), err));
	return OK;
}

static enum status find_jobs(struct filtering *f, struct error *err)
{
	f->jobs = arena_alloc(f->call->arena, (JOBS_AT_ONCE + NAMES_MAX) * sizeof *f->jobs);
	if (!f->jobs)
		return error_no_memory(err);
	if (!f->is_training)
		return add_job(f, f->group, err);
	if (!f->name_count)
		TRY(add_jobs_of_prefix(f, err));
	if (!f->name_count && !f->job_count)
		return add_jobs_by_id(f, err);
	for (size_t i = 0; i < f->name_count; i++)
		TRY(add_job(f, f->names[i].job, err));
	keep_range(f);
	return OK;
}

/* ---- which streams ---- */

static bool is_named(const struct filtering *f, const struct logs_stream *stream)
{
	for (size_t i = 0; i < f->name_count; i++) {
		const struct logs_name *name = &f->names[i];
		struct span whole = span_of(name->stream.ptr, name->stream.len + name->suffix.len);
		if (span_equal(name->job, stream->name.job) &&
			(span_equal(name->stream, stream->view.stream) || span_equal(whole, stream->view.stream)))
			return true;
	}
	return !f->name_count;
}

static int by_stream_id(const void *a, const void *b)
{
	uint32_t left = ((const struct logs_stream *)a)->view.stream_id,
		 right = ((const struct logs_stream *)b)->view.stream_id;

	return (left > right) - (left < right);
}

/* Those with lines, by number. */
static enum status find_streams(
	struct filtering *f, const struct job *job, struct logs_stream **out, size_t *count, struct error *err)
{
	struct logs_stream *streams;
	size_t all, kept = 0;

	TRY(logs_streams_of(f->call, f->is_training, job->name, f->prefix, &streams, &all, err));
	for (size_t i = 0; i < all; i++)
		if (streams[i].view.stream_id && is_named(f, &streams[i]))
			streams[kept++] = streams[i];
	if (kept)
		qsort(streams, kept, sizeof *streams, by_stream_id);
	*out = streams;
	*count = kept;
	return OK;
}

/* AWS refuses a name that is none; of several jobs each has its own. */
static enum status check_names(struct filtering *f, struct error *err)
{
	struct logs_stream stream;

	for (size_t i = 0; i < f->name_count; i++)
		TRY(logs_find_stream(f->call, &f->names[i], &stream, err));
	return OK;
}

/* ---- searching ---- */

static bool precedes(const struct event *a, const struct event *b)
{
	if (a->place.ts_ms != b->place.ts_ms)
		return a->place.ts_ms < b->place.ts_ms;
	if (a->job_id != b->job_id)
		return a->job_id < b->job_id;
	if (a->place.stream_id != b->place.stream_id)
		return a->place.stream_id < b->place.stream_id;
	return a->place.line < b->place.line;
}

static int compare(const void *a, const void *b)
{
	return precedes(b, a) - precedes(a, b);
}

static bool takes(const void *context, struct regex_scratch *scratch, struct span line)
{
	return filter_pattern_matches(context, scratch, line);
}

/* Where this job's lines go on behind the place of the token, which is of any job. */
static struct log_place place_for(const struct filtering *f, const struct job *job)
{
	const struct logs_filter_token *at = &f->at;

	if (job->job_id < at->job_id)
		return (struct log_place){at->ts_ms, UINT32_MAX, UINT64_MAX};
	if (job->job_id == at->job_id)
		return (struct log_place){at->ts_ms, at->stream_id, at->line};
	return (struct log_place){at->ts_ms - (at->ts_ms > INT64_MIN), UINT32_MAX, UINT64_MAX};
}

static void set_bound(struct filtering *f, const struct event *bound)
{
	if (f->has_bound && !precedes(bound, &f->bound))
		return;
	f->bound = *bound;
	f->has_bound = true;
}

static struct span stream_name(const struct logs_stream *streams, size_t count, uint32_t stream_id)
{
	struct logs_stream key = {.view.stream_id = stream_id};
	const struct logs_stream *found = bsearch(&key, streams, count, sizeof *streams, by_stream_id);

	return found ? found->full : SPAN("");
}

static enum status take_hits(struct filtering *f, const struct job *job, const struct log_search_result *result,
	const struct logs_stream *streams, size_t stream_count, struct error *err)
{
	if (f->count + result->count > f->cap) {
		size_t cap = 2 * (f->count + result->count);
		struct event *more = arena_alloc(f->call->arena, cap * sizeof *more);
		if (!more)
			return error_no_memory(err);
		if (f->count)
			memcpy(more, f->events, f->count * sizeof *more);
		f->events = more;
		f->cap = cap;
	}
	for (size_t i = 0; i < result->count; i++) {
		const struct log_hit *hit = &result->hits[i];
		f->events[f->count++] = (struct event){
			job->job_id, hit->place, stream_name(streams, stream_count, hit->place.stream_id), hit->text};
		f->bytes += hit->text.len;
	}
	if (result->has_next)
		set_bound(f, &(struct event){.job_id = job->job_id, .place = result->next});
	return OK;
}

static bool is_over(const void *request)
{
	return http_request_is_over(request);
}

static void charge(const void *request, int64_t cpu_ns)
{
	http_request_charge(request, cpu_ns);
}

static enum status search_job(struct filtering *f, const struct job *job, struct error *err)
{
	int64_t left_ms = f->until_ms - clock_mono_ms();
	struct log_search search = {.job = job->name,
		.stream = SPAN(""),
		.oldest_first = true,
		.from_ms = f->from_ms,
		.to_ms = f->to_ms,
		.limit = f->limit,
		.text_bytes = SIZE_MAX / 2,
		.max_bytes = LOGS_PAGE_BYTES,
		.time_ms = left_ms > JOB_MS ? left_ms : JOB_MS,
		.asker = {f->call->options->search_cpu_ms, is_over, charge, f->call->request}};
	struct log_place place = place_for(f, job);
	struct log_search_result result;
	struct logs_stream *streams;
	size_t stream_count;

	TRY(find_streams(f, job, &streams, &stream_count, err));
	if (!stream_count)
		return OK;
	struct log_search_stream *only = arena_alloc(f->call->arena, stream_count * sizeof *only);
	if (!only)
		return error_no_memory(err);
	for (size_t i = 0; i < stream_count; i++)
		only[i] = (struct log_search_stream){streams[i].view.stream_id, streams[i].view.first_line};
	search.streams = only;
	search.stream_count = stream_count;
	search.after = f->at.has_place ? &place : NULL;
	search.text = filter_pattern_needle(f->pattern, &search.is_regex);
	search.takes = filter_pattern_is_all(f->pattern) ? NULL : takes;
	search.context = f->pattern;
	TRY(log_search_run(f->call->pipeline, f->call->reader, f->call->arena, &search, &result, err));
	if (result.is_partial && !result.has_next) /* in the unsealed lines, of which no order is known */
		return error_set(
			err, ERR_UNAVAILABLE, "the log's newest lines take too long to look through; try again");
	return take_hits(f, job, &result, streams, stream_count, err);
}

/* As much as a page may need is enough of the jobs of one batch; the others are the next one. Behind a place the batch stays
 * whole: all of its jobs have told what comes before. */
static bool has_enough(const struct filtering *f)
{
	return !f->at.has_place && (clock_mono_ms() >= f->until_ms || f->bytes > BATCH_BYTES);
}

/* At least one job a page, however long it takes: else a client would ask for the same page for ever. */
static enum status search_jobs(struct filtering *f, struct error *err)
{
	f->until_ms = clock_mono_ms() + SEARCH_MS;
	for (; f->searched < f->job_count; f->searched++) {
		if (f->searched && has_enough(f))
			break;
		enum status status = search_job(f, &f->jobs[f->searched], err);
		if (status != OK && status != ERR_NOT_FOUND) /* deleted meanwhile */
			return status;
	}
	return OK;
}

/* ---- the page ---- */

/* In order, up to the bound and the limits. */
static void cut_page(struct filtering *f)
{
	size_t kept = 0, bytes = 0;

	if (f->count)
		qsort(f->events, f->count, sizeof *f->events, compare);
	while (kept < f->count && kept < f->limit && (!f->has_bound || !precedes(&f->bound, &f->events[kept]))) {
		bytes += f->events[kept].text.len;
		if (kept && bytes > LOGS_PAGE_BYTES)
			break;
		kept++;
	}
	if (kept < f->count) {
		f->has_bound = kept > 0 || f->has_bound;
		if (kept)
			f->bound = f->events[kept - 1];
	}
	f->count = kept;
}

/* Behind the bound among the same jobs, else the jobs that follow; none: that was all. */
static enum status put_next(struct filtering *f, struct error *err)
{
	struct logs_filter_token next = {
		.first_id = f->at.first_id, .last_id = f->at.last_id, .has_place = f->has_bound};

	if (f->searched < f->job_count) /* a bound is of those that were searched, so the others are the next batch */
		next.last_id = f->jobs[f->searched - 1].job_id;
	if (f->has_bound) {
		next.ts_ms = f->bound.place.ts_ms;
		next.job_id = f->bound.job_id;
		next.stream_id = f->bound.place.stream_id;
		next.line = f->bound.place.line;
	} else if (f->searched < f->job_count || f->has_more_jobs) {
		next.first_id = next.last_id + 1;
		next.last_id = 0;
	} else {
		return OK;
	}
	struct span token = logs_filter_token_print(f->call->arena, &next);
	if (!token.ptr)
		return error_no_memory(err);
	json_put_span(&f->call->w, "nextToken", token);
	return OK;
}

static void write_event(struct aws_call *call, const struct event *event)
{
	char id[EVENT_ID_BYTES];

	snprintf(id, sizeof id, "%026" PRId64 "%010" PRIu32 "%020" PRIu64, event->job_id, event->place.stream_id,
		event->place.line);
	json_object(&call->w);
	json_put_span(&call->w, "logStreamName", event->stream);
	json_put_i64(&call->w, "timestamp", event->place.ts_ms);
	json_put_span(&call->w, "message", event->text);
	json_put_i64(&call->w, "ingestionTime", event->place.ts_ms);
	json_put_text(&call->w, "eventId", id);
	json_object_end(&call->w);
}

static enum status run(struct filtering *f, struct error *err)
{
	TRY(read_request(f, err));
	TRY(find_jobs(f, err));
	TRY(check_names(f, err));
	TRY(search_jobs(f, err));
	cut_page(f);
	json_key(&f->call->w, "events");
	json_array(&f->call->w);
	for (size_t i = 0; i < f->count; i++)
		write_event(f->call, &f->events[i]);
	json_array_end(&f->call->w);
	json_key(&f->call->w, "searchedLogStreams");
	json_array(&f->call->w);
	json_array_end(&f->call->w);
	return put_next(f, err);
}

enum status logs_filter_events(struct aws_call *call, struct error *err)
{
	struct filtering f = {.call = call};
	enum status status = run(&f, err);

	filter_pattern_free(f.pattern);
	return status;
}
