#include "aws/metrics/metric_math.h"
#include "test.h"

#include <math.h>

/* m1: 1 2 3 4 at 0 to 3 minutes; m2: 10 30 at 0 and 2; zero: 0 0 at 0 and 1 */
static const struct {
	const char *id;
	size_t count;
	int minutes[4];
	double values[4];
} table[] = {
	{"m1", 4, {0, 1, 2, 3}, {1, 2, 3, 4}},
	{"m2", 2, {0, 2}, {10, 30}},
	{"zero", 2, {0, 1}, {0, 0}},
};

static enum status add(size_t row, struct math_value *out, struct error *err)
{
	struct math_series *series = math_value_add(out, table[row].count);

	if (!series)
		return error_no_memory(err);
	series->count = table[row].count;
	series->period_ms = 60000;
	series->until_ms = 240000;
	for (size_t i = 0; i < series->count; i++) {
		series->ts_ms[i] = table[row].minutes[i] * 60000;
		series->values[i] = table[row].values[i];
	}
	return OK;
}

static enum status find(void *context, struct span id, struct math_value *out, struct error *err)
{
	(void)context;
	*out = (struct math_value){.kind = MATH_SERIES};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (span_equal(id, span_from(table[i].id)))
			return add(i, out, err);
	return error_set(err, ERR_SEMANTIC, "there is no '%.*s'", SPAN_ARGS(id));
}

static enum status list(void *context, struct span part, struct math_value *out, struct error *err)
{
	(void)context;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (span_find(span_from(table[i].id), part) >= 0)
			TRY(add(i, out, err));
	return OK;
}

static enum status run(const char *expression, struct math_value *out, struct error *err)
{
	struct math_names names = {find, list, NULL};

	return metric_math_run(span_from(expression), &names, out, err);
}

TEST(expressions)
{
	static const struct {
		const char *text;
		size_t count;
		int minutes[4];
		double values[4];
	} rows[] = {
		{"m1", 4, {0, 1, 2, 3}, {1, 2, 3, 4}},
		{" m1 * 2 + 1 ", 4, {0, 1, 2, 3}, {3, 5, 7, 9}},
		{"1+2*m1", 4, {0, 1, 2, 3}, {3, 5, 7, 9}},
		{"(1+2)*m1", 4, {0, 1, 2, 3}, {3, 6, 9, 12}},
		{"-m1^2", 4, {0, 1, 2, 3}, {-1, -4, -9, -16}},
		{"m1*2^3^0", 4, {0, 1, 2, 3}, {2, 4, 6, 8}},
		{"10-m1-1", 4, {0, 1, 2, 3}, {8, 7, 6, 5}},
		{"m2/m1", 2, {0, 2}, {10, 10}},
		{"m1/zero", 0, {0}, {0}},
		{"1/m1*1.2e1", 4, {0, 1, 2, 3}, {12, 6, 4, 3}},
		{"m1/PERIOD(m1)*60", 4, {0, 1, 2, 3}, {1, 2, 3, 4}},
		{"m1-AVG(m1)", 4, {0, 1, 2, 3}, {-1.5, -0.5, 0.5, 1.5}},
		{"m1*0+MAX(m1)+MIN(m1)+SUM(m1)", 4, {0, 1, 2, 3}, {15, 15, 15, 15}},
		{"m2*0+STDDEV(m2)", 2, {0, 2}, {10, 10}},
		{"SUM([m1,m2])", 4, {0, 1, 2, 3}, {11, 2, 33, 4}},
		{"SUM(METRICS())", 4, {0, 1, 2, 3}, {11, 2, 33, 4}},
		{"AVG(METRICS(\"m\")*2)", 4, {0, 1, 2, 3}, {11, 4, 33, 8}},
		{"MAX(m1*[m1,m2])", 4, {0, 1, 2, 3}, {10, 4, 90, 16}},
		{"ABS(-m1)", 4, {0, 1, 2, 3}, {1, 2, 3, 4}},
		{"FLOOR(m1/2)+CEIL(m1/2)", 4, {0, 1, 2, 3}, {1, 2, 3, 4}},
		{"LOG10(m1*0+100)", 4, {0, 1, 2, 3}, {2, 2, 2, 2}},
		{"LOG(zero)", 0, {0}, {0}},
		{"DIFF(m2)", 1, {2}, {20}},
		{"RATE(m2)", 1, {2}, {20.0 / 120}},
		{"RUNNING_SUM(m1)", 4, {0, 1, 2, 3}, {1, 3, 6, 10}},
		{"FILL(m2,0)", 4, {0, 1, 2, 3}, {10, 0, 30, 0}},
		{"FILL(m2, REPEAT)", 4, {0, 1, 2, 3}, {10, 10, 30, 30}},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_DONE(math_value) out = {0};
		CHECK_OK(run(rows[i].text, &out, &err));
		CHECK_INT(out.kind, MATH_SERIES);
		CHECK_INT(out.series[0].count, rows[i].count);
		for (size_t k = 0; k < rows[i].count; k++) {
			CHECK_INT(out.series[0].ts_ms[k], rows[i].minutes[k] * 60000);
			CHECK(fabs(out.series[0].values[k] - rows[i].values[k]) < 1e-12);
		}
	}
}

static enum status run_and_drop(const char *expression, struct error *err)
{
	AUTO_DONE(math_value) out = {0};

	return run(expression, &out, err);
}

TEST(bad_expressions_are_refused_with_the_place)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"", "an operand is missing at the end at character 1"},
		{"m1+", "an operand is missing at the end at character 4"},
		{"m1 m2", "an operator is missing at character 4"},
		{"*m1", "an operand is missing at character 1"},
		{"(m1", "')' is missing"},
		{"[m1", "']' is missing"},
		{"[1]", "a list holds series alone"},
		{"m9", "there is no 'm9'"},
		{"1+2", "the result is a number"},
		{"AVG(m1)", "the result is a number"},
		{"METRICS()", "the result is a list"},
		{"[m1]+[m2]", "two lists are combined"},
		{"AVG(1)", "a number where a series is wanted"},
		{"RATE(1)", "a number where a series is wanted"},
		{"PERIOD([m1,m2])", "a number where a series is wanted"},
		{"FILL(1,2)", "a number where a series is wanted"},
		{"FILL(m1)", "FILL(series, number)"},
		{"FILL(m1,LINEAR)", "there is no 'LINEAR'"},
		{"FILL(m1,m2)", "FILL(series, number)"},
		{"METRICS(\"m", "a text without its end"},
		{"METRICS(m1)", "')' is missing"},
		{"SEARCH('{AWS/EC2} CPU', 'Average')", "the function 'SEARCH' is not done here"},
		{"IF(m1,1,2)", "the function 'IF' is not done here"},
		{"1.2.3*m1", "no number"},
		{"m1 > 2", "an operator is missing"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_FAILS(run_and_drop(rows[i].text, &err), ERR_SEMANTIC, rows[i].words);
}

TEST(expressions_have_limits)
{
	char text[MATH_EXPRESSION_MAX_BYTES + 2] = "m1";

	for (size_t i = 2; i < MATH_EXPRESSION_MAX_BYTES; i++)
		text[i] = ' ';
	text[MATH_EXPRESSION_MAX_BYTES] = 0;
	CHECK_OK(run_and_drop(text, &err));
	text[MATH_EXPRESSION_MAX_BYTES] = ' ';
	CHECK_FAILS(run_and_drop(text, &err), ERR_SEMANTIC, "more than 2048 bytes");
	memset(text, '-', MATH_MAX_DEPTH - 1);
	strcpy(text + MATH_MAX_DEPTH - 1, "m1");
	CHECK_OK(run_and_drop(text, &err));
	memset(text, '-', MATH_MAX_DEPTH);
	strcpy(text + MATH_MAX_DEPTH, "m1");
	CHECK_FAILS(run_and_drop(text, &err), ERR_SEMANTIC, "more than 32 parts in each other");
	for (size_t i = 0; i < MATH_MAX_REFERENCES; i++)
		memcpy(text + 3 * i, "m1+", 4);
	text[3 * MATH_MAX_REFERENCES - 1] = 0;
	CHECK_OK(run_and_drop(text, &err));
	strcpy(text + 3 * MATH_MAX_REFERENCES - 1, "+m1");
	CHECK_FAILS(run_and_drop(text, &err), ERR_SEMANTIC, "more than 200 references");
}
