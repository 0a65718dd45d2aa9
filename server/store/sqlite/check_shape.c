/* What SQLite takes from a file without a look: its header, and that its tables are those of the version it states. And its own check. */
#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/driver/migrations.h"
#include "store/driver/statement.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the header: https://www.sqlite.org/fileformat2.html#the_database_header ---- */

enum { HEADER_BYTES = 100, TRIES = 3 };

static uint32_t number_at(const unsigned char *header, size_t at)
{
	return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 | (uint32_t)header[at + 2] << 8 |
	       header[at + 3];
}

/* What is the same in each database that this program made, but that what the first table sets is 0 as long as all tables are in
 * the log beside it. */
static bool has_fixed_values(const unsigned char *header, struct buf *problem)
{
	static const struct {
		size_t at, bytes;
		uint32_t value;
		const char *what;
	} fields[] = {
		{16, 2, 8192, "page size"},
		{20, 1, 0, "reserved space"},
		{21, 1, 64, "largest payload fraction"},
		{22, 1, 32, "smallest payload fraction"},
		{23, 1, 32, "leaf payload fraction"},
		{44, 4, 4, "schema format"},
		{48, 4, 0, "default cache size"},
		{56, 4, 1, "text encoding"},
		{64, 4, 1, "incremental vacuum"},
		{68, 4, 0, "application number"},
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint32_t value = 0;
		for (size_t j = 0; j < fields[i].bytes; j++)
			value = value << 8 | header[fields[i].at + j];
		bool is_unset = value == 0 && number_at(header, 28) == 1;
		if (value != fields[i].value && !is_unset)
			buf_printf(problem, "the file's header is damaged: %s (at byte %zu) is %u and not %u",
				fields[i].what, fields[i].at, value, fields[i].value);
		if (problem->len)
			return false;
	}
	return true;
}

static void judge_header(const unsigned char *header, uint64_t file_bytes, bool is_whole, struct buf *problem)
{
	static const unsigned char zeroes[20];

	if (memcmp(header, "SQLite format 3", 16) != 0) {
		buf_append_text(
			problem, "the file's header is damaged: it does not begin as a database of SQLite does");
		return;
	}
	if (!has_fixed_values(header, problem))
		return;
	if (header[18] != header[19] || header[18] < 1 || header[18] > 2)
		buf_printf(problem, "the file's header is damaged: format versions %u and %u (at byte 18)", header[18],
			header[19]);
	else if (number_at(header, 24) != number_at(header, 92))
		buf_printf(problem, "the file's header is damaged: change counters %u and %u (at bytes 24 and 92)",
			number_at(header, 24), number_at(header, 92));
	else if (memcmp(header + 72, zeroes, sizeof zeroes) != 0)
		buf_append_text(problem, "the file's header is damaged: bytes 72 to 91 are not zero");
	else if (is_whole && number_at(header, 28) * UINT64_C(8192) != file_bytes)
		buf_printf(problem, "the file has %llu bytes, its header says %u pages of 8192",
			(unsigned long long)file_bytes, number_at(header, 28));
}

/* Everything is in the file, nothing in a log beside it. */
static bool has_no_log(const char *path)
{
	AUTO_MEM char *wal = store_beside(path, "-wal");
	struct stat info;

	return wal && (stat(wal, &info) != 0 || info.st_size == 0);
}

enum status check_header(const char *path, bool is_online, struct buf *problem, struct error *err)
{
	unsigned char header[HEADER_BYTES];
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) != 0) {
		if (fd >= 0)
			close(fd);
		return error_set(err, ERR_IO, "cannot read '%s': %s", path, strerror(errno));
	}
	/* A server may write it just now. */
	for (int i = 0; i < (is_online ? TRIES : 1) && (!i || problem->len); i++) {
		buf_reset(problem);
		if (pread(fd, header, sizeof header, 0) != sizeof header)
			buf_printf(problem, "the file has %lld bytes, which is less than its header takes",
				(long long)info.st_size);
		else
			judge_header(header, (uint64_t)info.st_size, !is_online && has_no_log(path), problem);
	}
	close(fd);
	return buf_status(problem, err);
}

/* ---- the version ---- */

/* Tables, their columns, and indexes, in order. */
static const char SHAPE[] =
	"SELECT m.type || ' ' || m.name || coalesce('.' || c.name, '') FROM sqlite_schema AS m"
	" LEFT JOIN pragma_table_info(m.name) AS c ON m.type = 'table' WHERE m.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY 1";

static enum status list_shape(sqlite3 *db, struct buf *out, struct error *err)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, SHAPE, -1, &s, NULL);

	while (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		buf_append_text(out, name ? name : "");
		buf_append_char(out, '\n');
	}
	code = code == SQLITE_OK ? sqlite3_finalize(s) : code;
	if (code != SQLITE_OK)
		return error_set(err, ERR_IO, "its tables cannot be listed: %s", sqlite3_errmsg(db));
	return buf_status(out, err);
}

/* What the migrations up to the version make; *newest: the last one that this program has. */
static enum status expected_shape(int64_t version, int64_t *newest, struct buf *out, struct error *err)
{
	sqlite3 *db = NULL;
	int code = sqlite3_open(":memory:", &db);

	for (const struct embedded_file *file = embedded_migrations; code == SQLITE_OK && file->name; file++) {
		struct span rest = span_from(file->name), digits;
		if (span_next(&rest, '_', &digits) && span_parse_i64(digits, newest) && *newest <= version)
			code = sqlite3_exec(db, file->bytes, NULL, NULL, NULL);
	}
	enum status status = code == SQLITE_OK
				     ? list_shape(db, out, err)
				     : error_set(err, ERR_INTERNAL, "the migrations fail: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return status;
}

/* The first line that one has and the other has not; both are sorted. */
static void tell_difference(int64_t version, struct span has, struct span expected, struct buf *problem)
{
	struct span mine = SPAN(""), its = SPAN("");

	do {
		mine = its = SPAN("");
		span_next(&has, '\n', &its);
		span_next(&expected, '\n', &mine);
	} while (its.len && span_equal(mine, its));
	bool is_missing = !its.len || (mine.len && span_compare(mine, its) < 0);
	buf_printf(problem, "says that it is of version %lld, %s '%.*s'", (long long)version,
		is_missing ? "but lacks the" : "which has no", SPAN_ARGS(is_missing ? mine : its));
}

enum status check_shape(int64_t version, struct span has, struct buf *problem, struct error *err)
{
	AUTO_DONE(buf) expected = BUF_INIT(1 << 20);
	int64_t newest = 0;

	TRY(expected_shape(version, &newest, &expected, err));
	bool is_same = span_equal(has, buf_span(&expected));
	if (version < 1)
		buf_append_text(problem, "this is no database of smfleet");
	else if (version > newest && is_same)
		buf_printf(problem, "says that it is of version %lld, but has the tables of version %lld",
			(long long)version, (long long)newest);
	else if (version <= newest && !is_same)
		tell_difference(version, has, buf_span(&expected), problem);
	return buf_status(problem, err);
}

enum status sqlite_check_schema(struct store_reader *reader, struct buf *problem, struct error *err)
{
	AUTO_DONE(buf) has = BUF_INIT(1 << 20);
	int64_t version;

	TRY(connection_number(reader, "PRAGMA user_version", &version, err));
	TRY(list_shape(sqlite_of(reader), &has, err));
	return check_shape(version, buf_span(&has), problem, err);
}

/* ---- the pages ---- */

struct pages {
	struct store_reader *reader;
	const char *pragma;
	bool (*tell)(void *context, struct span text);
	void *context;
	bool is_ended;
};

/* What one run of the pragma says. */
static enum status check_structure(struct pages *pages, struct span sql, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	store_reader_deadline(pages->reader, INT64_MAX);
	TRY(statement_open_once(&s, pages->reader, sql, err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		struct span text = column_borrow(&s);
		pages->is_ended |= !pages->tell(pages->context, span_equal(text, SPAN("ok")) ? SPAN("") : text);
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

/* Beside a server: a read of the whole file would keep the server's log from being moved into it until it is through. */
static enum status check_each_table(struct pages *pages, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO_DONE(buf) sql = BUF_INIT(1 << 20);
	bool has_row;

	TRY(statement_open(&s, pages->reader,
		"SELECT replace(name, '\"', '\"\"') FROM sqlite_schema WHERE type = 'table' UNION SELECT 'sqlite_schema'",
		err));
	TRY(statement_step(&s, &has_row, err));
	for (; has_row; buf_append_char(&sql, 0)) {
		struct span table = column_borrow(&s);
		buf_printf(&sql, "%s(\"%.*s\")", pages->pragma, SPAN_ARGS(table));
		TRY(statement_step(&s, &has_row, err));
	}
	statement_done(&s); /* each table's read is its own */
	TRY(buf_status(&sql, err));
	for (struct span rest = buf_span(&sql), one; !pages->is_ended && span_next(&rest, 0, &one) && one.len;)
		TRY(check_structure(pages, one, err));
	return OK;
}

enum status sqlite_check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err)
{
	struct pages pages = {.reader = reader,
		.pragma = is_quick ? "PRAGMA quick_check" : "PRAGMA integrity_check",
		.tell = tell,
		.context = context};

	return is_online ? check_each_table(&pages, err) : check_structure(&pages, span_from(pages.pragma), err);
}
