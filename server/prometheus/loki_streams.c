#include "prometheus/loki_streams.h"

#include "base/clock.h"

enum { HOUR_MS = 3600000 };

/* Nanoseconds, or as Prometheus' times. Lines have whole milliseconds: the first that is not before it, for a begin and an end alike. */
enum status loki_time(const struct prom_call *call, const char *name, int64_t fallback, int64_t *ms, struct error *err)
{
	struct span text = call_parameter(call, name);
	int64_t ns;

	if (text.len < 16 || !span_parse_i64(text, &ns))
		return call_time(call, name, fallback, ms, err);
	*ms = ns / 1000000 + (ns % 1000000 > 0);
	return OK;
}

enum status loki_window(const struct prom_call *call, int64_t *from_ms, int64_t *to_ms, struct error *err)
{
	int64_t since_ms = HOUR_MS;

	TRY(call_duration(call, "since", &since_ms, err));
	TRY(loki_time(call, "end", http_request_arrival_ms(call->request), to_ms, err));
	TRY(loki_time(call, "start", *to_ms - since_ms, from_ms, err));
	return *from_ms <= *to_ms ? OK
				  : error_set(err, ERR_INVALID,
					    "invalid parameter \"start\": it lies behind the end of the query");
}

void loki_stream_labels(struct prom_labels *out, struct prom_label room[LOKI_LABELS + 1], struct span job,
	const struct stream_view *stream)
{
	*out = (struct prom_labels){.at = room};
	labels_set(out, SPAN("job"), job);
	labels_set(out, SPAN("stream"), stream->name);
	labels_set(out, SPAN("host"), stream->host);
}

enum status loki_is_asked(
	const struct loki_asked *asked, struct span job, const struct stream_view *stream, bool *is, struct error *err)
{
	const struct matchers matchers = {
		asked->logql.matchers, asked->logql.matcher_count, asked->call->reading.scratch};
	struct prom_label room[LOKI_LABELS + 1];
	struct prom_labels labels;

	*is = false;
	if (!stream->lines)
		return OK;
	loki_stream_labels(&labels, room, job, stream);
	return labels_fit(&labels, &matchers, is, err);
}

enum status loki_read_streams(
	struct prom_call *call, struct arena *arena, struct span job, struct job_view *view, struct error *err)
{
	enum status status = view_read_job(
		call->options->pipeline, call->reading.reader, arena, job, SPAN(""), SPAN(""), 0, view, err);

	if (status != ERR_NOT_FOUND)
		return status;
	*view = (struct job_view){0};
	return OK;
}

enum status loki_each_job(const struct loki_asked *asked, jobs_take *take, void *context, struct error *err)
{
	struct jobs_asked jobs = {.matchers = asked->logql.matchers,
		.matcher_count = asked->logql.matcher_count,
		.label = SPAN("job"),
		.from_ms = asked->from_ms,
		.to_ms = asked->to_ms};

	return jobs_each(&asked->call->reading, &jobs, take, context, err);
}

static bool is_over(const void *request)
{
	return http_request_is_over(request);
}

static void charge(const void *request, int64_t cpu_ns)
{
	http_request_charge(request, cpu_ns);
}

struct log_asker loki_asker(const struct prom_call *call)
{
	return (struct log_asker){call->options->search_cpu_ms, is_over, charge, call->request};
}

int64_t loki_left_ms(const struct prom_call *call)
{
	int64_t left_ms = call->budget.until_mono_ms - clock_mono_ms();

	return left_ms > 1 ? left_ms : 1;
}

enum status loki_check_patterns(const struct loki_asked *asked, struct span job, struct error *err)
{
	return atomic_load(&asked->gave_up)
		       ? error_set(err, ERR_SEMANTIC,
				 "a pattern was given up on a line of job '%.*s': it needs too many steps; write one without repetitions of repetitions",
				 SPAN_ARGS(span_cut(job, 60)))
		       : OK;
}
