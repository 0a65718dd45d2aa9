#include "api/charts/points.h"
#include "api/charts/points_asked.h"
#include "test.h"

TEST(axes_of_a_chart)
{
	struct chart_query query = {.axis = AXIS_TIME};

	CHECK_OK(api_parse_axis(SPAN(""), &query, &err));
	CHECK_INT(query.axis, AXIS_STEP);
	CHECK_OK(api_parse_axis(SPAN("time"), &query, &err));
	CHECK_INT(query.axis, AXIS_TIME);
	CHECK_OK(api_parse_axis(SPAN("relative"), &query, &err));
	CHECK_INT(query.axis, AXIS_RELATIVE);
	CHECK_OK(api_parse_axis(SPAN("step"), &query, &err));
	CHECK_INT(query.axis, AXIS_STEP);
	CHECK_FAILS(api_parse_axis(SPAN("Step"), &query, &err), ERR_INVALID,
		"x 'Step' is none of step, time, relative, tokens, flops");
	CHECK_FAILS(api_parse_axis(SPAN("steps"), &query, &err), ERR_INVALID, "x 'steps'");
}

TEST(attempts_of_a_chart)
{
	static const struct {
		const char *text;
		int attempts;
	} table[] = {{"", ATTEMPTS_LIVE}, {"live", ATTEMPTS_LIVE}, {"all", ATTEMPTS_ALL}, {"1", 1},
		{"2147483647", INT32_MAX}};
	static const char *const none[] = {"0", "-1", "2147483648", "9223372036854775808", "1.0", " 1", "ALL", "1,2"};
	struct chart_query query = {0};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		CHECK_OK(api_parse_attempts(span_from(table[i].text), &query, &err));
		CHECK_INT(query.attempts, table[i].attempts);
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct error own = {0};
		CHECK_INT(api_parse_attempts(span_from(none[i]), &query, &own), ERR_INVALID);
		CHECK_TEXT(own.field, "attempts");
		CHECK(strstr(own.text, "is none of live, all, or a number from 1"));
	}
}

static enum status parse_columns(const char *text, unsigned *columns, struct error *err)
{
	AUTO(json) names = NULL;

	CHECK(json_parse(&names, span_from(text), NULL) == OK);
	return api_parse_columns(names, columns, err);
}

TEST(columns_of_a_chart)
{
	unsigned columns = 0, one;

	CHECK_OK(api_parse_columns(NULL, &columns, &err));
	CHECK(columns == ~0u);
	CHECK_OK(parse_columns("[]", &columns, &err));
	CHECK_INT(columns, 0);
	CHECK_OK(parse_columns("[\"mean\"]", &one, &err));
	CHECK_OK(parse_columns("[\"x\",\"mean\",\"x\"]", &columns, &err));
	CHECK(columns == (one | 1u) && one != 1u); /* x is the first one */
	CHECK_FAILS(parse_columns("\"x\"", &columns, &err), ERR_SEMANTIC, "columns is a list of names");
	CHECK_FAILS(parse_columns("[\"x\",\"X\"]", &columns, &err), ERR_SEMANTIC, "'X' is no column of a chart");
	CHECK_FAILS(parse_columns("[1]", &columns, &err), ERR_SEMANTIC, "'' is no column of a chart");
}
