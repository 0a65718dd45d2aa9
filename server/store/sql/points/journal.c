#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/journal.h"

/* What is below was trimmed, where the driver keeps it for a while. */
#define FIRST_SEQ "coalesce((SELECT last FROM counters WHERE name = 'journal'), 0)"

/* ---- writing ---- */

static enum status put_part(
	struct store_tx *tx, uint64_t seq, int64_t part, int64_t slot, struct span piece, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "INSERT INTO journal (seq, record, part, slot) VALUES (?,?,?,?)", err));
	bind_u64(&s, seq);
	bind_blob(&s, piece);
	bind_numbers(&s, part, slot);
	enum status status = statement_run(&s, err);
	if (statement_is_conflict(&s))
		return error_set(err, ERR_CONFLICT, "the journal has a record %llu already", (unsigned long long)seq);
	return status;
}

enum status store_append_journal(struct store_tx *tx, uint64_t seq, struct span record, struct error *err)
{
	struct journal_place place;
	int64_t part = 0;

	TRY(tx_journal_place(tx, record.len, &place, err));
	for (; record.len > place.part_bytes; record = span_skip(record, place.part_bytes))
		TRY(put_part(tx, seq, part++, place.slot, span_of(record.ptr, place.part_bytes), err));
	return put_part(tx, seq, part, place.slot, record, err);
}

/* ---- reading ---- */

/* The parts of a record, of which most have one; the statement is at the first. */
static enum status read_parts(
	struct statement *s, struct arena *arena, uint64_t *seq, struct span *record, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(SIZE_MAX / 2);
	struct span first = column_span(s, arena);
	uint64_t found = column_u64(s);
	bool has_more;

	TRY(statement_check(s, err));
	TRY(statement_step(s, &has_more, err));
	if (has_more)
		buf_append_span(&whole, first);
	while (has_more) {
		buf_append_span(&whole, column_borrow(s));
		TRY(statement_check(s, err));
		TRY(statement_step(s, &has_more, err));
	}
	TRY(buf_status(&whole, err));
	*seq = found;
	*record = whole.len ? arena_copy(arena, buf_span(&whole)) : first;
	return whole.len && !record->ptr ? error_no_memory(err) : OK;
}

enum status store_read_journal(
	struct store_reader *reader, struct arena *arena, uint64_t seq, struct span *record, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT record, seq FROM journal WHERE seq = ? ORDER BY part", err));
	bind_u64(&s, seq);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(
			err, ERR_NOT_FOUND, "record %llu is not in the journal any more", (unsigned long long)seq);
	return read_parts(&s, arena, &seq, record, err);
}

enum status store_next_journal(
	struct store_reader *reader, struct arena *arena, uint64_t *seq, struct span *record, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT record, seq FROM journal WHERE seq = (SELECT min(seq) FROM journal WHERE seq >= ? AND seq >= " FIRST_SEQ
		") ORDER BY part",
		err));
	bind_u64(&s, *seq);
	TRY(statement_step(&s, &has_row, err));
	*record = (struct span){0};
	return has_row ? read_parts(&s, arena, seq, record, err) : OK;
}

enum status store_journal_range(
	struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT (SELECT coalesce(max(seq), 0) FROM journal),"
		" (SELECT coalesce(min(seq), 0) FROM journal WHERE seq >= " FIRST_SEQ ")",
		err));
	TRY(statement_step(&s, &has_row, err));
	*newest_seq = column_u64(&s);
	*oldest_seq = column_u64(&s);
	return OK;
}

enum status store_journal_figures(
	struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq, uint64_t *bytes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(store_journal_range(reader, newest_seq, oldest_seq, err));
	/* length() of a blob comes from the row's header: the records themselves are not read. */
	TRY(statement_open(
		&s, reader, "SELECT coalesce(sum(length(record)), 0) FROM journal WHERE seq >= " FIRST_SEQ, err));
	TRY(statement_step(&s, &has_row, err));
	*bytes = column_u64(&s);
	return OK;
}

/* ---- forgetting ---- */

static enum status move_first(struct store_tx *tx, int64_t before_seq, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO counters (name, last) SELECT 'journal',"
		" CASE WHEN coalesce(max(seq), 0) < ?1 THEN coalesce(max(seq), 0) ELSE ?1 END FROM journal WHERE true"
		" ON CONFLICT (name) DO UPDATE SET last = excluded.last WHERE excluded.last > counters.last",
		err));
	bind_i64(&s, before_seq);
	return statement_run(&s, err);
}

enum status store_trim_journal(struct store_tx *tx, uint64_t before_seq, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t before = before_seq < INT64_MAX ? (int64_t)before_seq : INT64_MAX;
	struct journal_place place;

	TRY(tx_journal_place(tx, 0, &place, err));
	/* The newest stays whatever is asked: its number is the last one given. */
	if (place.is_ring)
		return move_first(tx, before, err);
	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE seq < ?"
		" AND seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT ?)",
		err));
	bind_i64(&s, before);
	bind_u64(&s, limit < INT64_MAX ? limit : INT64_MAX);
	return statement_run(&s, err);
}
