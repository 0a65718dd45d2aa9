#include "store/alerts.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

static const struct row_field fields[] = {FIELD(struct rule_row, rule_id), FIELD(struct rule_row, team),
	FIELD(struct rule_row, name), FIELD(struct rule_row, document), FIELD(struct rule_row, since_seq),
	FIELD(struct rule_row, modified_ms)};

static enum status check_name(struct store_tx *tx, const struct rule_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT 1 FROM rules WHERE team = ? AND name = ? AND rule_id <> ?", err));
	bind_text(&s, row->team);
	bind_text(&s, row->name);
	bind_i64(&s, row->rule_id);
	TRY(statement_step(&s, &has_row, err));
	return has_row ? error_set_field(
				 err, ERR_CONFLICT, "name", "there is a rule '%.*s' already", SPAN_ARGS(row->name))
		       : OK;
}

enum status store_put_rule(struct store_tx *tx, struct rule_row *row, struct error *err)
{
	struct rule_row put = *row;
	size_t changed;

	TRY(check_name(tx, row, err));
	if (!put.rule_id)
		TRY(next_id(tx, "rule", &put.rule_id, err));
	TRY(row_put(tx,
		row->rule_id
			? "UPDATE rules SET team = ?2, name = ?3, document = ?4, since_seq = ?5, modified_ms = ?6 WHERE rule_id = ?1"
			: "INSERT INTO rules (rule_id, team, name, document, since_seq, modified_ms) VALUES (?,?,?,?,?,?)",
		ROWS(fields, struct rule_row), &put, err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return error_set(err, ERR_NOT_FOUND, "there is no rule %lld", (long long)put.rule_id);
	row->rule_id = put.rule_id;
	return OK;
}

enum status store_read_rules(
	struct store_reader *reader, struct arena *arena, struct rule_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT rule_id, team, name, document, since_seq, modified_ms FROM rules ORDER BY rule_id", err));
	return rows_read(&s, arena, ROWS(fields, struct rule_row), out, count, err);
}

enum status store_end_rule_incidents(struct store_tx *tx, int64_t rule_id, int64_t now_ms, struct error *err)
{
	/* by incidents_open: the open ones are few */
	return run_with(tx, "UPDATE incidents SET state = 1, closed_ms = ?1 WHERE state = 0 AND rule_id = ?2",
		NUMBERS(now_ms, rule_id), err);
}

enum status store_delete_rule(struct store_tx *tx, int64_t rule_id, int64_t now_ms, struct error *err)
{
	size_t changed;

	TRY(store_end_rule_incidents(tx, rule_id, now_ms, err));
	TRY(run_with(tx, "DELETE FROM rules WHERE rule_id = ?", NUMBERS(rule_id), err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "there is no rule %lld", (long long)rule_id);
}
