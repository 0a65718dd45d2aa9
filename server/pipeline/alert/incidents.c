/* What detectors said goes to the writer: the incident and its outbox rows in one transaction. */
#include "pipeline/alert/incidents.h"

#include "alert/rule.h"
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/alert/emergency.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/notices.h"
#include "pipeline/alert/rule_match.h"
#include "read/checkpoints.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/streams/told_metrics.h"
#include "state/jobs/history.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/stream_hosts.h"
#include "store/streams.h"
#include "store/transitions.h"

#include <stdio.h>

enum { FIRST_LOOKED_AT = 32, FACTS_MAX_BYTES = 16384 };

struct said {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	struct incident_row row; /* names live in the arena */
	struct series_row series;
	struct arena *arena;
	struct incident_effects told;
};

enum { EVENT_MAX_BYTES = 1 << 20 };

/* What a log prints and a tracker tells are two metrics that may be of one value. */
static enum status find_twin(struct store_reader *reader, struct arena *arena, uint32_t group_id,
	struct incident_row *row, struct error *err)
{
	struct incident_twin *twins;
	size_t count;

	TRY(store_read_twins(reader, arena, group_id, row, &twins, &count, err));
	for (size_t i = 0; i < count && !row->fold_id; i++)
		if (told_metrics_are_one(twins[i].metric, twins[i].role, row->metric, twins[i].row_role))
			row->fold_id = twins[i].incident_id;
	return OK;
}

/* One cause, one group: the newest that it belongs to, and in it the one of its kind and metric, of other streams alone, to show it in. */
static enum status find_cause(struct store_tx *tx, struct arena *arena, struct incident_row *row, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	struct incident_group group;
	struct incident_row *first;
	size_t count;

	TRY(store_read_first_incidents(reader, arena, row->job_id, FIRST_LOOKED_AT, &first, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (first[i].incident_id == row->incident_id || !incident_may_join(&first[i], row))
			continue;
		TRY(store_look_in_group(reader, first[i].incident_id, row, &group, err));
		if (!incident_joins(&group, &row->incident))
			continue;
		row->cause_id = first[i].incident_id;
		row->fold_id = group.fold_id;
		if (!row->fold_id)
			TRY(find_twin(reader, arena, row->cause_id, row, err));
		return store_set_cause(tx, row, err);
	}
	return OK;
}

/* Whose it is, for those who read it later; the text for the message. */
static enum status describe(const struct rule *rule, struct arena *arena, struct incident_row *row, struct error *err)
{
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_MAX_BYTES);
	struct json_writer w = json_writer_on(&facts);

	json_object(&w);
	json_put_span(&w, "rule_name", rule->name);
	json_put_span(&w, "expression", rule->expression_text);
	json_object_end(&w);
	TRY(buf_status(&facts, err));
	row->facts = arena_copy(arena, span_of(facts.ptr + 1, facts.len - 2)); /* its members alone */
	row->detail = arena_copy(arena, rule->name);
	return row->facts.ptr && row->detail.ptr ? OK : error_no_memory(err);
}

/* A rule's incident is of the jobs of its query alone, which is asked when it would open: where it did not, nothing ends. Of nobody
 * once the rule is gone. */
static enum status is_wanted(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	struct incident_row *row, bool *out, struct error *err)
{
	struct rule_set *set = pipeline_rules(pipeline);
	const struct rule *rule = rule_set_find(set, row->incident.rule_id);
	enum status status = OK;

	bool is_there = rule != NULL && rule->expression && rule->is_enabled;
	*out = is_there || row->incident.closed_why != INCIDENT_CLOSED_ITSELF;
	if (is_there && row->incident.state == INCIDENT_OPEN)
		status = rules_match_job(rule, tx, row->job, out, err);
	else if (*out)
		status = store_knows_incident(tx, row, out, err);
	if (is_there && *out && status == OK)
		status = describe(rule, arena, row, err);
	rule_set_unref(set);
	return status;
}

/* From where a run that goes wrong can go on. What a failed commit had here is found anew. */
static enum status add_checkpoint(struct store_tx *tx, struct arena *arena, struct incident_row *row,
	struct incident_effects *told, struct error *err)
{
	enum incident_kind kind = row->incident.kind;
	struct checkpoint_row *last;
	char attempt[16] = "null";
	size_t count;

	if (row->facts.len ||
		(kind != INCIDENT_LOSS_SPIKE && kind != INCIDENT_DIVERGENCE && kind != INCIDENT_NON_FINITE))
		return OK;
	TRY(checkpoints_read(store_tx_reader(tx), arena, row->job_id, row->incident.opened_ms, 1, &last, &count, err));
	if (!count)
		return OK;
	if (last->attempt)
		snprintf(attempt, sizeof attempt, "%u", last->attempt);
	snprintf(told->facts, sizeof told->facts,
		"\"last_checkpoint\":{\"step\":%lld,\"attempt\":%s,\"ts_ms\":%lld},\"action\":\"resume from the checkpoint of "
		"step %lld, and skip some batches\"",
		(long long)last->step, attempt, (long long)last->ts_ms, (long long)last->step);
	row->facts = span_from(told->facts);
	return OK;
}

/* Which machine was slow: the one that sent the stream then. */
static enum status add_host(struct store_tx *tx, struct arena *arena, struct incident_row *row,
	struct incident_effects *told, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(sizeof told->facts);
	struct json_writer w = json_writer_on(&text);
	struct stream_host_row host;

	if (row->facts.len || row->incident.kind != INCIDENT_STRAGGLER)
		return OK;
	TRY(store_find_stream_host(
		store_tx_reader(tx), arena, row->job_id, row->stream_id, NO_LINE, row->incident.opened_ms, &host, err));
	if (!host.host.len || host.is_shared)
		return OK;
	json_object(&w);
	json_put_span(&w, "host", host.host);
	json_object_end(&w);
	if (buf_status(&text, err) != OK || text.len >= sizeof told->facts)
		return OK; /* a name of control characters alone */
	memcpy(told->facts, text.ptr + 1, text.len - 2);
	row->facts = span_of(told->facts, text.len - 2);
	return OK;
}

/* The newest rule that takes it and has a command: those who send the job are told, beside whatever webhooks are. Behind an exclusive
 * one there is none. */
static enum status obey_rules(struct pipeline *pipeline, struct store_tx *tx, const struct incident_row *row,
	const struct rule_set *rules, struct span team, struct incident_effects *told, struct error *err)
{
	struct emergency_acts acts;
	bool is_match = false;

	for (size_t i = rule_set_count(rules); i-- > 0;) {
		const struct rule *rule = rule_set_get(rules, i);
		bool has_command = rule->command.len && emergency_parse(rule->command, &acts);
		if ((!has_command && !rule->is_exclusive) || !rule_takes(rule, row, team))
			continue;
		TRY(rules_match_job(rule, tx, row->job, &is_match, err));
		if (is_match)
			return has_command ? emergency_act(pipeline, tx, row, acts, told, err) : OK;
	}
	return OK;
}

/* What follows from it: commands, and messages. */
static enum status act(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, struct incident_row *row,
	const struct incident_news *news, struct span team, struct incident_effects *told, struct error *err)
{
	bool is_worse = (news->is_new || news->is_raised) && row->incident.state == INCIDENT_OPEN;
	enum status status = OK;

	if (news->is_new || news->is_raised)
		TRY(emergency_look(pipeline, tx, arena, row, told, err));
	if (is_worse) {
		struct rule_set *rules = pipeline_rules(pipeline);
		status = obey_rules(pipeline, tx, row, rules, team, told, err);
		rule_set_unref(rules);
	}
	return status == OK ? notices_enqueue(pipeline, tx, arena, row, news, team, &told->has_deliveries, err)
			    : status;
}

/* How often its job had gone on after an end; *is_over: it has ended again. */
static enum status count_lives(
	struct store_tx *tx, struct arena *arena, struct incident_row *row, bool *is_over, struct error *err)
{
	struct transition_row *rows;
	size_t count;

	TRY(store_read_transitions(store_tx_reader(tx), arena, row->job_id, &rows, &count, err));
	row->life = history_count_lives(rows, count, is_over);
	return OK;
}

enum status incidents_write(struct pipeline *pipeline, struct store_tx *tx, struct incident_row *row, struct span team,
	struct incident_effects *told, struct error *err)
{
	AUTO(arena) arena = arena_new(); /* its own: a full disk has this run again and again */
	struct incident_news news;
	bool wants_it = true, is_over = false;

	if (row->facts.ptr == told->facts)
		row->facts = SPAN("");
	*told = (struct incident_effects){0};
	snprintf(told->team, sizeof told->team, "%.*s", SPAN_ARGS(team));
	if (!arena)
		return error_no_memory(err);
	if (row->incident.rule_id)
		TRY(is_wanted(pipeline, tx, arena, row, &wants_it, err));
	if (row->series_id)
		TRY(count_lives(tx, arena, row, &is_over, err));
	if (!wants_it || (is_over && row->incident.is_again))
		return OK;
	TRY(add_checkpoint(tx, arena, row, told, err));
	TRY(add_host(tx, arena, row, told, err));
	TRY(store_put_incident(tx, row, &news, err));
	told->has_news = news.is_new || news.has_ended || news.is_raised;
	if (news.is_new && row->series_id)
		TRY(find_cause(tx, arena, row, err));
	enum status status = OK;
	if (told->has_news && !row->incident.is_historic)
		status = act(pipeline, tx, arena, row, &news, team, told, err);
	if (row->incident.rule_id) /* they go with the arena */
		row->facts = row->detail = SPAN("");
	return status;
}

static void publish(struct pipeline *pipeline, const struct incident_row *row, const struct incident_effects *told)
{
	const struct hub_topic topic = {row->job, span_from(told->team)};
	AUTO_DONE(buf) json = BUF_INIT(EVENT_MAX_BYTES);
	struct json_writer w = json_writer_on(&json);
	struct error err;

	/* Also while nobody listens: they are few, and one that opens on a quiet server has no sequence of its own to resync by. */
	incident_write_json(row, &w);
	if (json.failure || hub_publish(pipeline->options.hub, topic, HUB_INCIDENT,
				    atomic_load(&pipeline->figures.extracted_seq), buf_span(&json), &err) != OK)
		log_line(LOG_WARNING, "event_dropped", "kind=incident");
}

void incidents_publish(struct pipeline *pipeline, const struct incident_row *row, const struct incident_effects *told)
{
	if (told->has_news) {
		atomic_fetch_add(&pipeline->figures.incidents, 1);
		if (!row->fold_id) /* a page that shows sixty-four of them shows one */
			publish(pipeline, row, told);
	}
	if (told->command.command_id && pipeline->options.command_given)
		pipeline->options.command_given(pipeline->options.context, &told->command);
	if (told->has_deliveries && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
}

/* Whose points came first: the NaN that was told may be this one. Asked here, behind the writing of that. */
static void find_number(struct said *said)
{
	struct incident *incident = &said->row.incident;

	if (incident->kind == INCIDENT_NON_FINITE && incident->line != NO_LINE)
		incident->number_ms =
			told_metrics_number_ms(&said->stream->job->told, said->row.metric, said->series.role);
}

static enum status write_said(void *context, struct store_tx *tx, struct error *err)
{
	struct said *said = context;
	bool is_gone;

	said->told = (struct incident_effects){0};
	TRY(control_check_job_gone(said->pipeline, tx, said->stream->job, &is_gone, err));
	/* of a series whose place a back-fill took since; only this thread puts it there */
	bool is_old = (said->series.series_id & SERIES_HALF) != said->stream->series_base;
	if (is_gone || is_old)
		return OK;
	TRY(store_have_series(tx, &said->series, err));
	find_number(said);
	return incidents_write(said->pipeline, tx, &said->row, span_from(said->stream->job->team), &said->told, err);
}

static void said_free(struct said *said)
{
	job_unref(said->stream->job);
	arena_free(said->arena);
	mem_free(said);
}

static void said_done(void *context, enum status status, const struct error *err)
{
	struct said *said = context;
	struct pipeline *pipeline = said->pipeline;

	if (status != OK)
		log_line(LOG_ERROR, "incident_failed", "job=\"%s\" error=\"%s\"", said->stream->job->name, err->text);
	pthread_mutex_lock(&said->stream->mutex);
	/* else we are stopping: the stream is not sealed past it, the next start says it again */
	if (!control_may_pass(status))
		said->stream->pending_incidents--;
	pthread_mutex_unlock(&said->stream->mutex);
	if (status == OK && said->told.has_news) {
		atomic_store(&said->stream->job->is_row_dirty, true);
		directory_mark(pipeline->directory, STREAMS_DIRTY, said->stream);
	}
	if (status == OK)
		incidents_publish(pipeline, &said->row, &said->told);
	said_free(said);
}

static bool fill(struct said *said, const struct stream_state *stream, const struct series_state *series)
{
	struct span names[] = {span_from(stream->job->name), span_from(series->metric), span_from(stream->name),
		span_from(series->unit)};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!(names[i] = arena_copy(said->arena, names[i])).ptr)
			return false;
	said->row.job_id = stream->job->job_id;
	said->row.series_id = series->series_id;
	said->row.stream_id = stream->stream_id;
	said->row.attempt = extractor_attempt(stream->extractor);
	said->row.job = names[0];
	said->row.metric = names[1];
	said->row.stream = names[2];
	said->series = (struct series_row){.job_id = stream->job->job_id,
		.series_id = series->series_id,
		.stream_id = stream->stream_id,
		.metric = names[1],
		.labels = SPAN(""),
		.unit = names[3],
		.role = series->role};
	return true;
}

enum status incidents_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct incident *incident, struct error *err)
{
	return incidents_hand_over_facts(pipeline, stream, series, incident, SPAN(""), err);
}

enum status incidents_hand_over_facts(struct pipeline *pipeline, struct stream_state *stream,
	struct series_state *series, const struct incident *incident, struct span facts, struct error *err)
{
	struct said *said = mem_zeroed(sizeof *said);

	if (!said)
		return error_no_memory(err);
	said->pipeline = pipeline;
	said->stream = stream;
	said->row.incident = *incident;
	job_ref(stream->job);
	said->control = (struct control){.work = write_said, .done = said_done, .context = said, .is_kept = true};
	if (!(said->arena = arena_new()) || !fill(said, stream, series) ||
		!(said->row.facts = arena_copy(said->arena, facts)).ptr) {
		said_free(said);
		return error_no_memory(err);
	}
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &said->control, err);
	if (status != OK)
		said_free(said); /* pending for ever: the stream is not sealed any more; the next start says it again */
	return status;
}
