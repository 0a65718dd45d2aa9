/* Which of a job's metrics answer for roles: decided where summaries are written, and anew when the rule has changed. */
#include "store/sql/jobs/main_metrics.h"

#include "model/metrics/main_metric.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/job_facts.h"
#include "store/tokens.h"

#include <stdio.h>

static enum role main_role_of(size_t index, const size_t mains[ROLE_COUNT])
{
	for (unsigned role = ROLE_OTHER + 1; role < ROLE_COUNT; role++)
		if (mains[role] == index)
			return (enum role)role;
	return ROLE_OTHER;
}

enum status main_metrics_of(const struct summary_row *rows, size_t count, enum role **out, struct error *err)
{
	AUTO_MEM struct metric_candidate *candidates = mem_zeroed((count + 1) * sizeof *candidates);
	enum role *roles = mem_zeroed((count + 1) * sizeof *roles);
	size_t mains[ROLE_COUNT] = {count};

	*out = roles;
	if (!candidates || !roles)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		candidates[i] =
			(struct metric_candidate){rows[i].metric, rows[i].unit, rows[i].role, rows[i].summary.count};
	for (unsigned role = ROLE_OTHER + 1; role < ROLE_COUNT; role++)
		mains[role] = main_metric_find((enum role)role, candidates, count);
	for (size_t i = 0; i < count; i++)
		roles[i] = main_role_of(i, mains);
	return OK;
}

enum status store_find_main_metric(struct store_reader *reader, struct arena *arena, int64_t job_id, enum role role,
	struct span *metric, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*metric = SPAN("");
	TRY(statement_open(&s, reader,
		"SELECT metric FROM summaries INDEXED BY summaries_by_role WHERE job_id = ? AND main_role = ? AND main_role > 0",
		err));
	bind_numbers(&s, job_id, role);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		*metric = column_span(&s, arena);
	return statement_check(&s, err);
}

/* ---- after a change of the rule ---- */

static enum status put_role(
	struct store_reader *on, int64_t job_id, struct span metric, enum role role, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on, "UPDATE summaries SET main_role = ? WHERE job_id = ? AND metric = ?", err));
	bind_numbers(&s, role, job_id);
	bind_text(&s, metric);
	return statement_run(&s, err);
}

static enum status renew_job(struct store_reader *on, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM enum role *roles = NULL;
	struct job_counts counts;
	struct summary_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_summaries(on, arena, job_id, &counts, &rows, &count, err));
	TRY(main_metrics_of(rows, count, &roles, err));
	for (size_t i = 0; i < count; i++)
		if (rows[i].main_role != roles[i])
			TRY(put_role(on, job_id, rows[i].metric, roles[i], err));
	return OK;
}

static enum status next_job(struct store_reader *on, int64_t *job_id, bool *has_more, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on, "SELECT job_id FROM summaries WHERE job_id > ? ORDER BY job_id LIMIT 1", err));
	bind_i64(&s, *job_id);
	TRY(statement_step(&s, has_more, err));
	if (*has_more)
		*job_id = column_i64(&s);
	return OK;
}

static enum status note_rule(struct store_reader *on, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	char text[16];

	snprintf(text, sizeof text, "%d", MAIN_METRIC_RULE);
	TRY(statement_open(&s, on,
		"INSERT INTO settings (key, value) VALUES ('main_metric_rule', ?) ON CONFLICT (key) DO UPDATE SET"
		" value = excluded.value",
		err));
	bind_blob(&s, span_from(text));
	return statement_run(&s, err);
}

static enum status renew_all(struct store_reader *on, struct error *err)
{
	int64_t job_id = INT64_MIN;
	bool has_more;

	for (;;) {
		TRY(next_job(on, &job_id, &has_more, err));
		if (!has_more)
			return note_rule(on, err);
		TRY(renew_job(on, job_id, err));
	}
}

/* 0: by an older program. */
static enum status read_rule(struct store_reader *on, int64_t *rule, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span text;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(on, arena, "main_metric_rule", &text, err));
	if (!span_parse_i64(text, rule))
		*rule = 0;
	return OK;
}

enum status main_metrics_renew(struct store *store, struct error *err)
{
	struct store_tx *tx;
	int64_t rule;

	TRY(read_rule(database_writer(store), &rule, err));
	if (rule == MAIN_METRIC_RULE)
		return OK;
	TRY(store_tx_begin(&tx, store, err));
	enum status status = renew_all(store_tx_reader(tx), err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}
