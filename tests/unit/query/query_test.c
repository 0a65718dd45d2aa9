#include "base/text/zone.h"
#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "query/query.h"
#include "test.h"

#include <math.h>

static const int64_t NOW_MS = 1700000000000; /* 2023-11-14T22:13:20Z */

static struct query_node *parse(struct arena *arena, const char *text)
{
	struct query_node *node;

	CHECK_OK(query_parse(&node, span_from(text), NOW_MS, arena, &err));
	return node;
}

static void check_print(const char *text, const char *want)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	AUTO_DONE(buf) again = BUF_INIT(1 << 16);

	query_print(parse(arena, text), &out);
	CHECK_SPAN(buf_span(&out), span_from(want));
	buf_append_char(&out, 0);
	query_print(parse(arena, out.ptr), &again);
	CHECK_SPAN(buf_span(&again), span_from(want));
}

TEST(canonical_text)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"  ", ""},
		{"llama", "llama"},
		{"llama-7b nccl*", "llama-7b and nccl*"},
		{"a b or c d", "a and b or c and d"},
		{"a and (b or c)", "a and (b or c)"},
		{"a (b c)", "a and (b and c)"},
		{"NOT a AND NOT (b OR c)", "not a and not (b or c)"},
		{"-a -(b c) d", "not a and not (b and c) and d"},
		{"a-b", "a-b"},
		{"\"two words\" \"or\" \"3\"", "\"two words\" and \"or\" and \"3\""},
		{"\"a \\\"b\\\" \\\\\"", "\"a \\\"b\\\" \\\\\""},
		{"status:failed", "status:failed"},
		{"status = Failed", "status=Failed"},
		{"loss>3", "loss.last>3"},
		{"loss.last > -0.5", "loss.last>-0.5"},
		{"bleu.last>-0.5", "metric.bleu.last>-0.5"},
		{"reward>0.5", "reward.last>0.5"},
		{"metric.loss<1", "metric.loss.last<1"},
		{"metric.\"train:loss\".min<2", "metric.\"train:loss\".min<2"},
		{"\"train loss\".min<2", "metric.\"train loss\".min<2"},
		{"metric.\"loss.min\"<2", "metric.loss.min.last<2"},
		{"metric.a.b.max<2", "metric.a.b.max<2"},
		{"hp.lr.max=3", "hp.lr.max=3"},
		{"hp.lr=\"3\"", "hp.lr=\"3\""},
		{"hp.lr=auto", "hp.lr=auto"},
		{"hp.\"a b\"~x", "hp.\"a b\"~x"},
		{"tag.team=nlp env.WORLD exists", "tag.team=nlp and env.WORLD exists"},
		{"status in (Failed, Stopped)", "status in (Failed, Stopped)"},
		{"loss in(1,2)", "loss.last in (1, 2)"},
		{"name~\"llama-.*\" name~\"a|b\"", "name~llama-.* and name~\"a|b\""},
		{"name~*\"x\" name!~y", "name~*x and name!~y"},
		{"name~\"*\"", "name~\"*\""},
		{"started>-7d", "started>-7d"},
		{"created>2023-01-31T12:00:00Z", "created>2023-01-31T12:00:00Z"},
		{"created>\"2023-01-31 12:00\"", "created>\"2023-01-31 12:00\""},
		{"ResourceConfig.InstanceType=ml.p4d.24xlarge", "ResourceConfig.InstanceType=ml.p4d.24xlarge"},
		{"s3:s3://b/p", "s3:\"s3://b/p\""},
		{"loss.best<1 loss.best_step>2 loss.final<3", "loss.best<1 and loss.best_step>2 and loss.final<3"},
		{"not pool:available", "not pool:available"},
		{"trained in zurich", "trained and in and zurich"},
		{"duration>1h30m", "duration>1h30m"},
		{"name:\xc3\xa9t\xc3\xa9", "name:\xc3\xa9t\xc3\xa9"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check_print(cases[i][0], cases[i][1]);
}

static double number_of(const char *text)
{
	AUTO(arena) arena = arena_new();
	const struct query_node *node = parse(arena, text);

	CHECK_INT(node->kind, QUERY_TERM);
	return node->term.values[0].is_number ? node->term.values[0].number : -99;
}

TEST(numbers_units_and_times)
{
	CHECK_DOUBLE(number_of("hp.lr<=1e-4"), 1e-4);
	CHECK_DOUBLE(number_of("hp.lr=1e-4"), 1e-4);
	CHECK_DOUBLE(number_of("hp.lr=\"1e-4\""), -99);
	CHECK_DOUBLE(number_of("hp.model=7b"), -99);
	CHECK_DOUBLE(number_of("hp.memory>=2GiB"), 2147483648.0);
	CHECK_DOUBLE(number_of("hp.x=nan"), -99);
	CHECK_DOUBLE(number_of("loss=nan"), NAN);
	CHECK_DOUBLE(number_of("loss.last<-inf"), -INFINITY);
	CHECK_DOUBLE(number_of("duration>2h"), 7200);
	CHECK_DOUBLE(number_of("duration>1h30m"), 5400);
	CHECK_DOUBLE(number_of("duration>90"), 90);
	CHECK_DOUBLE(number_of("started>-7d"), 1700000000000.0 - 7 * 86400000.0);
	CHECK_DOUBLE(number_of("started>today"), 1699920000000.0);
	CHECK_DOUBLE(number_of("started>yesterday"), 1699833600000.0);
	CHECK_DOUBLE(number_of("created<2023-11-14"), 1699920000000.0);
	CHECK_DOUBLE(number_of("created<1700000000"), 1700000000000.0);
	CHECK_DOUBLE(number_of("created<1700000000000"), 1700000000000.0);
	CHECK_DOUBLE(number_of("ended<+1d"), 1700086400000.0);
}

TEST(meaning_of_names)
{
	AUTO(arena) arena = arena_new();
	const struct query_term *term = &parse(arena, "loss>3")->term;

	CHECK(term->family == QUERY_METRIC && term->is_role && term->aggregate == AGGREGATE_LAST);
	term = &parse(arena, "eval_loss.min>3")->term;
	CHECK(term->is_role && term->aggregate == AGGREGATE_MIN);
	CHECK_SPAN(term->key, SPAN("eval_loss"));
	term = &parse(arena, "metric.loss.count>3")->term;
	CHECK(!term->is_role && term->aggregate == AGGREGATE_COUNT);
	term = &parse(arena, " x (hp.lr.max>3)")->right->term;
	CHECK(term->family == QUERY_HP);
	CHECK_SPAN(term->key, SPAN("lr.max"));
	CHECK_INT(term->column, 5);
	term = &parse(arena, "loss")->term;
	CHECK(term->family == QUERY_TEXT);
}

TEST(names_of_the_contract_parse)
{
	static const char *const names[] = {"name", "status", "secondary", "instance", "image", "role", "pool", "run",
		"team", "owner", "project", "incident", "label", "s3", "log", "FailureReason",
		"AlgorithmSpecification.TrainingImage"};
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		AUTO_DONE(buf) text = BUF_INIT(256);
		buf_printf(&text, "%s:x %s exists", names[i], names[i]);
		buf_append_char(&text, 0);
		CHECK_INT(parse(arena, text.ptr)->left->term.family, QUERY_PROPERTY);
	}
	parse(arena,
		"status:failed loss.last>3 and (name~\"llama-.*\" or tag.team=nlp) started>-7d hp.lr<=1e-4 "
		"instance=ml.p4d.24xlarge s3:\"s3://bucket/prefix\" log:\"NCCL timeout\" not pool:available cost>10 instances>=2");
}

static void check_error(const char *text, int64_t column, const char *words)
{
	AUTO(arena) arena = arena_new();
	struct query_node *node;
	struct error err = {0};

	CHECK_INT(query_parse(&node, span_from(text), NOW_MS, arena, &err), ERR_SEMANTIC);
	CHECK_INT(err.column, column);
	if (!strstr(err.text, words))
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.text, words);
}

TEST(errors_say_what_was_expected)
{
	check_error("status:", 8, "expected a value, found the end");
	check_error("status==x", 8, "expected a value, found '=x'");
	check_error("(a or b", 8, "expected ')', found the end");
	check_error("a)", 2, "expected the end, found ')'");
	check_error("a or", 5, "expected a term, found the end");
	check_error("a or and b", 6, "expected a term, found 'and'");
	check_error("a - b", 4, "expected a term");
	check_error("\"abc", 5, "a closing quote");
	check_error("a\"b\"", 2, "a space, a parenthesis or the end");
	check_error("statsu=x", 1, "unknown property 'statsu'");
	check_error("x loss>abc", 8, "expected a number, found 'abc'");
	check_error("loss~3", 1, "a comparison of numbers");
	check_error("created>soon", 9, "expected a time");
	check_error("duration>long", 10, "expected a duration");
	check_error("status in (a b)", 14, "',' or ')'");
	check_error("status in ()", 12, "expected a value");
	check_error("foo.\"x\"=3", 1, "hp., tag., env., label. or metric.");
	check_error("metric.\"x\".foo=3", 1, "an operator, or last");
	check_error("metric.\"\"=3", 1, "not empty");
	check_error("\"\"", 1, "not empty");
	check_error("#", 1, "expected a term, found '#'");
}

TEST(limits)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	struct query_node *node;

	for (int i = 0; i < 65; i++)
		buf_append_text(&text, "a ");
	CHECK_FAILS(query_parse(&node, buf_span(&text), NOW_MS, arena, &err), ERR_SEMANTIC, "at most 64 terms");
	buf_reset(&text);
	for (int i = 0; i < 40; i++)
		buf_append_char(&text, '(');
	CHECK_FAILS(query_parse(&node, buf_span(&text), NOW_MS, arena, &err), ERR_SEMANTIC, "at most 32 levels");
	buf_reset(&text);
	buf_append_text(&text, "name in (a");
	for (int i = 1; i < 256; i++)
		buf_append_text(&text, ",a");
	buf_append_char(&text, ')');
	CHECK_OK(query_parse(&node, buf_span(&text), NOW_MS, arena, &err));
	CHECK_INT(node->term.value_count, 256);
	text.len--;
	buf_append_text(&text, ",a)");
	CHECK_FAILS(query_parse(&node, buf_span(&text), NOW_MS, arena, &err), ERR_SEMANTIC, "at most 256 values");
	buf_reset(&text);
	for (int i = 0; i < 9000; i++)
		buf_append_char(&text, 'a');
	CHECK_FAILS(query_parse(&node, buf_span(&text), NOW_MS, arena, &err), ERR_TOO_LARGE, "9000 bytes");
	CHECK_FAILS(query_parse(&node, SPAN("a\xff"), NOW_MS, arena, &err), ERR_INVALID, "UTF-8");
	CHECK_FAILS(query_parse(&node, SPAN("a\0b"), NOW_MS, arena, &err), ERR_INVALID, "NUL");
}

static void check_names(const char *text, size_t column)
{
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	AUTO(arena) arena = arena_new();
	struct error err = {0};
	size_t count;
	bool is_figure = text[0] == '+';

	enum status status = is_figure ? query_parse_figures(figures, &count, span_from(text + 1), arena, &err)
				       : query_parse_names(names, &count, span_from(text), arena, &err);
	if (column ? status != ERR_SEMANTIC || err.column != (int64_t)column : status != OK)
		test_fail(__FILE__, __LINE__, "'%s' gave %d at %d: %s", text, (int)status, (int)err.column, err.text);
}

TEST(lists_of_names_and_figures)
{
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	AUTO(arena) arena = arena_new();
	size_t count;

	CHECK_OK(query_parse_names(names, &count, SPAN("tag.\"a, b\" ,month, hp.lr"), arena, &err));
	CHECK_INT(count, 3);
	CHECK(names[0].term.family == QUERY_TAG && names[1].term.family == QUERY_PROPERTY);
	CHECK_SPAN(names[0].term.key, SPAN("a, b"));
	CHECK_SPAN(names[0].text, SPAN("tag.\"a, b\""));
	CHECK_SPAN(names[1].term.key, SPAN("month"));
	CHECK_INT(names[2].term.column, 20);
	CHECK_OK(query_parse_figures(figures, &count,
		SPAN("sum:node_hours,count, p95:metric.\"train:loss\".min, mean:loss.final"), arena, &err));
	CHECK_INT(count, 4);
	CHECK(figures[0].fold == FOLD_SUM && figures[1].counts_jobs && figures[2].fold == FOLD_P95);
	CHECK_SPAN(figures[2].quantity.term.key, SPAN("train:loss"));
	CHECK(figures[2].quantity.term.aggregate == AGGREGATE_MIN && figures[3].quantity.term.is_role);
	CHECK_SPAN(figures[2].text, SPAN("p95:metric.\"train:loss\".min"));
	CHECK_OK(query_parse_names(names, &count, SPAN(""), arena, &err));
	CHECK_INT(count, 0);
}

TEST(mistakes_in_lists_have_columns)
{
	check_names("a,b,c,d,e,f,g,h", 0);
	check_names("a,b,c,d,e,f,g,h,i", 17);
	check_names("team,", 6);
	check_names("team month", 6);
	check_names("foo.bar", 1);
	check_names("team,,a", 6);
	check_names("+avg:loss", 1);
	check_names("+count,sum", 10);
	check_names("+sum:", 5);
	check_names("+mean:tag.", 6);
	char figures[QUERY_MAX_FIGURES * 6 + 8] = "+count";
	for (size_t i = 1; i < QUERY_MAX_FIGURES; i++)
		strcat(figures, ",count");
	check_names(figures, 0);
	strcat(figures, ",count");
	check_names(figures, QUERY_MAX_FIGURES * 6 + 1);
}

static double time_in(const struct zone *zone, const char *text)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) query = BUF_INIT(256);
	struct query_node *node;

	buf_printf(&query, "created>%s", text);
	CHECK_OK(query_parse_in(&node, buf_span(&query), NOW_MS, zone, arena, &err));
	return node->term.values[0].number;
}

TEST(times_are_of_a_zone)
{
	static const double HOUR_MS = 3600000;
	AUTO(zone) kyiv = NULL;
	AUTO(zone) west = NULL;

	CHECK_OK(zone_new(&kyiv, SPAN("EET-2EEST,M3.5.0/3,M10.5.0/4"), &err));
	CHECK_OK(zone_new(&west, SPAN("PST8"), &err));
	double day = time_in(NULL, "2023-11-14"), summer = time_in(NULL, "2023-07-01");
	CHECK_DOUBLE(time_in(kyiv, "2023-11-14"), day - 2 * HOUR_MS);
	CHECK_DOUBLE(time_in(kyiv, "2023-07-01"), summer - 3 * HOUR_MS);
	CHECK_DOUBLE(time_in(kyiv, "2023-11-14T12:00"), day + 10 * HOUR_MS);
	CHECK_DOUBLE(time_in(kyiv, "\"2023-11-14 12:00:00.5\""), day + 10 * HOUR_MS + 500);
	CHECK_DOUBLE(time_in(kyiv, "2023-11-14T12:00Z"), day + 12 * HOUR_MS);
	CHECK_DOUBLE(time_in(kyiv, "2023-11-14T12:00+01:00"), day + 11 * HOUR_MS);
	/* It is 22:13 UTC of the 14th: the 15th in Kyiv already, afternoon in the west. */
	CHECK_DOUBLE(time_in(NULL, "today"), day);
	CHECK_DOUBLE(time_in(kyiv, "today"), day + 22 * HOUR_MS);
	CHECK_DOUBLE(time_in(kyiv, "yesterday"), day - 2 * HOUR_MS);
	CHECK_DOUBLE(time_in(west, "today"), day + 8 * HOUR_MS);
	CHECK_DOUBLE(time_in(west, "-1d"), (double)NOW_MS - 24 * HOUR_MS);
	CHECK_DOUBLE(time_in(west, "1700000000"), (double)NOW_MS);
}
