#include "store/carry.h"
#include "store/sqlite/sqlite_store.h"

struct known {
	bool is_there;
	int64_t incident_id;
	enum severity severity;
	enum incident_state state;
	int64_t last_step;
	uint32_t cause_id, fold_id;
};

static enum status find(struct store_tx *tx, const struct incident_row *row, struct known *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"SELECT incident_id, severity, state, last_step, cause_id, fold_id FROM incidents"
		" WHERE job_id = ? AND series_id = ? AND kind = ? AND opened_ordinal = ? AND rule_id = ?",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->series_id);
	bind_i64(&s, row->incident.kind);
	bind_u64(&s, row->incident.opened_ordinal);
	bind_i64(&s, row->incident.rule_id);
	TRY(statement_step(&s, &out->is_there, err));
	if (out->is_there) {
		out->incident_id = column_i64(&s);
		out->severity = (enum severity)column_i64(&s);
		out->state = (enum incident_state)column_i64(&s);
		out->last_step = column_i64(&s);
		out->cause_id = column_u32(&s);
		out->fold_id = column_u32(&s);
	}
	return OK;
}

static enum status next_incident_id(struct store_tx *tx, int64_t job_id, int64_t *id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, tx_on(tx), "SELECT coalesce(max(incident_id), 0) + 1 FROM incidents WHERE job_id = ?", err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	*id = column_i64(&s);
	return OK;
}

static void bind_figures(struct statement *s, const struct incident *incident)
{
	bind_i64(s, incident->severity);
	bind_i64(s, incident->state);
	bind_i64(s, incident->last_step);
	bind_i64(s, incident->closed_ms);
	bind_i64(s, incident->closed_why);
	bind_double(s, incident->worst);
	bind_i64(s, incident->worst_step);
}

static void bind_opening(struct statement *s, const struct incident *incident)
{
	bind_i64(s, incident->kind);
	bind_u64(s, incident->opened_ordinal);
	bind_i64(s, incident->first_step);
	bind_i64(s, incident->opened_step);
	bind_i64(s, incident->opened_ms);
	bind_u64(s, incident->line);
	bind_i64(s, incident->is_historic);
	bind_double(s, incident->value);
	bind_double(s, incident->expected);
	bind_double(s, incident->spread);
	bind_double(s, incident->score);
}

static enum status insert(struct store_tx *tx, const struct incident_row *row, int64_t id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"INSERT INTO incidents (severity, state, last_step, closed_ms, closed_why, worst, worst_kind, worst_step, kind,"
		" opened_ordinal, first_step, opened_step, opened_ms, line, is_historic, value, value_kind, expected,"
		" expected_kind, spread, spread_kind, score, score_kind, job_id, incident_id, series_id, acknowledged_ms, facts, rule_id, attempt)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err));
	bind_figures(&s, &row->incident);
	bind_opening(&s, &row->incident);
	bind_i64(&s, row->job_id);
	bind_i64(&s, id);
	bind_i64(&s, row->series_id);
	bind_i64(&s, row->acknowledged_ms);
	bind_text(&s, row->facts);
	bind_i64(&s, row->incident.rule_id);
	bind_i64(&s, row->attempt);
	return statement_run(&s, err);
}

static enum status update(struct store_tx *tx, const struct incident_row *row, int64_t id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx),
		"UPDATE incidents SET severity = ?, state = ?, last_step = ?, closed_ms = ?, closed_why = ?, worst = ?, worst_kind = ?,"
		" worst_step = ? WHERE job_id = ? AND incident_id = ?",
		err));
	bind_figures(&s, &row->incident);
	bind_i64(&s, row->job_id);
	bind_i64(&s, id);
	return statement_run(&s, err);
}

/* A detector that replays from its last state says again what is long known: open once more, with fewer figures. */
static bool is_news(const struct known *known, const struct incident *incident)
{
	if (known->state != INCIDENT_OPEN)
		return false;
	return incident->state != INCIDENT_OPEN ||
	       (incident->last_step >= known->last_step && incident->severity >= known->severity);
}

enum status store_put_incident(
	struct store_tx *tx, struct incident_row *row, struct incident_news *news, struct error *err)
{
	struct known known = {0};

	TRY(find(tx, row, &known, err));
	int64_t id = known.incident_id;
	if (!known.is_there) {
		TRY(next_incident_id(tx, row->job_id, &id, err));
		TRY(insert(tx, row, id, err));
	} else if (is_news(&known, &row->incident)) {
		TRY(update(tx, row, id, err));
	}
	news->is_new = !known.is_there;
	news->before = known.is_there ? known.severity : SEVERITY_INFO;
	news->is_raised = known.is_there && row->incident.severity > known.severity;
	news->has_ended = known.is_there && known.state == INCIDENT_OPEN && row->incident.state != INCIDENT_OPEN;
	row->incident_id = (uint32_t)id;
	row->cause_id = known.is_there ? known.cause_id : 0;
	row->fold_id = known.is_there ? known.fold_id : 0;
	return OK;
}

enum status store_knows_incident(struct store_tx *tx, const struct incident_row *row, bool *is_known, struct error *err)
{
	struct known known = {0};

	TRY(find(tx, row, &known, err));
	*is_known = known.is_there;
	return OK;
}

enum status store_import_incident(struct store_tx *tx, const struct incident_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(insert(tx, row, row->incident_id, err));
	if (!row->muted_until_ms && !row->cause_id && !row->fold_id)
		return OK;
	TRY(statement_open(&s, tx_on(tx),
		"UPDATE incidents SET muted_until_ms = ?, cause_id = ?, fold_id = ? WHERE job_id = ? AND incident_id = ?",
		err));
	bind_i64(&s, row->muted_until_ms);
	bind_i64(&s, row->cause_id);
	bind_i64(&s, row->fold_id);
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->incident_id);
	return statement_run(&s, err);
}

enum status store_put_incident_facts(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, struct span facts, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, tx_on(tx), "UPDATE incidents SET facts = ? WHERE job_id = ? AND incident_id = ?", err));
	bind_text(&s, facts);
	bind_i64(&s, job_id);
	bind_i64(&s, incident_id);
	return statement_run(&s, err);
}

enum status store_acknowledge_incident(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, int64_t at_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, tx_on(tx), "UPDATE incidents SET acknowledged_ms = ? WHERE job_id = ? AND incident_id = ?", err));
	bind_i64(&s, at_ms);
	bind_i64(&s, job_id);
	bind_i64(&s, incident_id);
	TRY(statement_run(&s, err));
	return sqlite3_changes(tx_on(tx)->db)
		       ? OK
		       : error_set(err, ERR_NOT_FOUND, "the job has no incident %u", (unsigned)incident_id);
}
