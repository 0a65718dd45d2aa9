#include "detect/condition.h"
#include "model/incident.h"
#include "test.h"

#include <stdio.h>

/* What a watch said, as "open@ordinal" and "close@step" texts. */
struct said {
	char text[4096];
	struct incident last;
};

static void note(void *context, enum incident_change change, const struct incident *incident)
{
	struct said *said = context;
	size_t len = strlen(said->text);

	snprintf(said->text + len, sizeof said->text - len, "%s%lld ", change == INCIDENT_OPENED ? "+" : "-",
		change == INCIDENT_OPENED ? (long long)incident->opened_step : (long long)incident->last_step);
	said->last = *incident;
}

static void feed(struct watch *watch, const struct condition *e, int64_t from, const double *values, size_t count,
	struct said *said)
{
	for (size_t i = 0; i < count; i++) {
		struct point point = {.step = from + (int64_t)i,
			.ts_ms = 1000 * (from + (int64_t)i),
			.value = values[i],
			.line = NO_LINE};
		watch_feed(watch, e, (uint64_t)(from + (int64_t)i), &point, note, said);
	}
}

static void check(const char *text, const double *values, size_t count, const char *want)
{
	AUTO(condition) e = NULL;
	AUTO(watch) watch = NULL;
	struct said said = {0};

	CHECK_OK(condition_parse(&e, span_from(text), &err));
	watch = watch_new(e);
	feed(watch, e, 0, values, count, &said);
	CHECK_TEXT(said.text, want);
}

#define CHECK_SAYS(text, want, ...)                                                                                    \
	do {                                                                                                           \
		double values_[] = {__VA_ARGS__};                                                                      \
		check(text, values_, sizeof values_ / sizeof *values_, want);                                          \
	} while (0)

TEST(thresholds_open_and_close)
{
	CHECK_SAYS("loss > 4", "+1 -2 +4 ", 1, 5, 6, 2, 7);
	CHECK_SAYS("loss.last >= 5 and loss < 6", "+1 -1 ", 1, 5, 6, 2, 7);
	CHECK_SAYS("not (loss < 4 or loss > 8)", "+1 -1 ", 1, 5, 9);
	CHECK_SAYS("loss - -1 > 2 * 2 + 1", "+2 ", 1, 4, 4.5);
	CHECK_SAYS("loss = 3", "+2 -2 ", 1, 2, 3, 4);
	CHECK_SAYS("loss != 3", "+0 -0 ", 1, 3, 3);
	CHECK_SAYS("10 / loss < 2", "+1 ", 1, 6);
	CHECK_SAYS("loss.max > 4", "+1 ", 1, 5, 1, 1);
	CHECK_SAYS("loss.count >= 3 and loss.mean < 2", "+2 -2 ", 1, 1, 1, 50);
	CHECK_SAYS("\"loss\".min < 1", "+2 ", 3, 2, 0.5);
}

TEST(what_is_not_a_number_satisfies_nothing)
{
	CHECK_SAYS("loss > 4", "+2 -2 ", 1, NAN, 5, NAN);
	CHECK_SAYS("loss != 4", "", NAN, NAN);
	CHECK_SAYS("loss > 4", "+1 ", 1, INFINITY);
}

TEST(it_must_last)
{
	CHECK_SAYS("loss > 4 for 3 points", "+6 -7 ", 5, 5, 1, 1, 5, 5, 5, 5, 1);
	CHECK_SAYS("loss > 4 for 3 steps", "+7 ", 5, 5, 1, 1, 5, 5, 5, 5);
	CHECK_SAYS("loss > 4 for 2 s", "+2 ", 5, 5, 5, 5);
	CHECK_SAYS("loss > 4 for 1 h", "", 5, 5, 5, 5);
}

TEST(windows_hold_what_came_before)
{
	CHECK_SAYS("v > 2 * median(3)", "+4 -4 ", 1, 1, 1, 1, 3, 1);
	CHECK_SAYS("v > 2 * median(3)", "+3 -5 ", 1, 1, 1, 3, 9, 9, 9);
	CHECK_SAYS("v < 0.8 * mean(4)", "+4 -4 ", 10, 10, 10, 10, 7, 10);
	CHECK_SAYS("v > max(3)", "+3 -3 +5 ", 1, 2, 3, 4, 4, 5);
	CHECK_SAYS("v < min(3) - 1", "+3 ", 5, 4, 3, 1);
	CHECK_SAYS("median > 3", "+1 ", 1, 4); /* a metric of that name */
}

TEST(mistakes_are_told_with_their_column)
{
	static const struct {
		const char *text, *want;
		int column;
	} cases[] = {{"loss >", "a metric, a number or '(' was expected, not 'the end'", 7},
		{"loss > 4 for", "a number above 0", 13},
		{"loss > 4 for 3 bananas", "steps, points, s, min, h or d", 16},
		{"loss", "a comparison was expected", 1}, {"loss > 4 5", "'and', 'or', 'for' or the end", 10},
		{"loss > lr", "one metric", 8}, {"train/loss > 3", "one metric", 7},
		{"3 > 2", "a metric must be named", 1}, {"(loss > 3", "')' was expected", 10},
		{"loss > 3 > 2", "the end", 10}, {"loss > \"x", "never closed", 8},
		{"loss > median(1)", "2 to 1000", 15}, {"loss > median(1001)", "2 to 1000", 15},
		{"loss.best > 1", "last, min, max, mean or count", 1},
		{"loss and 3 > 2", "a comparison was expected", 1}, {"loss > (3 > 2)", "a number was expected", 8},
		{"loss > 1.2.3", "a number was expected", 8}, {"\"loss\".foo > 1", "last, min, max, mean or count", 8},
		{"absent(loss) for 5 min", "there is no function 'absent', only median(N), mean(N), min(N) and max(N)",
			1},
		{"loss > 2 * rate (5)", "there is no function 'rate'", 12},
		{"loss ~ 3", "a comparison was expected", 1}, {"\"\" > 1", "a metric was expected", 1},
		{"loss > median(2)+median(3)+median(4)+median(5)+median(6)", "at most 4 windows", 55}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct condition *e = NULL;
		struct error why = {0};
		CHECK(condition_parse(&e, span_from(cases[i].text), &why) == ERR_SEMANTIC);
		if (!strstr(why.text, cases[i].want) || why.column != cases[i].column)
			test_fail(__FILE__, __LINE__, "%s: %s (column %d)", cases[i].text, why.text, (int)why.column);
		CHECK_TEXT(why.field, "expression");
	}
}

TEST(what_is_too_long_or_too_deep_is_refused)
{
	char deep[64] = "", text[CONDITION_MAX_BYTES + 16];
	struct condition *e = NULL;

	for (int i = 0; i < CONDITION_DEPTH_MAX; i++)
		strcat(deep, "(");
	snprintf(text, sizeof text, "%sloss > 1", deep);
	CHECK_FAILS(condition_parse(&e, span_from(text), &err), ERR_SEMANTIC, "16 deep");
	snprintf(text, sizeof text, "%s", "loss > 1");
	while (strlen(text) < CONDITION_MAX_BYTES - 8)
		strcat(text, "+1");
	CHECK_FAILS(condition_parse(&e, span_from(text), &err), ERR_SEMANTIC, "too long");
	memset(text, ' ', CONDITION_MAX_BYTES + 1);
	CHECK_FAILS(condition_parse(&e, span_of(text, CONDITION_MAX_BYTES + 1), &err), ERR_SEMANTIC, "1 to 1000");
	memcpy(text, "loss > 1", 8);
	CHECK_OK(condition_parse(&e, span_of(text, CONDITION_MAX_BYTES), &err));
	condition_free(e);
}

/* Whatever the place at which it was packed, what follows is said alike. */
TEST(a_state_goes_on_where_it_was_packed)
{
	static const char *const texts[] = {
		"v > 1.2 * median(7) for 2 points", "v > mean(5) + 1", "v < min(9) or v > max(4)"};
	double values[200];

	for (size_t i = 0; i < 200; i++)
		values[i] = (double)((i * 7919) % 101) / 10 + (i % 50 > 44 ? 30 : 0);
	for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
		for (size_t cut = 0; cut < 200; cut += 13) {
			AUTO(condition) e = NULL;
			AUTO(watch) whole = NULL;
			AUTO(watch) first = NULL;
			AUTO(watch) second = NULL;
			AUTO_DONE(buf) state = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
			struct said want = {0}, got = {0};
			CHECK_OK(condition_parse(&e, span_from(texts[t]), &err));
			whole = watch_new(e);
			first = watch_new(e);
			feed(whole, e, 0, values, 200, &want);
			feed(first, e, 0, values, cut, &got);
			watch_pack(first, &state);
			struct unpacker in = unpacker_on(buf_span(&state));
			CHECK_OK(watch_unpack(&second, e, &in, &err));
			CHECK_INT(in.rest.len, 0);
			watch_pack(second, &again);
			CHECK_SPAN(buf_span(&again), buf_span(&state));
			feed(second, e, (int64_t)cut, values + cut, 200 - cut, &got);
			CHECK_TEXT(got.text, want.text);
			CHECK(strlen(want.text) > 10);
		}
}

TEST(a_restart_begins_with_empty_windows)
{
	AUTO(condition) e = NULL;
	AUTO(watch) watch = NULL;
	struct said said = {0};
	double values[] = {1, 1, 1, 1};

	CHECK_OK(condition_parse(&e, SPAN("v > 2 * median(4)"), &err));
	watch = watch_new(e);
	feed(watch, e, 0, values, 4, &said);
	struct point back = {.step = 2, .value = 9, .attempt = 1};
	watch_feed(watch, e, 4, &back, note, &said);
	CHECK_TEXT(said.text, ""); /* what is usual is not known yet */
}

TEST(the_incident_has_its_evidence)
{
	AUTO(condition) e = NULL;
	AUTO(watch) watch = NULL;
	struct said said = {0};
	double values[] = {1, 5, 9, 6, 1};

	CHECK_OK(condition_parse(&e, SPAN("loss > 2 + 2 for 2 points"), &err));
	CHECK_SPAN(condition_metric(e), SPAN("loss"));
	watch = watch_new(e);
	feed(watch, e, 0, values, 5, &said);
	CHECK_TEXT(said.text, "+2 -3 ");
	CHECK_INT(said.last.kind, INCIDENT_RULE);
	CHECK_INT(said.last.first_step, 1);
	CHECK_INT(said.last.opened_ordinal, 2);
	CHECK(said.last.expected == 4 && said.last.value == 9 && said.last.worst == 9);
}
