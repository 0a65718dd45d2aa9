#include "test.h"

#include "alert/rule.h"

#include <stdio.h>

static enum status parse(struct rule *rule, struct arena *arena, const char *text, struct error *why)
{
	AUTO(json) document = NULL;

	CHECK_OK(json_parse(&document, span_from(text), &err));
	return rule_parse(rule, document, arena, why);
}

TEST(a_rule_reads_as_it_was_written)
{
	static const char text[] =
		"{\"name\":\"nights\",\"team\":\"nlp\",\"enabled\":true,\"tell\":true,\"recovery\":false,\"query\":\"name~llama\","
		"\"kinds\":[\"loss_spike\",\"non_finite\"],\"endpoints\":[3,7],\"minimum_severity\":\"warning\","
		"\"expression\":\"loss > 4 for 20 steps\",\"severity\":\"critical\",\"persistence_s\":30,\"cool_down_s\":600,"
		"\"collect_s\":60,\"quiet\":{\"from\":\"22:00\",\"to\":\"07:30\",\"days\":[\"sun\",\"sat\"],\"tz\":\"Europe/Berlin\","
		"\"unless\":\"critical\"},\"command\":\"checkpoint,stop\"}";
	AUTO(arena) arena = arena_new();
	AUTO_DONE(rule) rule = {0};
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	struct json_writer w = json_writer_on(&out);

	CHECK_OK(parse(&rule, arena, text, &err));
	json_object(&w);
	rule_write_fields(&rule, &w);
	json_object_end(&w);
	CHECK_SPAN(buf_span(&out), span_from(text));
}

TEST(a_name_is_all_that_a_rule_needs)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(rule) rule = {0};

	CHECK_OK(parse(&rule, arena, "{\"name\":\"x\"}", &err));
	CHECK(rule.is_enabled && rule.tells && rule.tells_recovery && !rule.quiet.is_set && !rule.kinds);
	CHECK_INT(rule.minimum_severity, SEVERITY_INFO);
}

TEST(mistakes_name_their_field)
{
	static const char *const cases[][3] = {{"{}", "name", "1 to 128"}, {"{\"name\":\"a\\nb\"}", "name", "control"},
		{"{\"name\":\"x\",\"kinds\":[\"fire\"]}", "kinds", "'fire'"},
		{"{\"name\":\"x\",\"kinds\":3}", "kinds", "array"},
		{"{\"name\":\"x\",\"kinds\":[\"rule\"]}", "kinds", "'rule'"},
		{"{\"name\":\"x\",\"query\":\"((\"}", "query", ""},
		{"{\"name\":\"x\",\"expression\":\"loss >\"}", "expression", "column 7"},
		{"{\"name\":\"x\",\"severity\":\"big\"}", "severity", "'big'"},
		{"{\"name\":\"x\",\"cool_down_s\":-1}", "cool_down_s", "-1"},
		{"{\"name\":\"x\",\"cool_down_s\":2678401}", "cool_down_s", "2678400"},
		{"{\"name\":\"x\",\"endpoints\":[0]}", "endpoints", "ids"}, {"{\"name\":\"x\",\"wat\":1}", "", "'wat'"},
		{"{\"name\":\"x\",\"command\":\"reboot\"}", "command", "'reboot'"},
		{"{\"name\":\"x\",\"quiet\":{\"from\":\"25:00\",\"to\":\"07:00\"}}", "quiet", "25:00"},
		{"{\"name\":\"x\",\"quiet\":{\"from\":\"22:00\"}}", "quiet", "quiet.to"},
		{"{\"name\":\"x\",\"quiet\":{\"from\":\"22:00\",\"to\":\"07:00\",\"days\":[\"someday\"]}}", "quiet",
			"days"},
		{"{\"name\":\"x\",\"quiet\":{\"from\":\"22:00\",\"to\":\"07:00\",\"tz\":\"Mars/Olympus\"}}", "quiet",
			"Mars"}};
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rule rule = {0};
		struct error why = {0};
		CHECK_INT(parse(&rule, arena, cases[i][0], &why), ERR_SEMANTIC);
		if (strcmp(why.field, cases[i][1]) != 0 || !strstr(why.text, cases[i][2]))
			test_fail(__FILE__, __LINE__, "%s: %s: %s", cases[i][0], why.field, why.text);
	}
}

static int64_t quiet_until(const char *quiet, int64_t now_ms)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(rule) rule = {0};
	char text[256];

	snprintf(text, sizeof text, "{\"name\":\"x\",\"quiet\":{%s}}", quiet);
	CHECK_OK(parse(&rule, arena, text, &err));
	return quiet_until_ms(&rule.quiet, now_ms);
}

enum { HOUR = 3600000 };

TEST(quiet_hours)
{
	const int64_t monday = 1767571200000; /* 2026-01-05, UTC */
	static const char night[] = "\"from\":\"22:00\",\"to\":\"07:00\"",
			  noon[] = "\"from\":\"12:00\",\"to\":\"13:00\"",
			  weekend[] = "\"from\":\"00:00\",\"to\":\"00:00\",\"days\":[\"sat\",\"sun\"]",
			  berlin[] = "\"from\":\"22:00\",\"to\":\"07:00\",\"tz\":\"Europe/Berlin\"",
			  always[] = "\"from\":\"09:00\",\"to\":\"09:00\"";

	CHECK_INT(quiet_until(night, monday + 12 * HOUR), 0);
	CHECK_INT(quiet_until(night, monday + 22 * HOUR), monday + 31 * (int64_t)HOUR);
	CHECK_INT(quiet_until(night, monday + 3 * HOUR), monday + 7 * HOUR);
	CHECK_INT(quiet_until(night, monday + 7 * HOUR), 0);
	CHECK_INT(quiet_until(noon, monday + 12 * HOUR), monday + 13 * HOUR);
	CHECK_INT(quiet_until(noon, monday + 13 * HOUR), 0);
	CHECK_INT(quiet_until(weekend, monday - 30 * HOUR), monday); /* both days in one */
	CHECK_INT(quiet_until(weekend, monday), 0);
	CHECK_INT(quiet_until(berlin, monday + 21 * HOUR), monday + 30 * (int64_t)HOUR); /* an hour ahead of UTC */
	CHECK_INT(quiet_until(berlin, monday + 20 * HOUR), 0);
	CHECK_INT(quiet_until(always, monday) > monday + 6 * 24 * (int64_t)HOUR, 1); /* and is told once a week */
	/* the night in which the clock is put forward is an hour shorter */
	CHECK_INT(quiet_until(berlin, 1774735200000), 1774760400000); /* 2026-03-28T22:00Z .. 03-29T05:00Z */
}

static struct incident_row row_of(enum incident_kind kind, uint32_t series, int64_t step)
{
	return (struct incident_row){.job_id = 1,
		.series_id = series,
		.metric = SPAN("loss"),
		.incident = {.kind = kind,
			.first_step = step,
			.last_step = step,
			.opened_step = step,
			.opened_ms = step * 100000}};
}

TEST(what_is_of_one_cause)
{
	struct incident_row spike = row_of(INCIDENT_LOSS_SPIKE, 1, 1000), other = row_of(INCIDENT_LOSS_SPIKE, 2, 1001);

	CHECK(incident_joins(&spike, &other));
	CHECK(incident_joins(&other, &spike)); /* whichever is told of first */
	other.metric = SPAN("mtp loss");
	CHECK(incident_joins(&spike, &other));
	other = row_of(INCIDENT_LOSS_SPIKE, 1, 1001); /* the same series: news */
	CHECK(!incident_joins(&spike, &other));
	other = row_of(INCIDENT_NON_FINITE, 1, 1010);
	CHECK(incident_joins(&spike, &other));
	other = row_of(INCIDENT_NON_FINITE, 1, 1021); /* the spike is over, and long ago */
	spike.incident.state = INCIDENT_RECOVERED;
	CHECK(!incident_joins(&spike, &other));
	spike.incident.state = INCIDENT_OPEN;
	CHECK(incident_joins(&spike, &other));
	other.incident.is_historic = true;
	CHECK(!incident_joins(&spike, &other));
	other = row_of(INCIDENT_THROUGHPUT_DROP, 1, 1000);
	CHECK(!incident_joins(&spike, &other));
	struct incident_row straggler = row_of(INCIDENT_STRAGGLER, 3, 1005);
	CHECK(incident_joins(&other, &straggler) && incident_joins(&straggler, &other));
	other = row_of(INCIDENT_JOB_FAILED, 0, 1000);
	CHECK(!incident_joins(&spike, &other) && !incident_joins(&other, &other));
	struct incident_row a = row_of(INCIDENT_RULE, 1, 5), b = row_of(INCIDENT_RULE, 2, 5);
	a.incident.rule_id = 3;
	b.incident.rule_id = 4;
	CHECK(!incident_joins(&a, &b));
	b.incident.rule_id = 3;
	CHECK(incident_joins(&a, &b));
}

TEST(which_incidents_a_rule_takes)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(rule) rule = {0};
	struct incident_row row = row_of(INCIDENT_LOSS_SPIKE, 1, 1);

	CHECK_OK(parse(&rule, arena,
		"{\"name\":\"x\",\"kinds\":[\"loss_spike\"],\"minimum_severity\":\"warning\",\"team\":\"a\"}", &err));
	CHECK(!rule_takes(&rule, &row, SPAN("a")));
	row.incident.severity = SEVERITY_WARNING;
	CHECK(rule_takes(&rule, &row, SPAN("a")));
	CHECK(!rule_takes(&rule, &row, SPAN("b")) && !rule_takes(&rule, &row, SPAN("")));
	row.incident.kind = INCIDENT_DIVERGENCE;
	CHECK(!rule_takes(&rule, &row, SPAN("a")));
	rule.kinds = 0;
	CHECK(rule_takes(&rule, &row, SPAN("a")));
	row.incident.rule_id = 9; /* another rule's own */
	CHECK(!rule_takes(&rule, &row, SPAN("a")));
	rule.rule_id = 9;
	CHECK(rule_takes(&rule, &row, SPAN("a")));
	rule.is_enabled = false;
	CHECK(!rule_takes(&rule, &row, SPAN("a")));
	CHECK(rule_serves(&rule, 5));
	rule.endpoint_count = 1;
	rule.endpoints[0] = 4;
	CHECK(!rule_serves(&rule, 5) && rule_serves(&rule, 4));
	struct webhook_row webhook = {.is_enabled = true, .minimum_severity = SEVERITY_WARNING, .team = SPAN("")};
	CHECK(webhook_wants(&webhook, &row, SPAN("")));
	webhook.team = SPAN("nlp");
	CHECK(webhook_wants(&webhook, &row, SPAN("nlp")) && !webhook_wants(&webhook, &row, SPAN("")));
	row.incident.severity = SEVERITY_INFO;
	CHECK(!webhook_wants(&webhook, &row, SPAN("nlp")));
}

TEST(a_row_that_cannot_be_read_is_left_out)
{
	struct rule_row rows[] = {{.rule_id = 1, .document = SPAN("{\"name\":\"a\"}")},
		{.rule_id = 2, .document = SPAN("{\"name\":")}, {.rule_id = 3, .document = SPAN("{\"name\":\"c\"}")}};
	struct rule_set *set;

	CHECK_OK(rule_set_new(&set, rows, 3, 1, &err));
	CHECK_INT(rule_set_count(set), 2);
	CHECK(rule_set_find(set, 3) && !rule_set_find(set, 2));
	rule_set_unref(set);
}
