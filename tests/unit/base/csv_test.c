#include "base/text/csv.h"
#include "test.h"

static void check_cell(const char *text, const char *cell)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 10);

	csv_put_cell(&out, span_from(text));
	CHECK_SPAN(buf_span(&out), span_from(cell));
}

TEST(cells_are_quoted_where_they_must_be)
{
	check_cell("", "");
	check_cell("plain text", "plain text");
	check_cell("a,b", "\"a,b\"");
	check_cell("say \"so\"", "\"say \"\"so\"\"\"");
	check_cell(" a", "\" a\"");
	check_cell("\"", "\"\"\"\"");
	check_cell("a\r", "\"a\r\"");
	check_cell("\xc3\xb6;c'd", "\"\xc3\xb6;c'd\"");
	check_cell("two\nlines", "\"two\nlines\"");
}

TEST(no_cell_is_a_formula_and_numbers_are_numbers)
{
	check_cell("=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\"");
	check_cell("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\"");
	check_cell("-2+3", "\"'-2+3\"");
	check_cell("-", "\"'-\"");
	check_cell("@SUM(A1)", "\"'@SUM(A1)\"");
	check_cell("\t=1", "\"'\t'=1\"");
	check_cell("\r=1", "\"'\r'=1\"");
	check_cell("-1.5e-3", "-1.5e-3");
	check_cell("+7", "+7");
	check_cell("a=1", "a=1");
	check_cell("\xef\xbc\x9d"
		   "1+1",
		"\"'\xef\xbc\x9d"
		"1+1\"");
}

TEST(no_cell_has_a_formula_behind_another_separator)
{
	check_cell("a;=cmd", "\"a;'=cmd\"");
	check_cell("a\t@x;+y;-2", "\"a\t'@x;'+y;-2\"");
	check_cell("list:\n- one\n-2", "\"list:\n'- one\n-2\"");
	check_cell("a;b", "\"a;b\"");
	check_cell("a;", "\"a;\"");
	check_cell("a=b, -c", "\"a=b, -c\"");
}
