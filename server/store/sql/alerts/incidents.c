#include "base/clock.h"
#include "model/incident.h"
#include "model/known.h"
#include "store/alerts.h"
#include "store/backfills.h"
#include "store/carry.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

struct known {
	bool is_there;
	int64_t incident_id;
	enum severity severity;
	enum incident_state state;
	int64_t first_step, last_step, opened_step, opened_ms;
	uint32_t cause_id, fold_id;
	enum incident_close closed_why;
	bool is_historic;
	uint32_t life;
};

/* Of those that one opening led to, the newest. */
static enum status find(struct store_tx *tx, const struct incident_row *row, struct known *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct known, incident_id), FIELD(struct known, severity),
		FIELD(struct known, state), FIELD(struct known, last_step), FIELD(struct known, cause_id),
		FIELD(struct known, fold_id), FIELD(struct known, closed_why), FIELD(struct known, is_historic),
		FIELD(struct known, life), FIELD(struct known, first_step), FIELD(struct known, opened_step),
		FIELD(struct known, opened_ms)};

	TRY(statement_open(&s, store_tx_reader(tx),
		"SELECT incident_id, severity, state, last_step, cause_id, fold_id, closed_why, is_historic, life,"
		" first_step, opened_step, opened_ms FROM incidents"
		" WHERE job_id = ? AND series_id = ? AND kind = ? AND opened_ordinal = ? AND rule_id = ? ORDER BY life DESC LIMIT 1",
		err));
	bind_numbers(&s, row->job_id, row->series_id, row->incident.kind, row->incident.opened_ordinal,
		row->incident.rule_id);
	return row_read(&s, NULL, ROWS(fields, struct known), out, &out->is_there, err);
}

enum status store_next_incident_id(struct store_reader *reader, int64_t job_id, int64_t *id, struct error *err)
{
	return read_number(reader, "SELECT coalesce(max(incident_id), 0) + 1 FROM incidents WHERE job_id = ?",
		NUMBERS(job_id), id, err);
}

/* What changes while it is open. */
static const struct row_field figures[] = {FIELD(struct incident, severity), FIELD(struct incident, state),
	FIELD(struct incident, last_step), FIELD(struct incident, closed_ms), FIELD(struct incident, closed_why),
	FIELD(struct incident, worst), FIELD(struct incident, worst_step)};

/* Of its opening, as these definitions see it. */
static const struct row_field opening[] = {FIELD(struct incident, first_step), FIELD(struct incident, opened_step),
	FIELD(struct incident, opened_ms), FIELD(struct incident, line), FIELD(struct incident, value),
	FIELD(struct incident, expected), FIELD(struct incident, spread), FIELD(struct incident, score)};

static enum status insert(struct store_tx *tx, const struct incident_row *row, int64_t id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO incidents (severity, state, last_step, closed_ms, closed_why, worst, worst_kind, worst_step,"
		" first_step, opened_step, opened_ms, line, value, value_kind, expected, expected_kind, spread, spread_kind, score,"
		" score_kind, kind, opened_ordinal, is_historic, job_id, incident_id, series_id, acknowledged_ms, rule_id, attempt,"
		" life, known_ms, facts, stream_id, metric) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
		" coalesce((SELECT stream_id FROM series WHERE job_id = ? AND series_id = ?), ?),"
		" coalesce((SELECT metric FROM series WHERE job_id = ? AND series_id = ?), ?))",
		err));
	row_bind(&s, ROWS(figures, struct incident), &row->incident);
	row_bind(&s, ROWS(opening, struct incident), &row->incident);
	bind_numbers(&s, row->incident.kind, row->incident.opened_ordinal, row->incident.is_historic, row->job_id, id,
		row->series_id, row->acknowledged_ms, row->incident.rule_id, row->attempt, row->life, row->known_ms);
	bind_text(&s, row->facts);
	bind_numbers(&s, row->job_id, row->series_id, row->stream_id, row->job_id, row->series_id);
	bind_text(&s, row->metric);
	return statement_run(&s, err);
}

static enum status update(struct store_tx *tx, const struct incident_row *row, int64_t id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE incidents SET severity = ?, state = ?, last_step = ?, closed_ms = ?, closed_why = ?, worst = ?, worst_kind = ?,"
		" worst_step = ? WHERE job_id = ? AND incident_id = ?",
		err));
	row_bind(&s, ROWS(figures, struct incident), &row->incident);
	bind_numbers(&s, row->job_id, id);
	return statement_run(&s, err);
}

/* A detector that replays from its last state says again what is long known: open once more, with fewer figures. */
static bool is_news(const struct known *known, const struct incident *incident)
{
	if (known->state != INCIDENT_OPEN || incident->is_again)
		return false;
	return incident->state != INCIDENT_OPEN ||
	       (incident->last_step >= known->last_step && incident->severity >= known->severity);
}

/* Who says it is later than what began it, and may speak of an opening before the job's last end. */
static void keep_opening(const struct known *known, struct incident *incident)
{
	incident->is_historic = known->is_historic;
	incident->first_step = known->first_step;
	incident->opened_step = known->opened_step;
	incident->opened_ms = known->opened_ms;
}

/* The end of its job closed it, and the job goes on; or it was taken back, and a restart is so beside another job: another one. */
static bool goes_on(const struct known *known, const struct incident *incident)
{
	return incident->is_again && known->is_there && known->state != INCIDENT_OPEN &&
	       (known->closed_why == INCIDENT_CLOSED_WITH_JOB || incident->kind == INCIDENT_RESTART_DIFFERS);
}

enum status store_put_incident(
	struct store_tx *tx, struct incident_row *row, struct incident_news *news, struct error *err)
{
	struct known known = {0};

	*news = (struct incident_news){0};
	TRY(find(tx, row, &known, err));
	if (goes_on(&known, &row->incident)) {
		row->life = known.life >= row->life ? known.life + 1 : row->life;
		known = (struct known){0};
	} else if (row->incident.is_again) {
		return OK;
	}
	int64_t id = known.incident_id;
	if (known.is_there)
		keep_opening(&known, &row->incident);
	if (!known.is_there) {
		row->known_ms = row->incident.is_historic && !row->is_news
					? row->incident.opened_ms
					: known_at(row->incident.opened_ms, clock_wall_ms());
		TRY(store_next_incident_id(store_tx_reader(tx), row->job_id, &id, err));
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

enum status store_mend_known(struct store_tx *tx, struct error *err)
{
	return run_with(tx, "UPDATE incidents SET known_ms = opened_ms WHERE known_ms = 0", NUMBERS(), err);
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
	struct incident_row put = *row;

	put.known_ms = row->incident.opened_ms; /* it is no news here */
	TRY(insert(tx, &put, row->incident_id, err));
	if (!row->muted_until_ms && !row->cause_id && !row->fold_id)
		return OK;
	return run_with(tx,
		"UPDATE incidents SET muted_until_ms = ?, cause_id = ?, fold_id = ? WHERE job_id = ? AND incident_id = ?",
		NUMBERS(row->muted_until_ms, row->cause_id, row->fold_id, row->job_id, row->incident_id), err);
}

enum status store_put_incident_facts(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, struct span facts, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE incidents SET facts = ? WHERE job_id = ? AND incident_id = ?", err));
	bind_text(&s, facts);
	bind_numbers(&s, job_id, incident_id);
	return statement_run(&s, err);
}

enum status store_rename_incident(struct store_tx *tx, int64_t job_id, uint32_t incident_id, uint64_t opened_ordinal,
	struct span facts, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(store_put_incident_facts(tx, job_id, incident_id, facts, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE incidents SET opened_ordinal = ?3 WHERE job_id = ?1 AND incident_id = ?2 AND NOT EXISTS (SELECT 1"
		" FROM incidents AS o WHERE o.job_id = ?1 AND o.series_id = incidents.series_id AND o.kind = incidents.kind"
		" AND o.opened_ordinal = ?3)",
		err));
	bind_numbers(&s, job_id, incident_id, (int64_t)opened_ordinal);
	return statement_run(&s, err);
}

enum status store_acknowledge_incident(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, int64_t at_ms, struct error *err)
{
	size_t changed;

	TRY(run_with(tx, "UPDATE incidents SET acknowledged_ms = ? WHERE job_id = ? AND incident_id = ?",
		NUMBERS(at_ms, job_id, incident_id), err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "the job has no incident %u", (unsigned)incident_id);
}

/* ---- a back-fill ---- */

/* What a rule opened is not looked for. ?1: the job, ?2: the stream, ?3: the kind, ?4: the line, ?5: the metric, ?6 and ?7: the old series. */
static const char *const same_sql[SAME_AS_NONE] = {
	/* of the old series, or of none since an earlier back-fill did not find it */
	[SAME_NAME] =
		"SELECT incident_id, series_id, opened_ordinal FROM incidents INDEXED BY incidents_by_line WHERE job_id = ?1 AND stream_id = ?2 AND kind = ?3"
		" AND line = ?4 AND metric = ?5 AND rule_id = 0 AND (series_id = 0 OR series_id BETWEEN ?6 AND ?7)"
		" AND (?4 <> -1 OR opened_step = ?8) ORDER BY " SQL_TRUTH(
			"series_id = 0") ", life, incident_id LIMIT 1",
	/* several metrics of a line: in the order in which they were found, which is mostly that of the definitions */
	[SAME_VALUES] =
		"SELECT i.incident_id, i.series_id, i.opened_ordinal FROM incidents AS i"
		" LEFT JOIN series AS s ON s.job_id = i.job_id AND s.series_id = i.series_id"
		" WHERE i.job_id = ?1 AND i.stream_id = ?2 AND i.kind = ?3 AND i.line = ?4 AND i.line <> -1 AND i.rule_id = 0"
		" AND i.series_id BETWEEN ?6 AND ?7 AND i.value = ?9 AND i.value_kind = ?10"
		" ORDER BY " SQL_TRUTH(
			"s.role IS DISTINCT FROM (SELECT role FROM series WHERE job_id = ?1 AND series_id = ?8)") ", i.life, i.incident_id"
														  " LIMIT 1",
	[SAME_HARM] =
		"SELECT i.incident_id, i.series_id, i.opened_ordinal FROM incidents AS i"
		" LEFT JOIN series AS s ON s.job_id = i.job_id AND s.series_id = i.series_id"
		" WHERE i.job_id = ?1 AND i.stream_id = ?2 AND i.kind = ?3 AND i.state = 0 AND i.rule_id = 0"
		" AND i.series_id BETWEEN ?6 AND ?7"
		" AND (i.metric = ?5 OR (s.role <> 0 AND s.role = (SELECT role FROM series WHERE job_id = ?1 AND series_id = ?8)))"
		" ORDER BY " SQL_TRUTH("i.metric <> ?5") ", i.incident_id LIMIT 1",
};

/* The same incident as it was known until now. */
static enum status find_same(struct store_tx *tx, const struct dead_series *old, enum incident_sameness sameness,
	const struct incident_row *row, struct incident_row *out, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct incident_row, incident_id),
		FIELD(struct incident_row, series_id), FIELD(struct incident_row, incident.opened_ordinal)};

	*out = (struct incident_row){.job_id = row->job_id};
	TRY(statement_open(&s, store_tx_reader(tx), same_sql[sameness], err));
	bind_numbers(&s, row->job_id, row->stream_id, row->incident.kind, row->incident.line);
	bind_text(&s, row->metric);
	bind_numbers(&s, old->first_id, old->last_id,
		sameness == SAME_NAME ? row->incident.opened_step : (int64_t)row->series_id);
	if (sameness == SAME_VALUES)
		bind_double(&s, row->incident.value);
	return row_read(&s, NULL, ROWS(fields, struct incident_row), out, is_there, err);
}

/* With all that its opening led to. */
static enum status move(
	struct store_tx *tx, const struct incident_row *same, const struct incident_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE incidents SET series_id = ?, opened_ordinal = ?, metric = ? WHERE job_id = ? AND series_id = ? AND kind = ?"
		" AND opened_ordinal = ? AND rule_id = 0",
		err));
	bind_numbers(&s, row->series_id, row->incident.opened_ordinal);
	bind_text(&s, row->metric);
	bind_numbers(&s, row->job_id, same->series_id, row->incident.kind, same->incident.opened_ordinal);
	return statement_run(&s, err);
}

/* As other definitions see its opening. */
static enum status update_opening(
	struct store_tx *tx, const struct incident_row *row, uint32_t incident_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE incidents SET first_step = ?, opened_step = ?, opened_ms = ?, line = ?, value = ?, value_kind = ?, expected = ?,"
		" expected_kind = ?, spread = ?, spread_kind = ?, score = ?, score_kind = ?,"
		" known_ms = CASE WHEN known_ms < ? THEN ? ELSE known_ms END WHERE job_id = ? AND incident_id = ?",
		err));
	row_bind(&s, ROWS(opening, struct incident), &row->incident);
	bind_numbers(&s, row->incident.opened_ms, row->incident.opened_ms, row->job_id, incident_id);
	return statement_run(&s, err);
}

/* Points say so themselves; of the end of a job they know nothing. */
static bool is_by_points(enum incident_close why)
{
	return why == INCIDENT_CLOSED_ITSELF || why == INCIDENT_CLOSED_WITH_ATTEMPT ||
	       why == INCIDENT_CLOSED_DEFINITIONS || why == INCIDENT_CLOSED_NEW_LEVEL;
}

enum status store_replace_incident(struct store_tx *tx, const struct dead_series *old, enum incident_sameness sameness,
	struct incident_row *row, struct incident_news *news, bool *is_same, struct error *err)
{
	bool may_be_same = sameness != SAME_AS_NONE && (sameness != SAME_HARM || row->incident.state == INCIDENT_OPEN);
	struct incident_row same = {0};
	struct known known = {0};

	*news = (struct incident_news){0};
	*is_same = false;
	if (may_be_same)
		TRY(find_same(tx, old, sameness, row, &same, is_same, err));
	if (!*is_same && sameness == SAME_AS_NONE) {
		TRY(store_put_incident(tx, row, news, err));
		news->is_new = false; /* of the past */
	}
	if (!*is_same)
		return OK;
	TRY(move(tx, &same, row, err));
	TRY(find(tx, row, &known, err));
	TRY(update_opening(tx, row, same.incident_id, err));
	bool was_open = known.state == INCIDENT_OPEN;
	row->incident_id = (uint32_t)known.incident_id;
	if (!was_open && !is_by_points(known.closed_why))
		return OK;
	news->is_new = !was_open && row->incident.state == INCIDENT_OPEN && !known.is_historic;
	return update(tx, row, known.incident_id, err);
}

enum status store_part_incidents(struct store_tx *tx, const struct dead_series *old, int64_t now_ms, struct error *err)
{
	/* a rule's, and a comparison of streams, are not looked for: they are over, and what they said stands */
	return run_with(tx,
		"UPDATE incidents SET closed_why = CASE WHEN state = 0 OR (rule_id = 0 AND kind <> ?5) THEN ?6 ELSE closed_why END,"
		" closed_ms = CASE state WHEN 0 THEN " SQL_GREATER("?4",
			"opened_ms") " ELSE closed_ms END, state = 1, series_id = 0,"
				     " opened_ordinal = incident_id WHERE job_id = ?1 AND series_id BETWEEN ?2 AND ?3",
		NUMBERS(old->job_id, old->first_id, old->last_id, now_ms, INCIDENT_STRAGGLER,
			INCIDENT_CLOSED_DEFINITIONS),
		err);
}
