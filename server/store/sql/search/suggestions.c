/*
 * What there is to search for, by its beginning: one seek in an index for each different value, and a count that stops early, so
 * that the work is the same with a million jobs.
 */
#include "store/columns/case_fold.h"
#include "store/driver/common_sql.h"
#include "store/driver/statement.h"
#include "store/suggestions.h"

#include <stdlib.h>

enum { STEPS_MAX = 200, TEXT_MAX_BYTES = 4096 };

/* `next`: (?1 at or behind this, ?2 of this key) the next value in order and how it is written; `count`: rows of value ?1. */
struct source {
	const char *next;
	const char *count;
};

/* To 500: more is as good as many. */
static const struct source sources[] = {
	[SUGGEST_KEYS] = {"SELECT key, key FROM attributes INDEXED BY attributes_by_text WHERE key >= ?1 AND ?2 = '' ORDER BY key"
			  " LIMIT 1",
		"SELECT count(*) FROM (SELECT 1 FROM attributes INDEXED BY attributes_by_text WHERE key = ?1 AND ?2 = '' LIMIT 500) AS few"},
	[SUGGEST_VALUES] = {"SELECT folded, text FROM attributes INDEXED BY attributes_by_text WHERE key = ?2 AND folded >= ?1"
			    " ORDER BY folded LIMIT 1",
		"SELECT count(*) FROM (SELECT 1 FROM attributes INDEXED BY attributes_by_text WHERE key = ?2 AND folded = ?1"
		" LIMIT 500) AS few"},
	[SUGGEST_METRICS] =
		{"SELECT metric, metric FROM summaries INDEXED BY summaries_by_metric WHERE metric >= ?1 AND ?2 = ''" NOT_IN_TRASH
		 " ORDER BY metric LIMIT 1",
			"SELECT count(*) FROM (SELECT 1 FROM summaries INDEXED BY summaries_by_metric WHERE metric = ?1 AND ?2 = ''" NOT_IN_TRASH
			" LIMIT 500) AS few"},
	[SUGGEST_NAMES] =
		{"SELECT folded, name FROM jobs INDEXED BY jobs_by_folded WHERE folded >= ?1 AND ?2 = '' ORDER BY folded"
		 " LIMIT 1",
			"SELECT 1 WHERE ?1 <> ?2"},
	[SUGGEST_TEAMS] = {"SELECT team, team FROM jobs INDEXED BY jobs_by_team WHERE team >= ?1 AND ?2 = '' ORDER BY team LIMIT 1",
		"SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_by_team WHERE team = ?1 AND ?2 = '' LIMIT 500) AS few"},
};

static enum status read_next(struct store_reader *reader, struct arena *arena, const struct source *source,
	struct span at, struct span key, struct span *value, struct span *text, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*value = SPAN("");
	TRY(statement_open(&s, reader, source->next, err));
	bind_text(&s, at);
	bind_text(&s, key);
	TRY(statement_step(&s, &has_row, err));
	if (has_row) {
		*value = column_span(&s, arena);
		*text = column_span(&s, arena);
	}
	return statement_check(&s, err);
}

static enum status read_count(struct store_reader *reader, const struct source *source, struct span value,
	struct span key, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, source->count, err));
	bind_text(&s, value);
	bind_text(&s, key);
	TRY(statement_step(&s, &has_row, err));
	*count = has_row ? column_u64(&s) : 0;
	return OK;
}

static int by_count(const void *a, const void *b)
{
	const struct suggestion *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return span_compare(left->text, right->text);
}

enum status store_suggest(struct store_reader *reader, struct arena *arena, const struct suggestion_query *query,
	struct suggestion **out, size_t *count, bool *is_partial, struct error *err)
{
	const struct source *source = &sources[query->kind];
	bool is_folded = query->kind == SUGGEST_VALUES || query->kind == SUGGEST_NAMES;
	struct suggestion *rows = arena_alloc(arena, STEPS_MAX * sizeof *rows);
	AUTO_DONE(buf) prefix = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) at = BUF_INIT(2 * TEXT_MAX_BYTES);
	struct span value;
	size_t used = 0;

	if (!rows)
		return error_no_memory(err);
	if (is_folded)
		fold_append(&prefix, query->prefix);
	else
		buf_append_span(&prefix, query->prefix);
	TRY(buf_status(&prefix, err));
	buf_append_span(&at, buf_span(&prefix));
	if (!at.len) /* behind the empty text, which jobs may have */
		buf_append_char(&at, 1);
	for (*is_partial = false; used < STEPS_MAX; used++) {
		TRY(read_next(reader, arena, source, buf_span(&at), query->key, &value, &rows[used].text, err));
		if (!value.len || !span_starts_with(value, buf_span(&prefix)))
			break;
		TRY(read_count(reader, source, value, query->key, &rows[used].count, err));
		buf_reset(&at);
		buf_append_span(&at, value);
		buf_append_char(&at, 1); /* the first text behind it: no text holds a smaller character */
		TRY(buf_status(&at, err));
	}
	*is_partial = used == STEPS_MAX;
	qsort(rows, used, sizeof *rows, by_count);
	*out = rows;
	*count = used < query->limit ? used : query->limit;
	return OK;
}
