#include "alert/rule.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "test.h"

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
		"\"kinds\":[\"loss_spike\",\"non_finite\"],\"webhooks\":[3,7],\"endpoints\":[3,7],\"exclusive\":true,\"minimum_severity\":\"warning\","
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

static bool serves(const char *text, int64_t webhook_id)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(rule) rule = {0};

	CHECK_OK(parse(&rule, arena, text, &err));
	return rule_serves(&rule, webhook_id);
}

TEST(which_webhooks_a_rule_serves)
{
	CHECK(serves("{\"name\":\"x\"}", 3) &&
		serves("{\"name\":\"x\",\"endpoints\":[]}", 3)); /* as older programs stored it */
	CHECK(serves("{\"name\":\"x\",\"endpoints\":[3]}", 3) && !serves("{\"name\":\"x\",\"endpoints\":[3]}", 4));
	CHECK(serves("{\"name\":\"x\",\"webhooks\":\"all\",\"endpoints\":[]}", 3));
	CHECK(serves("{\"name\":\"x\",\"webhooks\":[3]}", 3) && !serves("{\"name\":\"x\",\"webhooks\":[3]}", 4));
	CHECK(!serves("{\"name\":\"x\",\"webhooks\":[]}", 3)); /* nobody */
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
		{"{\"name\":\"x\",\"endpoints\":[0]}", "endpoints", "ids"},
		{"{\"name\":\"x\",\"webhooks\":[0]}", "webhooks", "ids"},
		{"{\"name\":\"x\",\"webhooks\":\"some\"}", "webhooks", "\"all\""},
		{"{\"name\":\"x\",\"webhooks\":[3],\"endpoints\":[4]}", "endpoints", "different"},
		{"{\"name\":\"x\",\"webhooks\":[],\"endpoints\":[]}", "endpoints", "different"},
		{"{\"name\":\"x\",\"wat\":1}", "", "'wat'"},
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

TEST(which_kinds_and_attempts_are_of_one_cause)
{
	struct incident_row spike = row_of(INCIDENT_LOSS_SPIKE, 1, 1000), other = row_of(INCIDENT_LOSS_SPIKE, 1, 1001);

	CHECK(incident_may_join(&spike, &other));
	other = row_of(INCIDENT_NON_FINITE, 1, 1010);
	CHECK(incident_may_join(&spike, &other) && incident_may_join(&other, &spike));
	other.incident.is_historic = true;
	CHECK(!incident_may_join(&spike, &other));
	other.incident.is_historic = false;
	other.attempt = 2; /* of the other it is not known */
	CHECK(incident_may_join(&spike, &other));
	spike.attempt = 1;
	CHECK(!incident_may_join(&spike, &other));
	other = row_of(INCIDENT_THROUGHPUT_DROP, 1, 1000);
	CHECK(!incident_may_join(&spike, &other));
	struct incident_row straggler = row_of(INCIDENT_STRAGGLER, 3, 1005);
	CHECK(incident_may_join(&other, &straggler) && incident_may_join(&straggler, &other));
	other = row_of(INCIDENT_JOB_FAILED, 0, 1000);
	CHECK(!incident_may_join(&spike, &other) && !incident_may_join(&other, &other));
	struct incident_row a = row_of(INCIDENT_RULE, 1, 5), b = row_of(INCIDENT_RULE, 2, 5);
	a.incident.rule_id = 3;
	b.incident.rule_id = 4;
	CHECK(!incident_may_join(&a, &b));
	b.incident.rule_id = 3;
	CHECK(incident_may_join(&a, &b));
}

/* A spike of steps 1000 to 1010, open; opened_ms is 100 s a step. */
static struct incident_group group_of(void)
{
	return (struct incident_group){.is_open = true,
		.first_step = 1000,
		.last_step = 1010,
		.first_opened_ms = 100000000,
		.last_opened_ms = 100000000};
}

static bool joins(const struct incident_group *group, enum incident_kind kind, int64_t step)
{
	struct incident_row row = row_of(kind, 1, step);

	return incident_joins(group, &row.incident);
}

TEST(what_is_near_is_of_one_cause)
{
	struct incident_group group = group_of();

	CHECK(joins(&group, INCIDENT_NON_FINITE, 1031) && joins(&group, INCIDENT_NON_FINITE, 990));
	CHECK(joins(&group, INCIDENT_NON_FINITE, 980)); /* streams are not told of in the order of their steps */
	CHECK(!joins(&group, INCIDENT_NON_FINITE, 979));
	group.is_open = false;
	CHECK(joins(&group, INCIDENT_NON_FINITE, 1030) && !joins(&group, INCIDENT_NON_FINITE, 1031));
	group.last_opened_ms = 103100000 - 60000; /* within a minute */
	CHECK(joins(&group, INCIDENT_NON_FINITE, 1031));
	group.last_opened_ms--;
	CHECK(!joins(&group, INCIDENT_NON_FINITE, 1031));
}

TEST(the_same_again_is_of_one_cause_when_it_is_soon)
{
	struct incident_group group = group_of(); /* open by something else, for ever */

	group.has_same = group.has_same_series = true;
	group.same = (struct incident){
		.state = INCIDENT_RECOVERED, .last_step = 1005, .opened_ms = 100000000, .closed_ms = 101500000};
	CHECK(joins(&group, INCIDENT_LOSS_SPIKE, 1025));
	CHECK(!joins(&group, INCIDENT_LOSS_SPIKE, 1026)); /* news, whatever else is open */
	group.same.closed_ms = 102600000 - 60000;
	CHECK(joins(&group, INCIDENT_LOSS_SPIKE, 1026));
	CHECK(!joins(&group, INCIDENT_RULE, 1006)); /* a condition of one's own says so each time */
	group.has_same_series = false;
	CHECK(joins(&group, INCIDENT_RULE, 1006));
	group.is_open = false;
	CHECK(joins(&group, INCIDENT_NON_FINITE, 1026 + 864 - 1)); /* a day, at 100 s a step */
	CHECK(!joins(&group, INCIDENT_NON_FINITE, 1026 + 864));
}

TEST(harms)
{
	CHECK_INT(incident_kind_harm(INCIDENT_GRAD_SPIKE), INCIDENT_LOSS_SPIKE);
	CHECK_INT(incident_kind_harm(INCIDENT_DIVERGENCE), INCIDENT_DIVERGENCE);
	CHECK_INT(
		(int64_t)incident_harm_kinds(INCIDENT_LOSS_SPIKE), 1 << INCIDENT_LOSS_SPIKE | 1 << INCIDENT_GRAD_SPIKE);
	CHECK_INT((int64_t)incident_harm_kinds(INCIDENT_NON_FINITE), 1 << INCIDENT_NON_FINITE);
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
