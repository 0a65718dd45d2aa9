#include "model/incident.h"
#include "store/columns/case_fold.h"
#include "store/columns/job_changes.h"
#include "store/driver/common_sql.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/run.h"

#include <math.h>

enum { SUCCESSORS_MAX = 1000, SAME_MS = 1000 };

#define TIME_BUCKETS                                                                                                   \
	"capacity, unhealthy_replaced, launch, image, data, first_step, productive, evaluation, checkpoint, redone,"   \
	" stalled, restart, idle, unmeasured, measured"
#define BUCKETS TIME_BUCKETS ", cost, lost_cost, unpriced, billed, estimated"

/* ---- which are due ---- */

#define DUE_AFTER_WAIT "CASE WHEN ?2 <> 0 THEN goodput.as_of_ms + ?2 ELSE 1 END"

enum status store_touch_goodput(struct store_tx *tx, int64_t job_id, int64_t wait_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO goodput (job_id, due_ms, changes, as_of_ms, nodes, is_measured, instance, steps, lost_steps, step_ms,"
		" first_from_step, last_step, billable_ms, currency) VALUES (?1, 1, 1, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, '')"
		" ON CONFLICT (job_id) DO UPDATE SET changes = goodput.changes + 1,"
		" due_ms = CASE WHEN goodput.due_ms <> 0 AND goodput.due_ms < " DUE_AFTER_WAIT
		" THEN goodput.due_ms ELSE " DUE_AFTER_WAIT " END",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, wait_ms);
	return statement_run(&s, err);
}

enum status store_put_silent_before(struct store_tx *tx, int64_t job_id, int64_t before_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE goodput SET is_over = 1, as_of_ms = ? WHERE job_id = ?", err));
	bind_i64(&s, before_ms);
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

enum status store_touch_all_goodput(struct store_tx *tx, int64_t *after, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;
	size_t count = 0;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT job_id FROM jobs WHERE job_id > ? ORDER BY job_id LIMIT ?", err));
	bind_i64(&s, *after);
	bind_i64(&s, (int64_t)limit);
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; count++) {
		*after = column_i64(&s);
		TRY(store_touch_goodput(tx, *after, 0, err));
		TRY(statement_step(&s, &has_row, err));
	}
	if (count < limit)
		*after = INT64_MAX;
	return OK;
}

enum status store_read_goodput_due(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct goodput_due **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {
		FIELD(struct goodput_due, job_id), FIELD(struct goodput_due, changes), FIELD(struct goodput_due, name)};

	TRY(statement_open(&s, reader,
		"SELECT g.job_id, g.changes, coalesce((SELECT j.name FROM jobs AS j WHERE j.job_id = g.job_id), '')"
		" FROM goodput AS g WHERE g.due_ms > 0 AND g.due_ms <= ? ORDER BY g.due_ms LIMIT ?",
		err));
	bind_i64(&s, now_ms);
	bind_i64(&s, (int64_t)limit);
	return rows_read(&s, arena, ROWS(fields, struct goodput_due), out, count, err);
}

/* ---- chains of jobs ---- */

/* What a team states takes nothing from another team's jobs; what no team owns was written by who may write everywhere. */
#define MAY_GO_ON(next, before) next " IN ('', " before ")"

enum status store_read_went_on(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span job,
	struct goodput_went_on **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) folded = BUF_INIT(4096);
	static const struct row_field fields[] = {FIELD(struct goodput_went_on, job),
		FIELD(struct goodput_went_on, from_step), FIELD(struct goodput_went_on, step_ms),
		FIELD(struct goodput_went_on, work_ms), FIELD(struct goodput_went_on, silent_ms)};

	fold_append(&folded, job);
	TRY(buf_status(&folded, err));
	TRY(statement_open(&s, reader,
		"SELECT j.name, g.went_on_from, g.went_on_step_ms, g.went_on_work_ms, g.went_on_silent_ms FROM attributes AS a"
		" JOIN jobs AS j ON j.job_id = a.job_id JOIN goodput AS g ON g.job_id = a.job_id WHERE a.key = 'tag.continues' AND"
		" a.folded = ?1 AND a.text = ?2 AND a.job_id <> ?3 AND " MAY_GO_ON("j.team",
			"(SELECT b.team FROM jobs AS b WHERE b.job_id = ?3)") " AND g.went_on_step_ms <> 0 AND NOT EXISTS (SELECT 1 FROM attributes"
									      " AS f WHERE f.job_id = a.job_id AND f.key = 'tag.wandb.fork_from') ORDER BY a.job_id LIMIT ?4",
		err));
	bind_text(&s, buf_span(&folded));
	bind_text(&s, job);
	bind_i64(&s, job_id);
	bind_i64(&s, SUCCESSORS_MAX);
	return rows_read(&s, arena, ROWS(fields, struct goodput_went_on), out, count, err);
}

/* With it those that went on with it before, and broke off: next_id may have made their steps again. */
enum status store_touch_goodput_of(struct store_tx *tx, struct span job, int64_t next_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) folded = BUF_INIT(4096);
	bool has_row;

	fold_append(&folded, job);
	TRY(buf_status(&folded, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		"SELECT b.job_id FROM jobs AS b JOIN jobs AS n ON n.job_id = ?2 WHERE b.name = ?1 AND " MAY_GO_ON(
			"n.team",
			"b.team") " UNION SELECT b.job_id FROM attributes AS a JOIN jobs AS b ON b.job_id = a.job_id JOIN jobs AS n ON n.job_id = ?2"
				  " WHERE a.key = 'tag.continues' AND a.folded = ?3 AND a.text = ?1 AND a.job_id <> ?2"
				  " AND b.status IN ('Failed', 'Stopped') AND " MAY_GO_ON(
					  "n.team", "b.team") " LIMIT ?4",
		err));
	bind_text(&s, job);
	bind_i64(&s, next_id);
	bind_text(&s, buf_span(&folded));
	bind_i64(&s, SUCCESSORS_MAX);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		TRY(store_touch_goodput(tx, column_i64(&s), 0, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status store_touch_goodput_before(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span before;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_continued(store_tx_reader(tx), arena, job_id, &before, err));
	return store_touch_goodput_of(tx, before, job_id, err);
}

/* ---- a job's days, and the totals ---- */

static void column_day(struct statement *s, struct goodput_day *day)
{
	day->day = column_i64(s);
	for (size_t i = 0; i < STORE_GOODPUT_BUCKETS; i++)
		day->node_ms[i] = column_i64(s);
	day->measured_ms = column_i64(s);
	day->cost = column_i64(s);
	day->lost_cost = column_i64(s);
	day->unpriced_ms = column_i64(s);
	day->billed_ms = column_i64(s);
	day->estimated_ms = column_i64(s);
}

static void bind_day(struct statement *s, const struct goodput_day *day)
{
	bind_i64(s, day->day);
	for (size_t i = 0; i < STORE_GOODPUT_BUCKETS; i++)
		bind_i64(s, day->node_ms[i]);
	bind_i64(s, day->measured_ms);
	bind_i64(s, day->cost);
	bind_i64(s, day->lost_cost);
	bind_i64(s, day->unpriced_ms);
	bind_i64(s, day->billed_ms);
	bind_i64(s, day->estimated_ms);
}

/* A day that has a cost and no price in the list's currency has it in another: that is in no total. */
static int64_t counted(const struct goodput_day *day, int64_t cost)
{
	return day->unpriced_ms ? 0 : cost;
}

/* a - b, as totals count them; false: they are the same. */
static bool subtract(struct goodput_day *out, const struct goodput_day *a, const struct goodput_day *b)
{
	bool differs = a->measured_ms != b->measured_ms || a->cost != b->cost || a->lost_cost != b->lost_cost ||
		       a->unpriced_ms != b->unpriced_ms || a->billed_ms != b->billed_ms ||
		       a->estimated_ms != b->estimated_ms;

	*out = (struct goodput_day){.day = a->day};
	for (size_t i = 0; i < STORE_GOODPUT_BUCKETS; i++) {
		out->node_ms[i] = a->node_ms[i] - b->node_ms[i];
		differs |= out->node_ms[i] != 0;
	}
	out->measured_ms = a->measured_ms - b->measured_ms;
	out->cost = counted(a, a->cost) - counted(b, b->cost);
	out->lost_cost = counted(a, a->lost_cost) - counted(b, b->lost_cost);
	out->unpriced_ms = a->unpriced_ms - b->unpriced_ms;
	out->billed_ms = a->billed_ms - b->billed_ms;
	out->estimated_ms = a->estimated_ms - b->estimated_ms;
	return differs;
}

/* A sum that no number holds stops there: it must not stop all later ones. */
#define TOTAL_MAX "1000000000000000000"
#define ADDED(column) "goodput_totals." #column " + excluded." #column
#define ADD(column)                                                                                                    \
	", " #column " = CASE WHEN " ADDED(column) " > " TOTAL_MAX " THEN " TOTAL_MAX " WHEN " ADDED(                  \
		column) " < -" TOTAL_MAX " THEN -" TOTAL_MAX " ELSE " ADDED(column) " END"

static enum status add_to_total(struct store_tx *tx, const struct goodput_day *more, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO goodput_totals (day, " BUCKETS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
		" ON CONFLICT (day) DO UPDATE SET day = excluded.day" ADD(capacity) ADD(unhealthy_replaced) ADD(launch)
			ADD(image) ADD(data) ADD(first_step) ADD(productive) ADD(evaluation) ADD(checkpoint) ADD(redone)
				ADD(stalled) ADD(restart) ADD(idle) ADD(unmeasured) ADD(measured) ADD(cost)
					ADD(lost_cost) ADD(unpriced) ADD(billed) ADD(estimated),
		err));
	bind_day(&s, more);
	return statement_run(&s, err);
}

#define PUT(column) ", " #column " = excluded." #column

static enum status put_day(struct store_tx *tx, int64_t job_id, const struct goodput_day *day, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO goodput_days (job_id, day, " BUCKETS
		") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, day) DO UPDATE SET"
		" capacity = excluded.capacity" PUT(unhealthy_replaced) PUT(launch) PUT(image) PUT(data) PUT(first_step)
			PUT(productive) PUT(evaluation) PUT(checkpoint) PUT(redone) PUT(stalled) PUT(restart) PUT(idle)
				PUT(unmeasured) PUT(measured) PUT(cost) PUT(lost_cost) PUT(unpriced) PUT(billed)
					PUT(estimated),
		err));
	bind_i64(&s, job_id);
	bind_day(&s, day);
	return statement_run(&s, err);
}

static enum status delete_day(struct store_tx *tx, int64_t job_id, int64_t day, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM goodput_days WHERE job_id = ? AND day = ?", err));
	bind_i64(&s, job_id);
	bind_i64(&s, day);
	return statement_run(&s, err);
}

/* Both in order of days: what differs is written, and the totals by the difference. */
static enum status put_days(struct store_tx *tx, int64_t job_id, const struct goodput_day *old, size_t old_count,
	const struct goodput_day *new, size_t new_count, struct error *err)
{
	for (size_t i = 0, j = 0; i < old_count || j < new_count;) {
		struct goodput_day nothing, difference;
		bool has_old = i < old_count && (j == new_count || old[i].day <= new[j].day);
		bool has_new = j < new_count && (i == old_count || new[j].day <= old[i].day);
		nothing = (struct goodput_day){.day = has_new ? new[j].day : old[i].day};
		if (subtract(&difference, has_new ? &new[j] : &nothing, has_old ? &old[i] : &nothing)) {
			TRY(add_to_total(tx, &difference, err));
			TRY(has_new ? put_day(tx, job_id, &new[j], err) : delete_day(tx, job_id, old[i].day, err));
		}
		i += has_old;
		j += has_new;
	}
	return OK;
}

/* What was taken back leaves a row of the fleet's that sums up to nothing. */
static bool is_empty(const struct goodput_day *day)
{
	const struct goodput_day nothing = {.day = day->day};
	struct goodput_day difference;

	return !subtract(&difference, day, &nothing);
}

static enum status read_days(
	struct statement *s, struct arena *arena, struct goodput_day **out, size_t *count, struct error *err)
{
	struct goodput_day *rows = NULL;
	size_t used = 0, cap = 0;
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	while (has_row) {
		rows = rows_grow(arena, rows, used, &cap, sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		column_day(s, &rows[used]);
		used += !is_empty(&rows[used]);
		TRY(statement_step(s, &has_row, err));
	}
	*out = rows;
	*count = used;
	return OK;
}

enum status store_read_goodput_days(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t first,
	int64_t last, struct goodput_day **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT day, " BUCKETS " FROM goodput_days WHERE job_id = ? AND day BETWEEN ? AND ? ORDER BY day",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, first);
	bind_i64(&s, last);
	return read_days(&s, arena, out, count, err);
}

/* ---- the fleet's days ---- */

#define DELETED(figure)                                                                                                \
	"(SELECT " SQL_SUM("x." figure) " FROM goodput_deleted AS x WHERE x.day = t.day AND x.currency IN ('', ?1))"
#define WITH_DELETED(figure) "CAST(t." figure " + " DELETED(figure) " AS BIGINT)"
/* What has a price in another currency has none in this one. */
#define UNPRICED                                                                                                       \
	"CAST(t.unpriced + (SELECT " SQL_SUM("x.billed") " FROM goodput_deleted AS x WHERE x.day = t.day"              \
							 " AND x.currency NOT IN ('', ?1)) AS BIGINT)"

enum status store_read_fleet_days(struct store_reader *reader, struct arena *arena, struct span currency, int64_t first,
	int64_t last, struct goodput_day **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT t.day, " TIME_BUCKETS ", " WITH_DELETED("cost") ", " WITH_DELETED(
			"lost_cost") ", " UNPRICED ", billed, estimated"
				     " FROM goodput_totals AS t WHERE t.day BETWEEN ?2 AND ?3 ORDER BY t.day",
		err));
	bind_text(&s, currency);
	bind_i64(&s, first);
	bind_i64(&s, last);
	return read_days(&s, arena, out, count, err);
}

/* ---- what broke off ---- */

static enum status put_incidents(
	struct store_tx *tx, int64_t job_id, const struct goodput_incident *rows, size_t count, struct error *err)
{
	AUTO_DONE(statement) all = {0};

	TRY(statement_open(&all, store_tx_reader(tx), "DELETE FROM goodput_breaks WHERE job_id = ?", err));
	bind_i64(&all, job_id);
	TRY(statement_run(&all, err));
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(statement) s = {0};
		TRY(statement_open(&s, store_tx_reader(tx),
			"INSERT INTO goodput_breaks (job_id, position, from_ms, to_ms, cause, nodes, lost_steps, redone_ms, restart_ms)"
			" VALUES (?,?,?,?,?,?,?,?,?)",
			err));
		bind_i64(&s, job_id);
		bind_i64(&s, (int64_t)i);
		bind_i64(&s, rows[i].from_ms);
		bind_i64(&s, rows[i].to_ms);
		bind_text(&s, rows[i].cause);
		bind_i64(&s, rows[i].nodes);
		bind_i64(&s, rows[i].lost_steps);
		bind_i64(&s, rows[i].redone_ms);
		bind_i64(&s, rows[i].restart_ms);
		TRY(statement_run(&s, err));
	}
	return OK;
}

/* Their product may be more than a whole number holds. */
#define NODE_MS(ms) "CAST(" ms " AS DOUBLE PRECISION) * nodes"
/* The time until work went on lasts from the last step on: of it what lies in [?1, ?2). */
#define RESTARTED_MS "from_ms + restart_ms"
#define RESTART_WITHIN "(" SQL_LESSER(RESTARTED_MS, "?2") ") - (" SQL_GREATER("from_ms", "?1") ")"
/* What began within is counted there, with all that does not last. */
#define BEGUN(figure) "CASE WHEN from_ms >= ?1 THEN " figure " END"
/* The class of a reason that no rule knows says as little as nobody does; older programs kept it. */
#define CAUSE "CASE WHEN lower(cause) = 'unknown' THEN '' ELSE cause END"

enum status store_read_goodput_causes(struct store_reader *reader, struct arena *arena, int64_t from_ms, int64_t to_ms,
	struct goodput_cause **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct goodput_cause, cause),
		FIELD(struct goodput_cause, count), FIELD(struct goodput_cause, ended),
		FIELD(struct goodput_cause, repair_ms), FIELD(struct goodput_cause, lost_steps),
		FIELD(struct goodput_cause, unknown_steps), FIELD(struct goodput_cause, redone_node_ms),
		FIELD(struct goodput_cause, restart_node_ms)};

	TRY(statement_open(&s, reader,
		"SELECT " CAUSE
		" AS why, count(" BEGUN("1") ") AS n, count(" BEGUN("CASE WHEN to_ms > 0 THEN 1 END") "), " SQL_TOTAL(BEGUN("CASE WHEN to_ms > 0 THEN to_ms - from_ms END")) ", " SQL_TOTAL(BEGUN("CASE WHEN lost_steps > 0 THEN lost_steps END")) ", count(" BEGUN(
			"CASE WHEN lost_steps < 0 THEN 1 END") "), " SQL_TOTAL(BEGUN(NODE_MS("redone_ms"))) ", " SQL_TOTAL(NODE_MS("(" RESTART_WITHIN
																   ")")) " FROM goodput_breaks WHERE from_ms >= ?3 AND from_ms < ?2 AND (from_ms >= ?1 OR " RESTARTED_MS
																	 " > ?1) GROUP BY why ORDER BY n DESC, why",
		err));
	bind_i64(&s, from_ms);
	bind_i64(&s, to_ms);
	/* The index's lower bound: all of the past would be read without it. */
	bind_i64(&s, from_ms - STORE_BREAK_SHARED_MS);
	return rows_read(&s, arena, ROWS(fields, struct goodput_cause), out, count, err);
}

/* ---- the row ---- */

static void bind_cost(struct statement *s, int64_t cost)
{
	if (cost == STORE_NO_COST)
		bind_null(s);
	else
		bind_i64(s, cost);
}

static enum status put_row(struct store_tx *tx, const struct goodput_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"UPDATE goodput SET due_ms = CASE WHEN changes = ?2 THEN ?3 ELSE 1 END, as_of_ms = ?4, nodes = ?5, is_measured = ?6,"
		" instance = ?7, goodput = ?8, steps = ?9, lost_steps = ?10, step_ms = ?11, first_from_step = ?12,"
		" last_step = ?13, billable_ms = ?14, currency = ?15, cost = ?16, lost_cost = ?17, spot_saving = ?18,"
		" work_from_ms = ?19, work_to_ms = ?20, paused_ms = ?21, odd_times = ?22, nodes_from = ?23, unpriced = ?24,"
		" is_over = ?25, went_on_from = ?26, went_on_step_ms = ?27, went_on_work_ms = ?28, went_on_silent_ms = ?29"
		" WHERE job_id = ?1",
		err));
	bind_i64(&s, row->job_id);
	bind_i64(&s, row->changes);
	bind_i64(&s, row->due_ms);
	bind_i64(&s, row->as_of_ms);
	bind_i64(&s, row->nodes);
	bind_i64(&s, row->is_measured);
	bind_text(&s, row->instance);
	if (isfinite(row->goodput))
		bind_finite(&s, row->goodput);
	else
		bind_null(&s);
	bind_i64(&s, row->steps);
	bind_i64(&s, row->lost_steps);
	bind_finite(&s, row->step_ms);
	bind_i64(&s, row->first_from_step);
	bind_i64(&s, row->last_step);
	bind_i64(&s, row->billable_ms);
	bind_text(&s, row->currency);
	bind_cost(&s, row->cost);
	bind_cost(&s, row->lost_cost);
	bind_cost(&s, row->spot_saving);
	bind_i64(&s, row->work_from_ms);
	bind_i64(&s, row->work_to_ms);
	bind_i64(&s, row->paused_ms);
	bind_u64(&s, row->odd_times);
	bind_i64(&s, row->nodes_from);
	bind_text(&s, row->unpriced);
	bind_i64(&s, row->is_over);
	bind_i64(&s, row->went_on.from_step);
	bind_i64(&s, row->went_on.step_ms);
	bind_i64(&s, row->went_on.work_ms);
	bind_i64(&s, row->went_on.silent_ms);
	return statement_run(&s, err);
}

/* Searches keep how long a job is billed, which its pauses are no part of, and how long it lasted, if nobody ended it. */
/* The pace of a job that runs changes by little with each of its steps: nobody works out the job before it for that. */
static bool is_same_link(const struct goodput_went_on *a, const struct goodput_went_on *b)
{
	int64_t apart_ms = a->work_ms > b->work_ms ? a->work_ms - b->work_ms : b->work_ms - a->work_ms;

	return a->from_step == b->from_step && a->step_ms == b->step_ms && a->silent_ms == b->silent_ms &&
	       apart_ms < SAME_MS;
}

/* *unpriced: it is among the jobs without a price */
static enum status look_up(struct store_tx *tx, const struct goodput_row *row, struct goodput_went_on *went_on,
	int *unpriced, bool *is_there, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"SELECT paused_ms, is_over, work_to_ms, went_on_from, went_on_step_ms, went_on_work_ms, went_on_silent_ms,"
		" " SQL_TRUTH("unpriced <> ''") " FROM goodput WHERE job_id = ?" NOT_IN_TRASH,
		err));
	bind_i64(&s, row->job_id);
	TRY(statement_step(&s, is_there, err));
	if (!*is_there)
		return OK;
	bool is_same = column_i64(&s) == row->paused_ms;
	is_same &= column_bool(&s) == row->is_over;
	is_same &= column_i64(&s) == row->work_to_ms || !row->is_over;
	went_on->from_step = column_i64(&s);
	went_on->step_ms = column_i64(&s);
	went_on->work_ms = column_i64(&s);
	went_on->silent_ms = column_i64(&s);
	*unpriced = column_bool(&s);
	return is_same ? OK : tx_note_change(tx, row->job_id, SEARCH_CHANGED_JOB, err);
}

enum status store_put_goodput(struct store_tx *tx, const struct goodput_row *row, const struct goodput_day *days,
	size_t day_count, const struct goodput_incident *incidents, size_t incident_count, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct goodput_row kept = *row;
	struct goodput_went_on went_on;
	struct goodput_day *old;
	size_t old_count;
	bool is_there;
	int unpriced = 0;

	if (!arena)
		return error_no_memory(err);
	TRY(look_up(tx, row, &went_on, &unpriced, &is_there, err));
	if (!is_there)
		return OK; /* deleted since: the totals have it as it was */
	if (is_same_link(&went_on, &row->went_on))
		kept.went_on = went_on; /* as the job before it knows it */
	else
		TRY(store_touch_goodput_before(tx, row->job_id, err));
	TRY(store_read_goodput_days(
		store_tx_reader(tx), arena, row->job_id, INT64_MIN, INT64_MAX, &old, &old_count, err));
	TRY(put_days(tx, row->job_id, old, old_count, days, day_count, err));
	TRY(put_incidents(tx, row->job_id, incidents, incident_count, err));
	TRY(store_add_fleet_total(tx, "unpriced_jobs", SPAN(""), (row->unpriced.len > 0) - unpriced, err));
	return put_row(tx, &kept, err);
}

enum status store_postpone_goodput(struct store_tx *tx, int64_t job_id, int64_t due_ms, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE goodput SET due_ms = ? WHERE job_id = ?" NOT_IN_TRASH, err));
	bind_i64(&s, due_ms);
	bind_i64(&s, job_id);
	return statement_run(&s, err);
}

static int64_t column_cost(struct statement *s)
{
	bool is_null = column_is_null(s);
	int64_t cost = column_i64(s);

	return is_null ? STORE_NO_COST : cost;
}

enum status store_read_goodput(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct goodput_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*out = (struct goodput_row){.job_id = job_id,
		.instance = SPAN(""),
		.currency = SPAN(""),
		.unpriced = SPAN(""),
		.goodput = NAN,
		.cost = STORE_NO_COST,
		.lost_cost = STORE_NO_COST,
		.spot_saving = STORE_NO_COST};
	TRY(statement_open(&s, reader,
		"SELECT due_ms, changes, as_of_ms, nodes, is_measured, instance, steps, lost_steps, first_from_step,"
		" last_step, billable_ms, currency, cost, lost_cost, spot_saving, work_from_ms, work_to_ms, paused_ms,"
		" odd_times, nodes_from, unpriced, is_over, step_ms, goodput FROM goodput"
		" WHERE job_id = ?",
		err));
	bind_i64(&s, job_id);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	out->due_ms = column_i64(&s);
	out->changes = column_i64(&s);
	out->as_of_ms = column_i64(&s);
	out->nodes = column_i64(&s);
	out->is_measured = column_bool(&s);
	out->instance = column_span(&s, arena);
	out->steps = column_i64(&s);
	out->lost_steps = column_i64(&s);
	out->first_from_step = column_i64(&s);
	out->last_step = column_i64(&s);
	out->billable_ms = column_i64(&s);
	out->currency = column_span(&s, arena);
	out->cost = column_cost(&s);
	out->lost_cost = column_cost(&s);
	out->spot_saving = column_cost(&s);
	out->work_from_ms = column_i64(&s);
	out->work_to_ms = column_i64(&s);
	out->paused_ms = column_i64(&s);
	out->odd_times = column_u64(&s);
	int64_t from = column_i64(&s);
	out->nodes_from = from >= NODES_STATED && from <= NODES_STREAMS ? (enum nodes_from)from : NODES_STREAMS;
	out->unpriced = column_span(&s, arena);
	out->is_over = column_bool(&s);
	out->step_ms = column_finite(&s);
	if (!column_is_null(&s))
		out->goodput = column_finite(&s);
	return statement_check(&s, err);
}

#define DAY_MS INT64_C(86400000)
enum { BILLED_DAYS = 28 }; /* so long behind its end a job may have been billed, as it was stated */

#define IN_THESE_DAYS                                                                                                  \
	"EXISTS (SELECT 1 FROM goodput_days AS d WHERE d.job_id = g.job_id AND d.day BETWEEN ?1 AND ?2 AND d.unpriced > 0)"

/*
 * Each by a look into the index; of its jobs the newest first, which are most likely of these days. A type of old days alone has none:
 * then only jobs that run, and those since the first one that ended in these days or later, are looked at.
 */
enum status store_read_unpriced_types(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, size_t limit, struct span **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*count = 0;
	*out = arena_alloc(arena, (limit + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	TRY(statement_open(&s, reader,
		"WITH RECURSIVE t (types) AS (SELECT min(unpriced) FROM goodput WHERE unpriced <> '' UNION ALL"
		" SELECT (SELECT min(unpriced) FROM goodput WHERE unpriced <> '' AND unpriced > t.types) FROM t"
		" WHERE t.types IS NOT NULL) SELECT types FROM t WHERE types IS NOT NULL"
		" AND (SELECT " SQL_SUM(
			"x.unpriced") " FROM goodput_totals AS x WHERE x.day BETWEEN ?1 AND ?2) > 0"
				      " AND (EXISTS (SELECT 1 FROM goodput AS g WHERE g.unpriced = t.types AND g.unpriced <> ''"
				      " AND g.job_id >= (SELECT min(e.job_id) FROM jobs AS e INDEXED BY jobs_by_ended WHERE e.ended_ms >= ?5)"
				      " AND g.job_id NOT IN (SELECT job_id FROM trashed_jobs) AND " IN_THESE_DAYS
				      " ORDER BY g.job_id DESC) OR EXISTS (SELECT 1 FROM jobs AS r CROSS JOIN goodput AS g"
				      " WHERE r.ended_ms = 0 AND g.job_id = r.job_id AND g.unpriced = t.types AND g.unpriced <> '' AND " IN_THESE_DAYS
				      ")) UNION SELECT '" STORE_IN_CURRENCY "' || currency FROM goodput_deleted"
				      " WHERE day BETWEEN ?1 AND ?2 AND currency NOT IN ('', ?4) AND billed > 0 ORDER BY 1 LIMIT ?3",
		err));
	bind_i64(&s, first);
	bind_i64(&s, last);
	bind_i64(&s, (int64_t)limit);
	bind_text(&s, currency);
	bind_i64(&s, (first > BILLED_DAYS ? first - BILLED_DAYS : 0) * DAY_MS);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		(*out)[(*count)++] = column_span(&s, arena);
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

enum status store_count_unpriced(struct store_reader *reader, uint64_t *jobs, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, reader, "SELECT value FROM fleet_totals WHERE name = 'unpriced_jobs' AND instance_type = ''", err));
	TRY(statement_step(&s, &has_row, err));
	*jobs = has_row ? column_u64(&s) : 0;
	return OK;
}

enum status store_read_said_signatures(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct said_signature **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct said_signature, first_ms),
		FIELD(struct said_signature, last_ms), FIELD(struct said_signature, signature),
		FIELD(struct said_signature, severity)};

	TRY(statement_open(&s, reader,
		"SELECT h.first_ms, h.last_ms, h.signature, i.severity FROM signature_hits AS h JOIN incidents AS i"
		" ON i.job_id = h.job_id AND i.incident_id = h.incident_id WHERE h.job_id = ? AND i.severity >= ?"
		" ORDER BY h.first_ms, h.stream_id, h.first_line LIMIT ?",
		err));
	bind_i64(&s, job_id);
	bind_i64(&s, SEVERITY_WARNING);
	bind_u64(&s, limit);
	return rows_read(&s, arena, ROWS(fields, struct said_signature), out, count, err);
}
