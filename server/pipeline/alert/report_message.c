#include "pipeline/alert/report_message.h"

#include "alert/rule.h"
#include "base/clock.h"
#include "base/json/json_write.h"
#include "base/text/iso8601.h"
#include "read/report.h"
#include "state/heard.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"

#include <inttypes.h>
#include <math.h>

enum {
	INCIDENTS_SHOWN = 5,
	JOBS_SHOWN = 10,
	JOBS_IN_LINES = 5,
	SEARCH_MS = 5000,
	TEXT_MAX_BYTES = 4096,
	URL_MAX_BYTES = 4096,
	LINE_MAX_BYTES = 240,
	REASON_MAX_BYTES = 1000,
	HOUR_MS = 3600000,
	MINUTE_MS = 60000,
	MINUTE_TEXT_BYTES = 16 /* 2026-11-29T07:30 */
};

/* It happened before the report's time, and the server learned of it within. */
#define LATE " (came late)"

struct reporting {
	struct pipeline *pipeline;
	struct span public_url;
	int64_t now_ms;
	int64_t due_ms; /* 0: it was asked for */
	const struct webhook_row *webhook;
	struct store_reader *reader;
	struct arena *arena;
	struct report_span of;
	struct report_incidents incidents;
	struct job_search_result jobs[REPORT_JOBS_COUNT];
	uint64_t silent; /* of the running jobs */
	struct report_loss *losses; /* of the running jobs that are shown */
	struct span *whys; /* of the failed jobs that are shown: why, and the fault that their log told of */
	struct report_lost lost;
};

/* ---- what there is to say ---- */

static enum status read_losses(struct reporting *r, struct error *err)
{
	const struct job_search_result *running = &r->jobs[REPORT_RUNNING];

	r->losses = arena_alloc(r->arena, (running->count + 1) * sizeof *r->losses);
	if (!r->losses)
		return error_no_memory(err);
	for (size_t i = 0; i < running->count; i++)
		TRY(report_read_loss(r->reader, r->arena, running->rows[i].job_id, &r->losses[i], err));
	return OK;
}

static enum status count_silent(struct reporting *r, struct error *err)
{
	struct job_search search;
	struct job_search_result found;

	TRY(report_search_silent(&r->of, r->pipeline->options.silent_ms, r->arena, &search, err));
	search.limit_ms = SEARCH_MS;
	TRY(store_search_jobs(r->reader, r->arena, &search, &found, err));
	r->silent = found.total;
	return OK;
}

/* "": its failure is over by now. */
static enum status read_failure(struct reporting *r, const struct job_row *job, struct span *facts, struct error *err)
{
	struct incident_filter filter = {.job_id = job->job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_JOB_FAILED,
		.cursor = SPAN(""),
		.limit = 1};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	TRY(store_read_incidents(r->reader, r->arena, &filter, &rows, &count, &cursor, err));
	*facts = count ? rows[0].facts : SPAN("");
	return OK;
}

/* An incident has its facts alone; its job may be gone by now. */
static enum status read_detail(struct reporting *r, struct incident_row *row, struct error *err)
{
	struct job_row job;

	enum status status = store_read_job_by_id(r->reader, r->arena, row->job_id, &job, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	return known_fault_say_again(r->arena, job.failure_reason, row->facts, &row->detail, err);
}

static enum status read_whys(struct reporting *r, struct error *err)
{
	const struct job_search_result *failed = &r->jobs[REPORT_FAILED];

	for (size_t i = 0; i < r->incidents.count && i < INCIDENTS_SHOWN; i++)
		if (r->incidents.rows[i].incident.kind == INCIDENT_JOB_FAILED)
			TRY(read_detail(r, &r->incidents.rows[i], err));
	r->whys = arena_alloc(r->arena, (failed->count + 1) * sizeof *r->whys);
	if (!r->whys)
		return error_no_memory(err);
	for (size_t i = 0; i < failed->count; i++) {
		struct span facts;
		TRY(read_failure(r, &failed->rows[i], &facts, err));
		TRY(known_fault_say_again(r->arena, failed->rows[i].failure_reason, facts, &r->whys[i], err));
	}
	return OK;
}

static enum status gather(struct reporting *r, struct error *err)
{
	for (int which = 0; which < REPORT_JOBS_COUNT; which++) {
		struct job_search search;
		TRY(report_search(&r->of, (enum report_jobs)which, r->arena, &search, err));
		search.limit = JOBS_SHOWN;
		search.limit_ms = SEARCH_MS;
		TRY(store_search_jobs(r->reader, r->arena, &search, &r->jobs[which], err));
	}
	TRY(report_read_incidents(r->reader, r->arena, &r->of, &r->incidents, err));
	TRY(report_read_lost(r->reader, r->arena, &r->of, &r->lost, err));
	TRY(count_silent(r, err));
	TRY(read_whys(r, err));
	return read_losses(r, err);
}

/* ---- in words ---- */

static void append_count(struct buf *out, uint64_t count, const char *one, const char *many)
{
	buf_printf(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

/* "Report of nlp: 2 jobs failed, 3 incidents" */
static void append_title(const struct reporting *r, struct buf *out)
{
	uint64_t failed = r->jobs[REPORT_FAILED].total, incidents = r->incidents.count;

	buf_append_text(out, "Report");
	if (r->webhook->team.len)
		buf_printf(out, " of %.*s", SPAN_ARGS(r->webhook->team));
	buf_append_text(out, failed || incidents ? ": " : ": nothing went wrong");
	if (failed)
		append_count(out, failed, "job failed", "jobs failed");
	if (failed && incidents)
		buf_append_text(out, ", ");
	if (incidents)
		append_count(out, incidents, "incident", "incidents");
}

static void append_incidents(const struct reporting *r, struct buf *out)
{
	const char *separator = " (";

	append_count(out, r->incidents.count, "incident", "incidents");
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		if (r->incidents.by_severity[severity]) {
			buf_printf(out, "%s%zu %s", separator, r->incidents.by_severity[severity],
				severity_name((enum severity)severity));
			separator = ", ";
		}
	if (r->incidents.count)
		buf_append_char(out, ')');
}

static void append_moment(const struct zone *zone, int64_t utc_ms, struct buf *out)
{
	char text[ISO8601_BYTES];

	iso8601_format(utc_ms + zone_offset_ms(zone, utc_ms), text);
	text[MINUTE_TEXT_BYTES - 6] = ' ';
	buf_append(out, text, MINUTE_TEXT_BYTES);
}

/* " 2 breaks lost 3.4 node-hours.", or of such as began before and went on within */
static void append_lost(const struct reporting *r, struct buf *out)
{
	if (!r->lost.breaks && r->lost.lost_node_ms <= 0)
		return;
	buf_append_char(out, ' ');
	if (r->lost.breaks)
		append_count(out, (uint64_t)r->lost.breaks, "break", "breaks");
	else
		buf_append_text(out, "Earlier breaks");
	buf_printf(out, " lost %.4g node-hours.", (double)r->lost.lost_node_ms / HOUR_MS);
}

/* "From 2026-11-28 07:30 to 2026-11-29 07:30 (UTC): 3 incidents (1 critical, 2 warning). Jobs: 2 failed, 4 ended, 1 started, 5 run now
 * (2 of them silent). 2 breaks lost 3.4 node-hours." */
static enum status append_summary(const struct reporting *r, struct buf *out, struct error *err)
{
	AUTO(zone) zone = NULL;
	struct span tz = r->webhook->report_tz.len ? r->webhook->report_tz : SPAN("UTC");

	TRY(zone_new(&zone, r->webhook->report_tz, err));
	buf_append_text(out, "From ");
	append_moment(zone, r->of.from_ms, out);
	buf_append_text(out, " to ");
	append_moment(zone, r->of.to_ms, out);
	buf_printf(out, " (%.*s): ", SPAN_ARGS(tz));
	append_incidents(r, out);
	buf_printf(out, ". Jobs: %" PRIu64 " failed, %" PRIu64 " ended, %" PRIu64 " started, %" PRIu64 " run now",
		r->jobs[REPORT_FAILED].total, r->jobs[REPORT_ENDED].total, r->jobs[REPORT_STARTED].total,
		r->jobs[REPORT_RUNNING].total);
	if (r->silent)
		buf_printf(out, " (%" PRIu64 " of them silent)", r->silent);
	buf_append_char(out, '.');
	append_lost(r, out);
	return buf_status(out, err);
}

static enum severity worst(const struct reporting *r)
{
	if (r->incidents.by_severity[SEVERITY_CRITICAL])
		return SEVERITY_CRITICAL;
	bool is_bad = r->incidents.by_severity[SEVERITY_WARNING] || r->jobs[REPORT_FAILED].total;
	return is_bad ? SEVERITY_WARNING : SEVERITY_INFO;
}

/* ---- addresses ---- */

/* The page of just that time, whenever it is opened. */
static void append_report_url(const struct reporting *r, struct buf *out)
{
	buf_append_span(out, r->public_url);
	buf_printf(out, "/report?from_ms=%" PRId64 "&to_ms=%" PRId64, r->of.from_ms, r->of.to_ms);
	if (r->webhook->team.len) {
		buf_append_text(out, "&q=team%3D%22");
		buf_append_percent_encoded(out, r->webhook->team);
		buf_append_text(out, "%22");
	}
}

static void append_job_url(const struct reporting *r, struct span job, struct buf *out)
{
	buf_append_span(out, r->public_url);
	buf_append_text(out, "/jobs/");
	buf_append_percent_encoded(out, job);
}

/* ---- as JSON ---- */

static void write_incidents(const struct reporting *r, struct json_writer *w)
{
	json_key(w, "incidents");
	json_object(w);
	json_put_i64(w, "total", (int64_t)r->incidents.count);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		json_put_i64(w, severity_name((enum severity)severity), (int64_t)r->incidents.by_severity[severity]);
	json_put_bool(w, "more", r->incidents.has_more);
	json_key(w, "incidents");
	json_array(w);
	for (size_t i = 0; i < r->incidents.count && i < INCIDENTS_SHOWN; i++)
		rule_write_told(&r->incidents.rows[i], r->public_url, w);
	json_array_end(w);
	json_object_end(w);
}

static void write_loss(
	const struct reporting *r, struct span job, const struct report_loss *loss, struct json_writer *w)
{
	AUTO_DONE(buf) chart = BUF_INIT(URL_MAX_BYTES);

	if (!loss->metric.len)
		return;
	json_put_i64(w, "step", loss->step);
	json_key(w, "loss");
	json_object(w);
	json_put_span(w, "metric", loss->metric);
	json_put_double(w, "last", loss->last);
	if (loss->has_best) {
		json_put_double(w, "best", loss->best);
		json_put_i64(w, "best_step", loss->best_step);
	}
	json_object_end(w);
	rule_append_chart_url(&chart, job, loss->metric, r->public_url);
	json_put_span(w, "chart", buf_span(&chart));
}

static int64_t silent_since(const struct reporting *r, const struct job_row *job, const struct report_loss *loss)
{
	return loss ? heard_silent_since(r->pipeline, job, loss->heard_ms) : 0;
}

static void write_job(const struct reporting *r, enum report_jobs which, const struct job_row *job,
	const struct report_loss *loss, struct json_writer *w)
{
	AUTO_DONE(buf) url = BUF_INIT(URL_MAX_BYTES);
	int64_t known_ms;

	append_job_url(r, job->name, &url);
	json_object(w);
	json_put_span(w, "job", job->name);
	json_put_span(w, "status", job->status);
	if (job->failure_reason.len)
		json_put_span(w, "reason", span_cut(job->failure_reason, REASON_MAX_BYTES));
	if (job->started_ms)
		json_put_i64(w, "started_ms", job->started_ms);
	if (job->ended_ms)
		json_put_i64(w, "ended_ms", job->ended_ms);
	if (report_job_is_late(&r->of, which, job, &known_ms)) {
		json_put_bool(w, "late", true);
		json_put_i64(w, "known_ms", known_ms);
	}
	if (silent_since(r, job, loss))
		json_put_i64(w, "silent_since_ms", silent_since(r, job, loss));
	if (loss)
		write_loss(r, job->name, loss, w);
	json_put_span(w, "url", buf_span(&url));
	json_object_end(w);
}

static void write_jobs(const struct reporting *r, enum report_jobs which, struct json_writer *w)
{
	const struct job_search_result *found = &r->jobs[which];

	json_key(w, report_jobs_name(which));
	json_object(w);
	json_put_i64(w, "total", (int64_t)found->total);
	if (which == REPORT_RUNNING)
		json_put_i64(w, "silent", (int64_t)r->silent);
	if (found->is_partial)
		json_put_bool(w, "partial", true);
	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < found->count; i++)
		write_job(r, which, &found->rows[i], which == REPORT_RUNNING ? &r->losses[i] : NULL, w);
	json_array_end(w);
	json_object_end(w);
}

/* ---- lines of a chat ---- */

/* A link's text is one line: what a log or a reason breaks is put together. */
static void write_line(struct json_writer *w, struct buf *text, const struct buf *url)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->ptr[i] < ' ')
			text->ptr[i] = ' ';
	json_object(w);
	json_put_span(w, "text", span_cut(buf_span(text), LINE_MAX_BYTES));
	json_put_span(w, "url", buf_span(url));
	json_object_end(w);
}

static void write_incident_line(const struct reporting *r, const struct incident_row *row, struct json_writer *w)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES), url = BUF_INIT(URL_MAX_BYTES);

	buf_printf(&text, "%s: ", severity_name(row->incident.severity));
	rule_append_summary(&text, row);
	if (report_is_late(&r->of, row->incident.opened_ms))
		buf_append_text(&text, LATE);
	rule_append_url(&url, row, r->public_url);
	write_line(w, &text, &url);
}

/* "llama runs", "llama has been silent for 6.2 h" */
static void append_how_it_runs(
	const struct reporting *r, const struct job_row *job, const struct report_loss *loss, struct buf *out)
{
	int64_t silent_ms = silent_since(r, job, loss), for_ms = r->now_ms - silent_ms;

	if (!silent_ms)
		buf_append_text(out, " runs");
	else if (for_ms < HOUR_MS)
		buf_printf(out, " has been silent for %" PRId64 " min", for_ms / MINUTE_MS);
	else
		buf_printf(out, " has been silent for %.3g h", (double)for_ms / HOUR_MS);
}

/* "gpt failed: exit code 1; NCCL timeout on gpu007: …", "llama runs: step 1200, loss 2.31, best 2.28 at 1100" */
static void write_job_line(const struct reporting *r, const struct job_row *job, struct span why,
	const struct report_loss *loss, struct json_writer *w)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES), url = BUF_INIT(URL_MAX_BYTES);
	int64_t known_ms;

	append_job_url(r, job->name, &url);
	buf_append_span(&text, job->name);
	if (loss)
		append_how_it_runs(r, job, loss, &text);
	else
		buf_append_text(&text, " failed");
	if (!loss && report_job_is_late(&r->of, REPORT_FAILED, job, &known_ms))
		buf_append_text(&text, LATE);
	if (why.len)
		buf_printf(&text, ": %.*s", SPAN_ARGS(span_cut(why, REASON_MAX_BYTES)));
	if (loss && loss->metric.len)
		buf_printf(&text, ": step %" PRId64 ", loss %.4g", loss->step, loss->last);
	if (loss && loss->has_best && isfinite(loss->best))
		buf_printf(&text, ", best %.4g at %" PRId64, loss->best, loss->best_step);
	write_line(w, &text, &url);
}

static void write_lines(const struct reporting *r, struct json_writer *w)
{
	const struct job_search_result *failed = &r->jobs[REPORT_FAILED], *running = &r->jobs[REPORT_RUNNING];

	json_key(w, "lines");
	json_array(w);
	for (size_t i = 0; i < r->incidents.count && i < INCIDENTS_SHOWN; i++)
		write_incident_line(r, &r->incidents.rows[i], w);
	for (size_t i = 0; i < failed->count && i < JOBS_IN_LINES; i++)
		write_job_line(r, &failed->rows[i], r->whys[i], NULL, w);
	for (size_t i = 0; i < running->count && i < JOBS_IN_LINES; i++)
		write_job_line(r, &running->rows[i], SPAN(""), &r->losses[i], w);
	json_array_end(w);
}

/* ---- the message ---- */

static enum status write_data(const struct reporting *r, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf)
	title = BUF_INIT(TEXT_MAX_BYTES), summary = BUF_INIT(TEXT_MAX_BYTES), url = BUF_INIT(URL_MAX_BYTES);

	append_title(r, &title);
	TRY(append_summary(r, &summary, err));
	append_report_url(r, &url);
	json_object(w);
	json_put_text(w, "kind", "report");
	json_put_text(w, "severity", severity_name(worst(r)));
	json_put_span(w, "title", buf_span(&title));
	json_put_span(w, "summary", buf_span(&summary));
	json_put_span(w, "url", buf_span(&url));
	json_put_i64(w, "from_ms", r->of.from_ms);
	json_put_i64(w, "to_ms", r->of.to_ms);
	if (r->due_ms)
		json_put_i64(w, "due_ms", r->due_ms);
	write_incidents(r, w);
	for (int which = 0; which < REPORT_JOBS_COUNT; which++)
		write_jobs(r, (enum report_jobs)which, w);
	json_key(w, "lost");
	json_object(w);
	json_put_i64(w, "breaks", r->lost.breaks);
	json_put_double(w, "lost_node_hours", (double)r->lost.lost_node_ms / HOUR_MS);
	json_object_end(w);
	write_lines(r, w);
	json_object_end(w);
	return OK;
}

static enum status open_reader(
	struct pipeline *pipeline, struct span team, struct store_reader **out, struct error *err)
{
	if (!team.len)
		return store_reader_new(out, pipeline->options.store, err);
	TRY(store_reader_new_narrow(out, pipeline->options.store, err));
	return store_reader_narrow_to(*out, team, err);
}

enum status report_write_message(struct pipeline *pipeline, const struct webhook_row *webhook,
	const struct report_plan *plan, struct buf *out, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct json_writer w = json_writer_on(out);
	char now[ISO8601_BYTES];

	if (!arena)
		return error_no_memory(err);
	TRY(open_reader(pipeline, webhook->team, &reader, err));
	struct reporting r = {.pipeline = pipeline,
		.public_url = pipeline->options.public_url,
		.webhook = webhook,
		.now_ms = clock_wall_ms(),
		.due_ms = plan->is_told ? plan->to_ms : 0,
		.reader = reader,
		.arena = arena,
		.of = {.from_ms = plan->from_ms, .to_ms = plan->to_ms}};
	TRY(gather(&r, err));
	iso8601_format(r.now_ms, now);
	json_object(&w);
	json_put_text(&w, "type", "fleet.report");
	json_put_text(&w, "timestamp", now);
	json_key(&w, "data");
	TRY(write_data(&r, &w, err));
	json_object_end(&w);
	return buf_status(out, err);
}
