#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/hosts_by_hand.h"

#define OF_STREAM " job_id = ?1 AND stream_id = ?2"
#define COLUMNS "job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host, is_shared"

static const struct row_field told_fields[] = {FIELD(struct stream_host_row, job_id),
	FIELD(struct stream_host_row, stream_id), FIELD(struct stream_host_row, number),
	FIELD(struct stream_host_row, from_line), FIELD(struct stream_host_row, from_ms),
	FIELD(struct stream_host_row, since_ms), FIELD(struct stream_host_row, until_ms),
	FIELD(struct stream_host_row, host), FIELD(struct stream_host_row, is_shared)};

#define ON_SAME_STRETCH                                                                                                \
	" ON CONFLICT (job_id, stream_id, number) DO UPDATE SET from_line = excluded.from_line,"                       \
	" from_ms = excluded.from_ms, since_ms = excluded.since_ms, until_ms = excluded.until_ms,"                     \
	" host = excluded.host, is_shared = excluded.is_shared"

enum status store_put_told_host(struct store_tx *tx, const struct stream_host_row *row, struct error *err)
{
	return row_put(tx, "INSERT INTO told_hosts (" COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?)" ON_SAME_STRETCH,
		ROWS(told_fields, struct stream_host_row), row, err);
}

enum status store_read_told_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct stream_host_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT " COLUMNS " FROM told_hosts WHERE" OF_STREAM " ORDER BY number", err));
	bind_numbers(&s, job_id, stream_id);
	return rows_read(&s, arena, ROWS(told_fields, struct stream_host_row), out, count, err);
}

enum status store_read_hosts_by_hand(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct host_by_hand **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct host_by_hand, stream_id),
		FIELD(struct host_by_hand, stream), FIELD(struct host_by_hand, host)};

	TRY(statement_open(&s, reader,
		"SELECT b.stream_id, s.name, b.host FROM hosts_by_hand AS b JOIN streams AS s ON s.job_id = b.job_id AND"
		" s.stream_id = b.stream_id WHERE b.job_id = ? ORDER BY b.stream_id",
		err));
	bind_i64(&s, job_id);
	return rows_read(&s, arena, ROWS(fields, struct host_by_hand), out, count, err);
}

enum status store_has_host_by_hand(
	struct store_reader *reader, int64_t job_id, uint32_t stream_id, bool *has_it, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader, "SELECT 1 FROM hosts_by_hand WHERE" OF_STREAM, err));
	bind_numbers(&s, job_id, stream_id);
	return statement_step(&s, has_it, err);
}

static enum status find_stream(
	struct store_reader *reader, int64_t job_id, struct span name, uint32_t *stream_id, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*stream_id = 0;
	TRY(statement_open(&s, reader, "SELECT stream_id FROM streams WHERE job_id = ? AND name = ?", err));
	bind_i64(&s, job_id);
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	if (has_row)
		*stream_id = (uint32_t)column_i64(&s);
	return statement_check(&s, err);
}

/* With the host as the third parameter. */
static enum status run_with_host(
	struct store_tx *tx, const char *sql, int64_t job_id, uint32_t stream_id, struct span host, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx), sql, err));
	bind_numbers(&s, job_id, stream_id);
	bind_text(&s, host);
	return statement_run(&s, err);
}

/* Of a machine that nobody named there is the place alone, as fault_write.c has it. */
#define PLACE                                                                                                          \
	"(SELECT j.name || '/' || s.name FROM streams AS s JOIN jobs AS j ON j.job_id = s.job_id WHERE s.job_id = ?1"  \
	" AND s.stream_id = ?2)"

/* What a line said of a machine stays that one's, also if it is the one that sent it. */
#define IS_SENDERS                                                                                                     \
	" AND NOT EXISTS (SELECT 1 FROM signature_hits AS g WHERE g.job_id = ?1 AND g.stream_id = ?2"                  \
	" AND g.signature = node_faults.signature AND g.first_line = node_faults.line AND g.host <> '')"
#define CHARGED_HOSTS "(SELECT host FROM stream_hosts WHERE" OF_STREAM " UNION ALL SELECT " PLACE ")"
#define CHARGE "UPDATE node_faults SET host = ?3 WHERE" OF_STREAM " AND host IN " CHARGED_HOSTS IS_SENDERS

/* Another fault of the same line. */
#define TWIN                                                                                                              \
	"EXISTS (SELECT 1 FROM node_faults AS o WHERE o.job_id = ?1 AND o.stream_id = ?2 AND o.ts_ms = node_faults.ts_ms" \
	" AND o.line = node_faults.line AND o.host <> node_faults.host"
/* Of those that will be the same fault one stays: not the one that the machine has. */
#define CLEAR_FOR_CHARGE                                                                                               \
	"DELETE FROM node_faults WHERE" OF_STREAM " AND (host = ?3 OR host IN " CHARGED_HOSTS ") AND " TWIN            \
	" AND o.host IN " CHARGED_HOSTS                                                                                \
	" AND (node_faults.host = ?3 OR (o.host > node_faults.host AND o.host <> ?3)))" IS_SENDERS

enum status store_set_host_by_hand(struct store_tx *tx, int64_t job_id, struct span stream, struct span host,
	uint32_t *stream_id, struct error *err)
{
	static const char *const keep =
		"INSERT INTO told_hosts (" COLUMNS ") SELECT " COLUMNS " FROM stream_hosts WHERE" OF_STREAM;
	static const char *const all_lines = "INSERT INTO stream_hosts (" COLUMNS
					     ") SELECT ?1, ?2, 0, 0, 0, coalesce((SELECT min(since_ms) FROM told_hosts"
					     " WHERE" OF_STREAM "), created_ms), 0, ?3, 0 FROM streams WHERE" OF_STREAM;
	static const char *const rename = "UPDATE streams SET host = ?3 WHERE" OF_STREAM;
	const char *const set[] = {all_lines,
		"INSERT INTO hosts_by_hand (job_id, stream_id, host) VALUES (?1, ?2, ?3)"
		" ON CONFLICT (job_id, stream_id) DO UPDATE SET host = excluded.host",
		rename};
	bool is_set;

	TRY(find_stream(store_tx_reader(tx), job_id, stream, stream_id, err));
	if (!*stream_id)
		return OK;
	TRY(store_has_host_by_hand(store_tx_reader(tx), job_id, *stream_id, &is_set, err));
	if (!is_set)
		TRY(run_with(tx, keep, NUMBERS(job_id, *stream_id), err));
	TRY(run_with_host(tx, CLEAR_FOR_CHARGE, job_id, *stream_id, host, err));
	TRY(run_with_host(tx, CHARGE, job_id, *stream_id, host, err));
	TRY(run_with(tx, "DELETE FROM stream_hosts WHERE" OF_STREAM, NUMBERS(job_id, *stream_id), err));
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		TRY(run_with_host(tx, set[i], job_id, *stream_id, host, err));
	return OK;
}

#define HAND "(SELECT b.host FROM hosts_by_hand AS b WHERE b.job_id = ?1 AND b.stream_id = ?2)"
#define CHARGED OF_STREAM " AND host = " HAND IS_SENDERS
#define TOLD_AT_LINE(column)                                                                                           \
	"(SELECT t." column " FROM told_hosts AS t WHERE t.job_id = ?1 AND t.stream_id = ?2"                           \
	" AND t.from_line <= node_faults.line ORDER BY t.number DESC LIMIT 1)"

#define TOLD_HOSTS "(SELECT host FROM told_hosts WHERE" OF_STREAM " UNION ALL SELECT " PLACE ")"
#define TOLD_HOST "coalesce(" TOLD_AT_LINE("host") ", " PLACE ")"

enum status store_take_host_back(struct store_tx *tx, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span *host, struct error *err)
{
	static const char *const statements[] = {"DELETE FROM node_faults WHERE" CHARGED
						 " AND coalesce(" TOLD_AT_LINE("is_shared") ", 0) <> 0",
		"DELETE FROM node_faults WHERE" OF_STREAM " AND host IN " TOLD_HOSTS " AND host = " TOLD_HOST
		" AND " TWIN " AND o.host = " HAND ")",
		"UPDATE node_faults SET host = " TOLD_HOST " WHERE" CHARGED, "DELETE FROM stream_hosts WHERE" OF_STREAM,
		"INSERT INTO stream_hosts (" COLUMNS ") SELECT " COLUMNS " FROM told_hosts WHERE" OF_STREAM,
		"DELETE FROM told_hosts WHERE" OF_STREAM, "DELETE FROM hosts_by_hand WHERE" OF_STREAM};
	struct stream_host_row *rows;
	size_t count;

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		TRY(run_with(tx, statements[i], NUMBERS(job_id, stream_id), err));
	TRY(store_read_stream_hosts(store_tx_reader(tx), arena, job_id, stream_id, &rows, &count, err));
	*host = count && !rows[count - 1].is_shared ? rows[count - 1].host : SPAN("");
	return store_set_present_host(tx, job_id, stream_id, *host, err);
}
