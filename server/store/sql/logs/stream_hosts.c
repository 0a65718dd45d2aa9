#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/stream_hosts.h"

#include <ctype.h>

static const struct row_field fields[] = {FIELD(struct stream_host_row, job_id),
	FIELD(struct stream_host_row, stream_id), FIELD(struct stream_host_row, number),
	FIELD(struct stream_host_row, from_line), FIELD(struct stream_host_row, from_ms),
	FIELD(struct stream_host_row, since_ms), FIELD(struct stream_host_row, until_ms),
	FIELD(struct stream_host_row, host), FIELD(struct stream_host_row, is_shared)};

enum status store_put_stream_host(struct store_tx *tx, const struct stream_host_row *row, struct error *err)
{
	return row_put(tx,
		"INSERT INTO stream_hosts (job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host, is_shared)"
		" VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (job_id, stream_id, number) DO UPDATE SET"
		" from_line = excluded.from_line, from_ms = excluded.from_ms, since_ms = excluded.since_ms,"
		" until_ms = excluded.until_ms, host = excluded.host, is_shared = excluded.is_shared",
		ROWS(fields, struct stream_host_row), row, err);
}

enum status store_set_present_host(
	struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct span host, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(
		&s, store_tx_reader(tx), "UPDATE streams SET host = ? WHERE job_id = ? AND stream_id = ?", err));
	bind_text(&s, host);
	bind_numbers(&s, job_id, stream_id);
	return statement_run(&s, err);
}

#define STREAM_HOSTS                                                                                                   \
	"SELECT job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host, is_shared FROM stream_hosts"  \
	" WHERE job_id = ?1"

enum status store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		stream_id ? STREAM_HOSTS " AND stream_id = ?2 ORDER BY number"
			  : STREAM_HOSTS " ORDER BY stream_id, number",
		err));
	bind_i64(&s, job_id);
	if (stream_id)
		bind_i64(&s, stream_id);
	return rows_read(&s, arena, ROWS(fields, struct stream_host_row), out, count, err);
}

enum status store_find_stream_host(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, int64_t at_ms, struct stream_host_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_by_line = line != NO_LINE, is_there;

	*out = (struct stream_host_row){.host = SPAN("")};
	TRY(statement_open(&s, reader,
		is_by_line ? STREAM_HOSTS " AND stream_id = ?2 AND from_line <= ?3 ORDER BY number DESC LIMIT 1"
			   : STREAM_HOSTS " AND stream_id = ?2 AND from_ms <= ?3 ORDER BY number DESC LIMIT 1",
		err));
	bind_numbers(&s, job_id, stream_id, is_by_line ? (int64_t)line : at_ms);
	return row_read(&s, arena, ROWS(fields, struct stream_host_row), out, &is_there, err);
}

enum { MACHINE_NAME_MAX = 255 };

static enum status find_machine_named(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT host FROM stream_hosts WHERE host = ? LIMIT 1", err));
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	*out = has_row ? column_span(&s, arena) : SPAN("");
	return statement_check(&s, err);
}

/* "gpu07.cluster.local" of "gpu07", if there is one alone: '/' is behind '.'. */
static enum status find_machine_in_domain(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) from = BUF_INIT(MACHINE_NAME_MAX + 1);
	AUTO_DONE(buf) to = BUF_INIT(MACHINE_NAME_MAX + 1);
	bool has_row;

	buf_printf(&from, "%.*s.", SPAN_ARGS(name));
	buf_printf(&to, "%.*s/", SPAN_ARGS(name));
	TRY(statement_open(
		&s, reader, "SELECT min(host), max(host) FROM stream_hosts WHERE host > ?1 AND host < ?2", err));
	bind_text(&s, buf_span(&from));
	bind_text(&s, buf_span(&to));
	TRY(statement_step(&s, &has_row, err));
	struct span first = has_row ? column_span(&s, arena) : SPAN("");
	struct span last = has_row ? column_span(&s, arena) : SPAN("");
	*out = span_equal(first, last) ? first : SPAN("");
	return statement_check(&s, err);
}

static enum status find_spelled(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	ptrdiff_t dot = span_find_char(name, '.');

	TRY(find_machine_named(reader, arena, name, out, err));
	if (out->len)
		return OK;
	return dot < 0 ? find_machine_in_domain(reader, arena, name, out, err)
		       : find_machine_named(reader, arena, span_of(name.ptr, (size_t)dot), out, err);
}

static struct span spell(struct span name, bool is_upper, char text[MACHINE_NAME_MAX])
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		bool is_other = c < 0x80 && (is_upper ? islower(c) : isupper(c));
		text[i] = (char)(is_other ? c ^ 0x20 : c);
	}
	return span_of(text, name.len);
}

/* Names of machines have no case (RFC 4343), and are told in small letters or in capitals: what is found by the index. */
enum status store_find_machine(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	char text[MACHINE_NAME_MAX];

	*out = SPAN("");
	if (!name.len || name.len > MACHINE_NAME_MAX)
		return OK;
	TRY(find_spelled(reader, arena, name, out, err));
	for (int is_upper = 0; is_upper < 2 && !out->len; is_upper++)
		TRY(find_spelled(reader, arena, spell(name, is_upper, text), out, err));
	return OK;
}

enum status store_drop_node_faults(struct store_tx *tx, const struct stream_host_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"DELETE FROM node_faults WHERE host = ? AND job_id = ? AND stream_id = ? AND line >= ?", err));
	bind_text(&s, row->host);
	bind_numbers(&s, row->job_id, row->stream_id, row->from_line);
	return statement_run(&s, err);
}
