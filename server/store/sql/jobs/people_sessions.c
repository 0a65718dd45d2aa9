/* Sessions of people: read once, at the start. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/people_sessions.h"

static const struct row_field fields[] = {FIELD_BLOB(struct people_session_row, hash),
	FIELD(struct people_session_row, provider), FIELD(struct people_session_row, issuer),
	FIELD(struct people_session_row, person), FIELD(struct people_session_row, groups),
	FIELD(struct people_session_row, began_ms), FIELD(struct people_session_row, until_ms)};

enum status store_put_people_session(struct store_tx *tx, const struct people_session_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO people_sessions (hash, provider, issuer, person, person_groups, began_ms, until_ms) VALUES (?,?,?,?,?,?,?)",
		err));
	row_bind(&s, ROWS(fields, struct people_session_row), row);
	return statement_run(&s, err);
}

enum status store_read_people_sessions(struct store_reader *reader, struct arena *arena,
	struct people_session_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT hash, provider, issuer, person, person_groups, began_ms, until_ms FROM people_sessions ORDER BY began_ms, hash",
		err));
	return rows_read(&s, arena, ROWS(fields, struct people_session_row), out, count, err);
}

enum status store_delete_people_session(struct store_tx *tx, struct span hash, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM people_sessions WHERE hash = ?", err));
	bind_blob(&s, hash);
	return statement_run(&s, err);
}
