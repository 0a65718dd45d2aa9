#include "alert/rule.h"
#include "base/text/iso8601.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "store/faults.h"

#include <inttypes.h>
#include <stdio.h>

enum { ID_BYTES = 48, SENTENCE_MAX_BYTES = 4096, DETAIL_MAX_BYTES = 1000, FACTS_MAX_BYTES = 64 << 10 };

static void put_id(struct json_writer *w, const struct incident_row *row)
{
	char id[ID_BYTES];

	snprintf(id, sizeof id, "%" PRId64 "-%" PRIu32, row->job_id, row->incident_id);
	json_put_text(w, "id", id);
}

/* What else it is one with. */
static void put_group(struct json_writer *w, const struct incident_row *row)
{
	char id[ID_BYTES];

	if (row->muted_until_ms)
		json_put_i64(w, "muted_until_ms", row->muted_until_ms);
	if (row->incident.rule_id)
		json_put_i64(w, "rule", row->incident.rule_id);
	if (row->cause_id) {
		snprintf(id, sizeof id, "%" PRId64 "-%" PRIu32, row->job_id, row->cause_id);
		json_put_text(w, "cause_id", id);
	}
	if (row->folded)
		json_put_i64(w, "stream_count", (int64_t)row->folded + 1);
	if (!row->stream_count)
		return;
	json_key(w, "streams");
	json_array(w);
	for (size_t i = 0; i < row->stream_count; i++)
		json_span(w, row->streams[i]);
	json_array_end(w);
}

/* What lines of the log said, of all streams. */
static void put_said(struct json_writer *w, const struct incident_said *said)
{
	json_put_i64(w, "count", (int64_t)said->count);
	json_put_i64(w, "stream_count", (int64_t)said->stream_count);
	json_key(w, "streams");
	json_array(w);
	for (size_t i = 0; i < said->named; i++)
		json_span(w, said->streams[i]);
	json_array_end(w);
	json_key(w, "signatures");
	json_array(w);
	for (size_t i = 0; i < said->signature_count; i++)
		json_span(w, said->signatures[i]);
	json_array_end(w);
	json_put_i64(w, "last_ms", said->last_ms);
	json_put_span(w, "last_stream", said->last_stream);
	json_put_i64(w, "last_line", (int64_t)said->last_line);
	json_put_span(w, "last_text", said->last_text);
}

static void put_evidence(struct json_writer *w, const struct incident_row *row)
{
	const struct incident *incident = &row->incident;

	json_key(w, "evidence");
	json_object(w);
	json_put_double(w, "value", incident->value);
	json_put_double(w, "expected", incident->expected);
	json_put_double(w, "spread", incident->spread);
	json_put_double(w, "score", incident->score);
	json_put_double(w, "worst", incident->worst);
	json_put_i64(w, "worst_step", incident->worst_step);
	if (incident->line != NO_LINE) {
		json_key(w, "line");
		json_u64(w, incident->line);
	}
	json_members(w, row->facts);
	if (row->said)
		put_said(w, row->said);
	json_object_end(w);
}

void incident_put(const struct incident_row *row, struct json_writer *w)
{
	const struct incident *incident = &row->incident;

	put_id(w, row);
	json_put_text(w, "kind", incident_kind_name(incident->kind));
	json_put_text(w, "severity", severity_name(incident->severity));
	json_put_text(w, "state", incident_state_name(row->has_open_fold ? INCIDENT_OPEN : incident->state));
	json_put_span(w, "job", row->job);
	json_put_span(w, "metric", row->metric);
	json_put_span(w, "stream", row->stream);
	json_put_i64(w, "first_step", incident->first_step);
	json_put_i64(w, "last_step", incident->last_step);
	json_put_i64(w, "opened_step", incident->opened_step);
	json_put_i64(w, "opened_ms", incident->opened_ms);
	if (incident->closed_ms && !row->has_open_fold)
		json_put_i64(w, "closed_ms", incident->closed_ms);
	if (incident_close_name(incident->closed_why) && !row->has_open_fold)
		json_put_text(w, "closed_why", incident_close_name(incident->closed_why));
	if (row->acknowledged_ms)
		json_put_i64(w, "acknowledged_ms", row->acknowledged_ms);
	put_group(w, row);
	json_put_bool(w, "is_historic", incident->is_historic);
	put_evidence(w, row);
}

void incident_write_json(const struct incident_row *row, struct json_writer *w)
{
	json_object(w);
	incident_put(row, w);
	json_object_end(w);
}

/* Three or four digits are enough on a phone; the exact figure is in the evidence. */
static void append_figure(struct buf *out, double value)
{
	buf_printf(out, "%.4g", value);
}

static void append_detail(struct buf *out, struct span detail)
{
	size_t len = detail.len < DETAIL_MAX_BYTES ? detail.len : DETAIL_MAX_BYTES;

	while (len < detail.len && len && (detail.ptr[len] & 0xc0) == 0x80)
		len--; /* not within a character */
	if (len)
		buf_append_span(out, span_of(detail.ptr, len));
}

/* "the log text of llama-7b (12.3 MB) will be deleted on 2026-12-01T…: pin the job to keep it" */
static void append_retention(struct buf *out, const struct incident_row *row)
{
	const double latest_ms = 253402300799999; /* the end of the year 9999 */
	double due_ms = row->incident.value;
	char due[ISO8601_BYTES];

	iso8601_format(due_ms >= 0 && due_ms <= latest_ms ? (int64_t)due_ms : 0, due);
	buf_append_text(out, "the log text of ");
	buf_append_span(out, row->job);
	buf_printf(
		out, " (%.1f MB) will be deleted about %s; pin the job to keep it", row->incident.expected / 1e6, due);
}

/* Of the fault in its evidence: its own log, or another job's, which is not named to those who may not read it. */
static void append_whose_log(struct buf *out, struct span facts)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	AUTO(json) evidence = NULL;
	const struct json *fault = NULL;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(facts));
	if (!text.failure && json_parse(&evidence, buf_span(&text), NULL) == OK)
		fault = json_get(evidence, "fault");
	struct span told_by = json_string_of(json_get(fault, "told_by"));
	if (!fault || json_get(fault, "stream"))
		buf_append_text(out, "its log");
	else if (told_by.len)
		buf_printf(out, "the log of %.*s", SPAN_ARGS(told_by));
	else
		buf_append_text(out, "another job's log");
}

/* "llama-7b has said nothing for 125 s (longest pause of late: 8 s), last step 1200; its log had said: NCCL timeout on …" */
static void append_stall(struct buf *out, const struct incident_row *row)
{
	const struct incident *incident = &row->incident;

	buf_append_span(out, row->job);
	if (incident->state == INCIDENT_RECOVERED) {
		buf_append_text(out, " is heard again, or is over, after a silence of ");
		append_figure(out, incident->worst);
		buf_append_text(out, " s");
		return;
	}
	buf_append_text(out, " has said nothing for ");
	append_figure(out, incident->value);
	buf_append_text(out, " s (longest pause of late: ");
	append_figure(out, incident->spread);
	buf_printf(out, " s), last step %" PRId64, incident->opened_step);
	if (row->detail.len) {
		buf_append_text(out, "; ");
		append_whose_log(out, row->facts);
		buf_append_text(out, " had said: ");
		append_detail(out, row->detail);
	}
}

/* "llama-7b says: loss is high: 3.1 at step 500" */
static void append_training_alert(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	buf_append_text(out, " says: ");
	append_detail(out, row->detail);
}

/* "llama-7b will need 130 h, and is stopped after 120 h" */
static void append_deadline(struct buf *out, const struct incident_row *row)
{
	const double hour_s = 3600;

	buf_append_span(out, row->job);
	if (row->incident.state == INCIDENT_OPEN)
		buf_printf(out, " will need %.4g h, and is stopped after %.4g h", row->incident.value / hour_s,
			row->incident.expected / hour_s);
	else
		buf_append_text(out, " will be done in time, or is over");
}

/* "llama-7b has written no checkpoint for 2100 steps (usual: 1000)" */
static void append_overdue(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state == INCIDENT_OPEN && !row->incident.opened_ordinal) {
		buf_printf(out, " has written no checkpoint so far, in %.3g h of training, and has a CheckpointConfig",
			row->incident.value / 3600);
	} else if (row->incident.state == INCIDENT_OPEN) {
		buf_printf(out, " has written no checkpoint for %.4g ", row->incident.value);
		append_detail(out, row->detail);
		buf_printf(out, " (usual: %.4g)", row->incident.expected);
	} else {
		buf_append_text(out, " has written a checkpoint again, or is over");
	}
}

/* "llama-7b is not where it was after its restart (attempt 3): older checkpoint, 2.51 at step 1200 (before: 2.31)" */
static void append_restart(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state != INCIDENT_OPEN) {
		buf_append_text(out, " was restarted again, or is over: the restart that differed counts no more");
		return;
	}
	buf_printf(out, " is not where it was after its restart (attempt %" PRIu64 "): ", row->incident.opened_ordinal);
	append_detail(out, row->detail);
	buf_append_text(out, row->detail.len ? ", " : "");
	append_figure(out, row->incident.value);
	buf_printf(out, " at step %" PRId64 " (before: ", row->incident.opened_step);
	append_figure(out, row->incident.expected);
	buf_append_text(out, ")");
}

/* "llama-7b communicates with nothing beside for 34.2 % of the GPU's time (usual: 12.1 %): communication takes longer, algo-1" */
static void append_exposed(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state != INCIDENT_OPEN) {
		buf_append_text(out, " communicates beside its computation again as usual");
		return;
	}
	buf_printf(out, " communicates with nothing beside for %.1f %% of the GPU's time (usual: %.1f %%): ",
		row->incident.value, row->incident.expected);
	append_detail(out, row->detail);
}

/* "llama-7b waits for data for 31.0 % of a step since step 1200 (usual: 5.0 %)" */
static void append_data_wait(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state == INCIDENT_OPEN)
		buf_printf(out, " waits for data for %.1f %% of a step since step %" PRId64 " (usual: %.1f %%)",
			row->incident.value, row->incident.opened_step, row->incident.expected);
	else
		buf_append_text(out, " waits for data as usual, or is over");
}

/* "llama-7b trains with a learning rate of 6.6e-05 since step 101 (declared: 6e-05)" */
static void append_rate(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state != INCIDENT_OPEN) {
		buf_append_text(out, " trains with the declared learning rate again, or is over");
		return;
	}
	buf_append_text(out, " trains with a learning rate of ");
	append_figure(out, row->incident.value);
	buf_printf(out, " since step %" PRId64 " (declared: ", row->incident.opened_step);
	append_figure(out, row->incident.expected);
	buf_append_text(out, ")");
}

/* A text of the evidence, behind `before`; false: it has none, and nothing is there: the sentence is whole without it. */
static bool append_fact_behind(struct buf *out, const char *before, struct span facts, const char *key)
{
	AUTO_DONE(buf) text = BUF_INIT(SENTENCE_MAX_BYTES);
	AUTO(json) evidence = NULL;
	struct error err;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(facts));
	if (text.failure || json_parse(&evidence, buf_span(&text), &err) != OK)
		return false;
	struct span fact = json_string_of(json_get(evidence, key));
	if (!fact.len)
		return false;
	buf_append_text(out, before);
	append_detail(out, fact);
	return true;
}

/* What is of a line: only that tells which fault it was, and of which machine. */
static bool is_said(enum incident_kind kind)
{
	return kind == INCIDENT_LOG_SIGNATURE || kind == INCIDENT_NODE_SUSPECT;
}

/* Of one that was read from the store its facts alone are known. */
static void append_what_was_said(struct buf *out, const struct incident_row *row)
{
	if (row->detail.len) {
		buf_append_text(out, ": ");
		append_detail(out, row->detail);
		return;
	}
	if (!append_fact_behind(out, ": ", row->facts, "summary")) { /* an older server's */
		append_fact_behind(out, ": ", row->facts, "title");
		append_fact_behind(out, " on ", row->facts, "host");
	}
	append_fact_behind(out, ": ", row->facts, "text");
}

/* "llama-7b: GPU has fallen off the bus on gpu017: NVRM: Xid …" */
static void append_said(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	if (row->incident.state != INCIDENT_OPEN)
		buf_append_text(out, row->incident.kind == INCIDENT_NODE_SUSPECT
					     ? " does not run any more on the machine that was at fault"
					     : ": what its log said was not said again");
	append_what_was_said(out, row);
}

/* "llama-7b's hellaswag/acc fell to 0.51 at step 2000 (before: 0.56, 2.5 standard errors)" */
static void append_fall(struct buf *out, const struct incident_row *row)
{
	const struct incident *incident = &row->incident;

	buf_append_span(out, row->job);
	buf_append_text(out, "'s ");
	append_fact_behind(out, "", row->facts, "task");
	append_fact_behind(out, "/", row->facts, "task_metric");
	if (incident->state != INCIDENT_OPEN) {
		buf_printf(out, " has a newer figure than the one of step %" PRId64 " that fell, or none any more",
			incident->opened_step);
		return;
	}
	buf_append_text(out, incident->value > incident->expected ? " rose to " : " fell to ");
	append_figure(out, incident->value);
	buf_printf(out, " at step %" PRId64 " (before: ", incident->opened_step);
	append_figure(out, incident->expected);
	if (incident->spread > 0)
		buf_printf(out, ", %.1f standard errors", incident->score);
	buf_append_char(out, ')');
}

/* "llama-7b failed: CUDA out of memory" */
static void append_failure(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->job);
	buf_append_text(out, row->incident.state == INCIDENT_OPEN ? " failed" : " goes on after its failure");
	if (row->detail.len && row->incident.state == INCIDENT_OPEN) {
		buf_append_text(out, ": ");
		append_detail(out, row->detail);
	}
}

/* "loss of llama-7b: rule slow start: 12.3 at step 1200 (against: 4), algo-1" */
static void append_rule(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->metric);
	buf_append_text(out, " of ");
	buf_append_span(out, row->job);
	buf_append_text(out, row->incident.state == INCIDENT_OPEN ? ": rule " : " is not any more as rule ");
	if (row->detail.len)
		buf_append_span(out, row->detail);
	else
		buf_printf(out, "%" PRId64, row->incident.rule_id);
	if (row->incident.state != INCIDENT_OPEN) {
		buf_printf(out, " says, after step %" PRId64 " (worst ", row->incident.last_step);
		append_figure(out, row->incident.worst);
		buf_append_char(out, ')');
	} else {
		buf_append_text(out, ": ");
		append_figure(out, row->incident.value);
		buf_printf(out, " at step %" PRId64 " (against: ", row->incident.opened_step);
		append_figure(out, row->incident.expected);
		buf_append_char(out, ')');
	}
	buf_append_text(out, ", ");
	buf_append_span(out, row->stream);
}

/* "train:loss of llama-7b: its definition has found no value for 84 lines (longest before: 1), algo-1" */
static void append_silent(struct buf *out, const struct incident_row *row)
{
	buf_append_span(out, row->metric);
	buf_append_text(out, " of ");
	buf_append_span(out, row->job);
	if (row->incident.state == INCIDENT_OPEN)
		buf_printf(out, ": its definition has found no value for %.0f lines (longest before: %.0f), ",
			row->incident.value, row->incident.expected);
	else
		buf_printf(out, ": its definition finds values again, after %.0f lines without, ", row->incident.worst);
	buf_append_span(out, row->stream);
}

/* "train:loss of llama-7b: loss_spike, until the job ended, algo-1",
 * "llama-7b: node_suspect: Xid 79: GPU has fallen off the bus on gpu017, until the job ended" */
static void append_other_end(struct buf *out, const struct incident_row *row)
{
	if (row->metric.len)
		buf_printf(out, "%.*s of ", SPAN_ARGS(row->metric));
	buf_printf(out, "%.*s: %s", SPAN_ARGS(row->job), incident_kind_name(row->incident.kind));
	if (row->incident.kind == INCIDENT_RULE && row->detail.len)
		buf_printf(out, " %.*s", SPAN_ARGS(row->detail));
	if (is_said(row->incident.kind))
		append_what_was_said(out, row);
	buf_printf(out, ", %s", incident_close_words(row->incident.closed_why));
	if (row->stream.len)
		buf_printf(out, ", %.*s", SPAN_ARGS(row->stream));
}

/* "train:loss of llama-7b jumped to 12.3 at step 1200 (usual: 2.1), algo-1" */
static void append_found(struct buf *out, const struct incident_row *row)
{
	const struct incident *incident = &row->incident;

	buf_append_span(out, row->metric);
	buf_append_text(out, " of ");
	buf_append_span(out, row->job);
	if (incident->state == INCIDENT_RECOVERED) {
		buf_printf(out, " is back to normal after step %" PRId64 "; it was %s from step %" PRId64 " on (worst ",
			incident->last_step, incident_kind_name(incident->kind), incident->first_step);
		append_figure(out, incident->worst);
		buf_append_text(out, ")");
	} else {
		buf_append_text(out, incident_kind_verb(incident->kind));
		append_figure(out, incident->value);
		buf_printf(out, " at step %" PRId64 " (usual: ", incident->opened_step);
		append_figure(out, incident->expected);
		buf_append_text(out, ")");
	}
	buf_append_text(out, ", ");
	buf_append_span(out, row->stream);
	if (incident->kind == INCIDENT_STRAGGLER)
		append_fact_behind(out, " on ", row->facts, "host");
}

typedef void append_words(struct buf *out, const struct incident_row *row);

/* Some kinds have words of their own. */
static void append_summary(struct buf *out, const struct incident_row *row)
{
	static append_words *const writers[INCIDENT_KIND_COUNT] = {[INCIDENT_DEADLINE] = append_deadline,
		[INCIDENT_CHECKPOINT_OVERDUE] = append_overdue,
		[INCIDENT_RESTART_DIFFERS] = append_restart,
		[INCIDENT_COMMUNICATION_EXPOSED] = append_exposed,
		[INCIDENT_DATA_WAIT] = append_data_wait,
		[INCIDENT_RATE_DRIFTS] = append_rate,
		[INCIDENT_EVALUATION_FELL] = append_fall,
		[INCIDENT_TRAINING_ALERT] = append_training_alert,
		[INCIDENT_DEFINITION_SILENT] = append_silent,
		[INCIDENT_LOG_SIGNATURE] = append_said,
		[INCIDENT_NODE_SUSPECT] = append_said,
		[INCIDENT_RETENTION_DUE] = append_retention,
		[INCIDENT_STALL] = append_stall,
		[INCIDENT_RULE] = append_rule,
		[INCIDENT_JOB_FAILED] = append_failure};
	unsigned kind = (unsigned)row->incident.kind;

	(kind < INCIDENT_KIND_COUNT && writers[kind] ? writers[kind] : append_found)(out, row);
}

void rule_append_summary(struct buf *out, const struct incident_row *row)
{
	if (incident_close_words(row->incident.closed_why))
		append_other_end(out, row);
	else
		append_summary(out, row);
}

void rule_append_url(struct buf *out, const struct incident_row *row, struct span public_url)
{
	buf_append_span(out, public_url);
	buf_append_text(out, "/jobs/");
	buf_append_percent_encoded(out, row->job);
	buf_append_char(out, '?');
	if (row->metric.len) {
		buf_append_text(out, "metric=");
		buf_append_percent_encoded(out, row->metric);
		buf_append_char(out, '&');
	}
	if (row->metric.len || row->incident.opened_step) /* what is of a job alone, like its failure, is at no step */
		buf_printf(out, "step=%" PRId64 "&", row->incident.opened_step);
	buf_printf(out, "incident=%" PRId64 "-%" PRIu32, row->job_id, row->incident_id);
}

void rule_append_chart_url(struct buf *out, struct span job, struct span metric, struct span public_url)
{
	buf_append_span(out, public_url);
	buf_append_text(out, "/api/v1/jobs/");
	buf_append_percent_encoded(out, job);
	buf_append_text(out, "/chart.svg?metric=");
	buf_append_percent_encoded(out, metric);
}

void rule_write_told(const struct incident_row *row, struct span public_url, struct json_writer *w)
{
	AUTO_DONE(buf) sentence = BUF_INIT(SENTENCE_MAX_BYTES);
	AUTO_DONE(buf) url = BUF_INIT(SENTENCE_MAX_BYTES);

	rule_append_summary(&sentence, row);
	rule_append_url(&url, row, public_url);
	json_object(w);
	incident_put(row, w);
	json_put_span(w, "summary", buf_span(&sentence));
	json_put_span(w, "url", buf_span(&url));
	json_object_end(w);
}

void rule_write_message(const struct incident_row *incident, struct span public_url, int64_t now_ms, struct buf *out)
{
	bool is_open = incident->incident.state == INCIDENT_OPEN;
	struct json_writer w = json_writer_on(out);
	char now[ISO8601_BYTES];

	iso8601_format(now_ms, now);
	json_object(&w);
	json_put_text(&w, "type", is_open ? "incident.opened" : "incident.recovered");
	json_put_text(&w, "timestamp", now);
	json_key(&w, "data");
	rule_write_told(incident, public_url, &w);
	json_object_end(&w);
}

/* ---- many at once ---- */

struct tally {
	size_t open, jobs;
	size_t kinds[INCIDENT_KIND_COUNT];
	enum severity severity;
};

static struct tally tally_of(const struct incident_row *rows, size_t count)
{
	struct tally tally = {0};

	for (size_t i = 0; i < count; i++) {
		tally.open += rows[i].incident.state == INCIDENT_OPEN;
		tally.kinds[rows[i].incident.kind]++;
		if (rows[i].incident.severity > tally.severity)
			tally.severity = rows[i].incident.severity;
		bool is_new = true; /* they come ordered by time, then job: those of a job are mostly together */
		for (size_t j = i; is_new && j-- > 0 && i - j < 64;)
			is_new = rows[j].job_id != rows[i].job_id;
		tally.jobs += is_new;
	}
	return tally;
}

/* "64 incidents in 64 jobs, 60 of them still open: 64 non_finite" */
static void append_digest(struct buf *out, const struct tally *tally, size_t count)
{
	const char *separator = ": ";

	buf_printf(out, "%zu incidents in %zu job%s, %zu of them still open", count, tally->jobs,
		tally->jobs == 1 ? "" : "s", tally->open);
	for (unsigned kind = 0; kind < INCIDENT_KIND_COUNT; kind++)
		if (tally->kinds[kind]) {
			buf_printf(out, "%s%zu %s", separator, tally->kinds[kind], incident_kind_name(kind));
			separator = ", ";
		}
}

static void put_tally(struct json_writer *w, const struct tally *tally, size_t count)
{
	json_put_i64(w, "count", (int64_t)count);
	json_put_i64(w, "open", (int64_t)tally->open);
	json_put_i64(w, "jobs", (int64_t)tally->jobs);
	json_put_text(w, "severity", severity_name(tally->severity));
	json_put_text(w, "state", tally->open ? "open" : "recovered");
	json_key(w, "kinds");
	json_object(w);
	for (unsigned kind = 0; kind < INCIDENT_KIND_COUNT; kind++)
		if (tally->kinds[kind])
			json_put_i64(w, incident_kind_name(kind), (int64_t)tally->kinds[kind]);
	json_object_end(w);
}

static void put_shown(struct json_writer *w, const struct incident_row *rows, size_t count, struct span public_url)
{
	json_key(w, "incidents");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		rule_write_told(&rows[i], public_url, w);
	json_array_end(w);
}

void rule_write_digest(const struct incident_row *rows, size_t count, size_t shown, struct span public_url,
	int64_t now_ms, struct buf *out)
{
	AUTO_DONE(buf) sentence = BUF_INIT(SENTENCE_MAX_BYTES);
	AUTO_DONE(buf) url = BUF_INIT(SENTENCE_MAX_BYTES);
	struct json_writer w = json_writer_on(out);
	struct tally tally = tally_of(rows, count);
	char now[ISO8601_BYTES];

	iso8601_format(now_ms, now);
	append_digest(&sentence, &tally, count);
	buf_append_span(&url, public_url);
	buf_append_char(&url, '/');
	json_object(&w);
	json_put_text(&w, "type", "incidents.digest");
	json_put_text(&w, "timestamp", now);
	json_key(&w, "data");
	json_object(&w);
	put_tally(&w, &tally, count);
	put_shown(&w, rows, count < shown ? count : shown, public_url);
	json_put_span(&w, "summary", buf_span(&sentence));
	json_put_span(&w, "url", buf_span(&url));
	json_object_end(&w);
	json_object_end(&w);
}

void rule_write_plain(const char *type, const char *summary, struct span public_url, int64_t now_ms, struct buf *out)
{
	AUTO_DONE(buf) url = BUF_INIT(SENTENCE_MAX_BYTES);
	struct json_writer w = json_writer_on(out);
	char now[ISO8601_BYTES];

	iso8601_format(now_ms, now);
	buf_append_span(&url, public_url);
	buf_append_char(&url, '/');
	json_object(&w);
	json_put_text(&w, "type", type);
	json_put_text(&w, "timestamp", now);
	json_key(&w, "data");
	json_object(&w);
	json_put_text(&w, "severity", severity_name(SEVERITY_INFO));
	json_put_text(&w, "summary", summary);
	json_put_span(&w, "url", buf_span(&url));
	json_object_end(&w);
	json_object_end(&w);
}
