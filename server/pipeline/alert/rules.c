/* The rules as all threads see them: one immutable set, which the writer changes after the commit that changed a row. */
#include "pipeline/alert/rules.h"

#include "base/clock.h"
#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/rule_match.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"

#include <inttypes.h>

enum { RULE_JSON_BYTES = 1 << 20 };

/* Writer, and the start: versions are numbered here. */
static enum status read_set(
	struct pipeline *pipeline, struct store_reader *reader, struct rule_set **out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct rule_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_rules(reader, arena, &rows, &count, err));
	return rule_set_new(out, rows, count, ++pipeline->rules_version, err);
}

enum status rules_load(struct pipeline *pipeline, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(store_reader_new(&reader, pipeline->options.store, err));
	return read_set(pipeline, reader, &pipeline->rules, err);
}

struct change {
	struct pipeline *pipeline;
	struct rule *rule; /* NULL: it is deleted */
	int64_t rule_id; /* 0: a new one */
	size_t most;
	struct span document;
	struct rule_set *set; /* what there will be */
	struct arena *arena; /* of those that are over with it */
	struct incident_row *ended;
	struct incident_effects *told; /* beside them */
	size_t ended_count;
};

static void swap_set(void *context)
{
	struct change *change = context;
	struct pipeline *pipeline = change->pipeline;

	pthread_mutex_lock(&pipeline->rules_mutex);
	struct rule_set *old = pipeline->rules;
	pipeline->rules = TAKE(change->set);
	pthread_mutex_unlock(&pipeline->rules_mutex);
	rule_set_unref(old);
	for (size_t i = 0; i < change->ended_count; i++)
		incidents_publish(pipeline, &change->ended[i], &change->told[i]);
}

static enum incident_close why_ended(const struct change *change)
{
	if (!change->rule)
		return INCIDENT_CLOSED_RULE_DELETED;
	return change->rule->is_enabled ? INCIDENT_CLOSED_RULE_CHANGED : INCIDENT_CLOSED_RULE_DISABLED;
}

/* What the rule opened is over, and who was told of it is told that; as long as the rule is there. */
static enum status end_incidents(struct change *change, struct store_tx *tx, struct error *err)
{
	struct store_reader *reader = store_tx_reader(tx);
	size_t count;

	change->ended_count = 0;
	TRY(store_read_rule_incidents(reader, change->arena, change->rule_id, &change->ended, &count, err));
	change->told = arena_alloc(change->arena, (count + 1) * sizeof *change->told);
	if (!change->told)
		return error_no_memory(err);
	for (; change->ended_count < count; change->ended_count++) {
		struct incident_row *row = &change->ended[change->ended_count];
		struct job_row job;
		TRY(store_read_job_by_id(reader, change->arena, row->job_id, &job, err));
		row->incident.state = INCIDENT_RECOVERED;
		row->incident.closed_why = why_ended(change);
		row->incident.closed_ms = clock_wall_ms();
		TRY(incidents_write(change->pipeline, tx, row, job.team, &change->told[change->ended_count], err));
	}
	return store_end_rule_incidents(tx, change->rule_id, clock_wall_ms(), err);
}

static enum status check_count(const struct change *change, struct error *err)
{
	struct rule_set *set = pipeline_rules(change->pipeline);
	size_t count = rule_set_count(set);

	rule_set_unref(set);
	return change->rule_id || count < change->most
		       ? OK
		       : error_set(err, ERR_TOO_LARGE, "there are %zu rules, as many as --max-rules allows", count);
}

static enum status write_rule(struct change *change, struct store_tx *tx, struct error *err)
{
	struct rule_row row = {.rule_id = change->rule_id,
		.team = change->rule->team,
		.name = change->rule->name,
		.document = change->document,
		.since_seq = change->pipeline->next_seq - 1, /* what is committed already */
		.modified_ms = change->rule->modified_ms};

	TRY(check_count(change, err));
	TRY(store_put_rule(tx, &row, err));
	change->rule->rule_id = row.rule_id;
	return OK;
}

/* What it kept waiting is told by whichever rules there are then. */
static enum status free_notices(struct change *change, struct store_tx *tx, struct error *err)
{
	struct rule_set *set = pipeline_rules(change->pipeline);
	const struct rule *old = rule_set_find(set, change->rule_id);
	int64_t persistence_ms = old ? old->persistence_ms : 0;

	rule_set_unref(set);
	return store_free_notices(tx, change->rule_id, persistence_ms, clock_wall_ms(), err);
}

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	struct change *change = context;

	rule_set_unref(change->set); /* of a commit that failed */
	change->set = NULL;
	if (change->rule_id) {
		TRY(end_incidents(change, tx, err));
		TRY(free_notices(change, tx, err));
	}
	if (change->rule)
		TRY(write_rule(change, tx, err));
	else
		TRY(store_delete_rule(tx, change->rule_id, clock_wall_ms(), err));
	return read_set(change->pipeline, store_tx_reader(tx), &change->set, err);
}

static enum status run_change(struct change *change, struct error *err)
{
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	change->arena = arena;
	enum status status = writer_execute_then(change->pipeline, write_change, swap_set, change, err);
	rule_set_unref(change->set);
	return status;
}

enum status pipeline_put_rule(struct pipeline *pipeline, struct rule *rule, size_t most, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(RULE_JSON_BYTES);
	struct json_writer w = json_writer_on(&document);
	struct change change = {.pipeline = pipeline, .rule = rule, .rule_id = rule->rule_id, .most = most};

	json_object(&w);
	rule_write_fields(rule, &w);
	json_object_end(&w);
	TRY(buf_status(&document, err));
	change.document = buf_span(&document);
	return run_change(&change, err);
}

enum status pipeline_delete_rule(struct pipeline *pipeline, int64_t rule_id, struct error *err)
{
	struct change change = {.pipeline = pipeline, .rule_id = rule_id};

	return run_change(&change, err);
}
