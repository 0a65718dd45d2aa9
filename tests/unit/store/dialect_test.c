#include "store/driver/dialect.h"
#include "test.h"

static void check_spelled(const char *sql, const char *expected, int parameters)
{
	AUTO_DONE(buf) out = BUF_INIT(4096);
	int count = -1;

	dialect_postgres(&out, span_from(sql), &count);
	CHECK_OK(buf_status(&out, &err));
	CHECK_SPAN(buf_span(&out), span_from(expected));
	CHECK_INT(count, parameters);
}

TEST(parameters_are_counted_in_their_order)
{
	check_spelled("INSERT INTO t (a, b) VALUES (?,?)", "INSERT INTO t (a, b) VALUES ($1,$2)", 2);
	check_spelled("SELECT 1", "SELECT 1", 0);
	check_spelled("?,?,?,?,?,?,?,?,?,?,?", "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11", 11);
	check_spelled("?", "$1", 1);
}

TEST(parameters_with_a_number_keep_it)
{
	check_spelled("a = ?2 AND b = ?1 OR c = ?2", "a = $2 AND b = $1 OR c = $2", 2);
	check_spelled("LIMIT ?12", "LIMIT $12", 12);
}

/* https://sqlite.org/lang_expr.html#varparam */
TEST(a_bare_one_comes_behind_the_greatest_number)
{
	check_spelled("a = ?3 AND b = ? AND c = ?1 AND d = ?", "a = $3 AND b = $4 AND c = $1 AND d = $5", 5);
}

TEST(what_stands_in_quotes_is_no_parameter)
{
	check_spelled("a = '?' AND b = ?", "a = '?' AND b = $1", 1);
	check_spelled("a = 'it''s ? here' AND b = ?", "a = 'it''s ? here' AND b = $1", 1);
	check_spelled("a = '' AND \"what?\" = ?", "a = '' AND \"what?\" = $1", 1);
	check_spelled("a = ? AND b = 'open ?", "a = $1 AND b = 'open ?", 1);
	check_spelled("a = ' INDEXED BY x '", "a = ' INDEXED BY x '", 0);
}

TEST(hints_of_sqlite_go)
{
	check_spelled("SELECT a FROM t INDEXED BY t_by_a WHERE a = ?", "SELECT a FROM t  WHERE a = $1", 1);
	check_spelled("(SELECT 1 FROM t AS x INDEXED BY t_by_a)", "(SELECT 1 FROM t AS x )", 0);
	check_spelled("SELECT NOT_INDEXED BY x", "SELECT NOT_INDEXED BY x", 0);
}

TEST(a_text_that_is_too_long_is_told)
{
	AUTO_DONE(buf) out = BUF_INIT(4);
	int count;

	dialect_postgres(&out, SPAN("a = ?"), &count);
	CHECK_FAILS(buf_status(&out, &err), ERR_TOO_LARGE, "");
	dialect_postgres(&out, SPAN(""), &count);
	CHECK_INT(count, 0);
}
