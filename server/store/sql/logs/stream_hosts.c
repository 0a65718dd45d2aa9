#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/stream_hosts.h"

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

/* ---- by their names, which have no case (RFC 4343) ---- */

enum { MACHINE_NAME_MAX = 255, LEAPS_MAX = 256, SPELLINGS_MAX = 16 };

static char raise(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
}

/* Of jobs of that team, or of none; all for who asks for no team. */
#define MAY_NAME(table, team)                                                                                          \
	"(" team " = '' OR EXISTS (SELECT 1 FROM jobs AS t WHERE t.job_id = " table ".job_id AND t.team IN ('', " team \
	")))"

#define NAMED_IN(table)                                                                                                \
	{                                                                                                              \
		"SELECT host FROM " table " WHERE host = ? LIMIT 1",                                                   \
			"SELECT host FROM " table " WHERE host >= ? ORDER BY host LIMIT 1",                            \
			"SELECT host FROM " table                                                                      \
			" WHERE host >= ?1 AND host < ?2 AND " MAY_NAME(table, "?3") " ORDER BY host LIMIT 1",         \
			"SELECT host FROM " table                                                                      \
			" WHERE host >= ?1 AND host < ?2 AND " MAY_NAME(table, "?3") " ORDER BY host DESC LIMIT 1"     \
	}

/* Who sent a stream; whom lines alone name, with a fault. */
static const struct named_in {
	const char *one, *next, *first, *last;
} senders = NAMED_IN("stream_hosts"), charged = NAMED_IN("node_faults");

/* Names that begin so but for case, in the order of their bytes. */
struct leaping {
	const struct named_in *in;
	struct span name;
	char at[MACHINE_NAME_MAX]; /* the spelling that is looked for: of the next host at or behind it */
};

static void put_capitals(struct leaping *leaping, size_t from)
{
	for (size_t i = from; i < leaping->name.len; i++)
		leaping->at[i] = raise(leaping->name.ptr[i]);
}

/* To the next spelling behind this one that has other first bytes, `len` of them. */
static bool pass(struct leaping *leaping, size_t len)
{
	while (len-- > 0)
		if (leaping->at[len] != span_fold(leaping->at[len])) {
			leaping->at[len] = span_fold(leaping->at[len]);
			put_capitals(leaping, len + 1);
			return true;
		}
	return false;
}

/* To the next spelling behind a host that is none. */
static bool leap(struct leaping *leaping, struct span host)
{
	size_t same = 0;

	while (same < host.len && same < leaping->name.len &&
		span_fold(host.ptr[same]) == span_fold(leaping->name.ptr[same]))
		same++;
	memcpy(leaping->at, host.ptr, same);
	put_capitals(leaping, same);
	unsigned char c = same < host.len ? (unsigned char)host.ptr[same] : 0;
	if (same == leaping->name.len || c > (unsigned char)span_fold(leaping->name.ptr[same]))
		return pass(leaping, same);
	if (c > (unsigned char)leaping->at[same])
		leaping->at[same] = span_fold(leaping->name.ptr[same]);
	return true;
}

static enum status read_next(struct store_reader *reader, struct arena *arena, const struct leaping *leaping,
	struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, leaping->in->next, err));
	bind_text(&s, span_of(leaping->at, leaping->name.len));
	TRY(statement_step(&s, &has_row, err));
	*out = has_row ? column_span(&s, arena) : SPAN("");
	return statement_check(&s, err);
}

/* The next host that begins so, in leaping->at its spelling; "": there is none. is_whole: it is called so. */
static enum status find_next(struct store_reader *reader, struct arena *arena, struct leaping *leaping, bool is_whole,
	struct span *out, struct error *err)
{
	for (int i = 0; i < LEAPS_MAX; i++) {
		TRY(read_next(reader, arena, leaping, out, err));
		if (!out->len)
			return OK;
		struct span front = span_cut(*out, leaping->name.len);
		if (span_equal_fold(front, leaping->name) && (!is_whole || front.len == out->len)) {
			memcpy(leaping->at, out->ptr, front.len);
			return OK;
		}
		if (!leap(leaping, *out))
			break;
	}
	*out = SPAN("");
	return OK;
}

static bool begin(struct leaping *leaping, const struct named_in *in, struct span name)
{
	*leaping = (struct leaping){.in = in, .name = name};
	if (!name.len || name.len > MACHINE_NAME_MAX)
		return false;
	put_capitals(leaping, 0);
	return true;
}

static enum status find_spelling(struct store_reader *reader, struct arena *arena, const struct named_in *in,
	struct span name, struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct leaping leaping;
	bool has_row;

	*out = SPAN("");
	if (!begin(&leaping, in, name))
		return OK;
	TRY(statement_open(&s, reader, in->one, err));
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return find_next(reader, arena, &leaping, true, out, err);
	*out = column_span(&s, arena);
	return statement_check(&s, err);
}

enum status store_find_spelling(
	struct store_reader *reader, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	TRY(find_spelling(reader, arena, &senders, name, out, err));
	return out->len ? OK : find_spelling(reader, arena, &charged, name, out, err);
}

/* In the order of their bytes the first or last one that the team may name and that begins as leaping->at, which ends in '.'. */
static enum status read_edge(struct store_reader *reader, struct arena *arena, const struct leaping *leaping,
	const char *sql, struct span team, struct span *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) end = BUF_INIT(MACHINE_NAME_MAX);
	bool has_row;

	buf_append(&end, leaping->at, leaping->name.len - 1);
	buf_append_char(&end, '/'); /* which is behind '.' */
	TRY(statement_open(&s, reader, sql, err));
	bind_text(&s, span_of(leaping->at, leaping->name.len));
	bind_text(&s, buf_span(&end));
	bind_text(&s, team);
	TRY(statement_step(&s, &has_row, err));
	*out = has_row ? column_span(&s, arena) : SPAN("");
	return statement_check(&s, err);
}

/* "gpu07.cluster.local" of "gpu07", if there is one alone that the team may name. */
static enum status find_in_domain(struct store_reader *reader, struct arena *arena, const struct named_in *in,
	struct span name, struct span team, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MACHINE_NAME_MAX + 1);
	struct leaping leaping;
	struct span any, first, last;

	*out = SPAN("");
	buf_printf(&text, "%.*s.", SPAN_ARGS(name));
	if (!begin(&leaping, in, buf_span(&text)))
		return OK;
	for (int i = 0; i < SPELLINGS_MAX; i++) {
		TRY(find_next(reader, arena, &leaping, false, &any, err));
		if (!any.len)
			return OK;
		TRY(read_edge(reader, arena, &leaping, in->first, team, &first, err));
		TRY(read_edge(reader, arena, &leaping, in->last, team, &last, err));
		bool is_several = first.len && (out->len || !span_equal(first, last));
		*out = is_several ? STORE_SEVERAL_MACHINES : first.len ? first : *out;
		if (is_several || !pass(&leaping, name.len))
			return OK;
	}
	*out = STORE_SEVERAL_MACHINES;
	return OK;
}

static enum status find_other_form(struct store_reader *reader, struct arena *arena, const struct named_in *in,
	struct span name, struct span team, struct span *out, struct error *err)
{
	ptrdiff_t dot = span_find_char(name, '.');

	return dot < 0 ? find_in_domain(reader, arena, in, name, team, out, err)
		       : find_spelling(reader, arena, in, span_of(name.ptr, (size_t)dot), out, err);
}

/* *host "": its senders are all of other teams. */
static enum status leave_to_others(struct store_reader *reader, struct span team, struct span *host, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_own;

	if (!team.len || !host->len || span_equal(*host, STORE_SEVERAL_MACHINES))
		return OK;
	TRY(statement_open(&s, reader,
		"SELECT 1 FROM stream_hosts WHERE host = ?1 AND " MAY_NAME("stream_hosts", "?2") " LIMIT 1", err));
	bind_text(&s, *host);
	bind_text(&s, team);
	TRY(statement_step(&s, &is_own, err));
	*host = is_own ? *host : SPAN("");
	return statement_check(&s, err);
}

enum status store_find_machine(struct store_reader *reader, struct arena *arena, struct span name, struct span team,
	struct span *out, struct error *err)
{
	TRY(find_spelling(reader, arena, &senders, name, out, err));
	TRY(leave_to_others(reader, team, out, err));
	if (out->len)
		return OK;
	TRY(find_other_form(reader, arena, &senders, name, team, out, err));
	return leave_to_others(reader, team, out, err);
}

/* Does the short name belong to a machine of some other domain, too? */
static enum status has_other_domain(struct store_reader *reader, struct arena *arena, struct span brief,
	struct span full, bool *has_it, struct error *err)
{
	const struct named_in *const all[] = {&senders, &charged};
	struct span other;

	*has_it = false;
	for (size_t i = 0; i < sizeof all / sizeof *all && !*has_it; i++) {
		TRY(find_in_domain(reader, arena, all[i], brief, SPAN(""), &other, err));
		*has_it = other.len && !span_equal_fold(other, full);
	}
	return OK;
}

/* Has any job told of it that is not of the team? Of a deleted one nobody knows whose it was. */
static enum status is_charged_by_others(
	struct store_reader *reader, struct span host, struct span team, bool *is_so, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT 1 FROM node_faults AS f LEFT JOIN jobs AS t ON t.job_id = f.job_id"
		" WHERE f.host = ?1 AND coalesce(t.team, '') <> ?2 LIMIT 1",
		err));
	bind_text(&s, host);
	bind_text(&s, team);
	TRY(statement_step(&s, is_so, err));
	return statement_check(&s, err);
}

enum status store_find_charged_form(struct store_reader *reader, struct arena *arena, struct span name,
	struct span team, struct span *out, struct error *err)
{
	bool is_brief = span_find_char(name, '.') < 0, is_several, is_of_others = false;
	struct span sender;

	TRY(find_other_form(reader, arena, &charged, name, SPAN(""), out, err));
	if (!out->len || span_equal(*out, STORE_SEVERAL_MACHINES)) {
		*out = SPAN("");
		return OK;
	}
	TRY(find_spelling(reader, arena, &senders, *out, &sender, err));
	TRY(has_other_domain(reader, arena, is_brief ? name : *out, is_brief ? *out : name, &is_several, err));
	if (team.len)
		TRY(is_charged_by_others(reader, *out, team, &is_of_others, err));
	if (sender.len || is_several || is_of_others)
		*out = SPAN("");
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
