#include "store/driver/statement.h"
#include "store/journal.h"

enum status store_append_journal(struct store_tx *tx, uint64_t seq, struct span record, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "INSERT INTO journal (seq, record) VALUES (?,?)", err));
	bind_u64(&s, seq);
	bind_blob(&s, record);
	enum status status = statement_run(&s, err);
	if (statement_is_conflict(&s))
		return error_set(err, ERR_CONFLICT, "the journal has a record %llu already", (unsigned long long)seq);
	return status;
}

enum status store_read_journal(
	struct store_reader *reader, struct arena *arena, uint64_t seq, struct span *record, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT record FROM journal WHERE seq = ?", err));
	bind_u64(&s, seq);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set(
			err, ERR_NOT_FOUND, "record %llu is not in the journal any more", (unsigned long long)seq);
	struct span bytes = column_span(&s, arena);
	TRY(statement_check(&s, err));
	*record = bytes;
	return OK;
}

enum status store_next_journal(
	struct store_reader *reader, struct arena *arena, uint64_t *seq, struct span *record, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT seq, record FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1", err));
	bind_u64(&s, *seq);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row) {
		*record = (struct span){0};
		return OK;
	}
	uint64_t found = column_u64(&s);
	struct span bytes = column_span(&s, arena);
	TRY(statement_check(&s, err));
	*seq = found;
	*record = bytes;
	return OK;
}

enum status store_journal_range(
	struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader,
		"SELECT (SELECT coalesce(max(seq), 0) FROM journal), (SELECT coalesce(min(seq), 0) FROM journal)",
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
	TRY(statement_open(&s, reader, "SELECT coalesce(sum(length(record)), 0) FROM journal", err));
	TRY(statement_step(&s, &has_row, err));
	*bytes = column_u64(&s);
	return OK;
}

enum status store_trim_journal(struct store_tx *tx, uint64_t before_seq, size_t limit, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	/* The newest stays whatever is asked: its number is the last one given. */
	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE seq < ?"
		" AND seq < (SELECT max(seq) FROM journal) ORDER BY seq LIMIT ?)",
		err));
	bind_u64(&s, before_seq < INT64_MAX ? before_seq : INT64_MAX);
	bind_u64(&s, limit < INT64_MAX ? limit : INT64_MAX);
	return statement_run(&s, err);
}
