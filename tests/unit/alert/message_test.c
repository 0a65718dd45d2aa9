#include "alert/rule.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "store/alerts.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

static struct incident_row incident_row(void)
{
	return (struct incident_row){.job_id = 12,
		.incident_id = 3,
		.job = SPAN("a/b 7%"),
		.metric = SPAN("train:loss"),
		.stream = SPAN("algo-1"),
		.incident = {.kind = INCIDENT_LOSS_SPIKE,
			.severity = SEVERITY_CRITICAL,
			.opened_ordinal = 100,
			.first_step = 1190,
			.last_step = 1200,
			.opened_step = 1195,
			.opened_ms = 1700000000000,
			.line = 5000,
			.value = 12.3456,
			.expected = 2.125,
			.spread = 0.05,
			.score = 137.25,
			.worst = NAN,
			.worst_step = 1199}};
}

TEST(message_of_an_open_incident)
{
	struct incident_row row = incident_row();
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	rule_write_message(&row, SPAN("https://fleet.example"), 1700000001234, &out);
	CHECK_SPAN(buf_span(&out),
		SPAN("{\"type\":\"incident.opened\",\"timestamp\":\"2023-11-14T22:13:21.234Z\",\"data\":{\"id\":\"12-3\","
		     "\"kind\":\"loss_spike\",\"severity\":\"critical\",\"state\":\"open\",\"job\":\"a/b 7%\","
		     "\"metric\":\"train:loss\",\"stream\":\"algo-1\",\"first_step\":1190,\"last_step\":1200,"
		     "\"opened_step\":1195,\"opened_ms\":1700000000000,\"is_historic\":false,\"evidence\":{\"value\":12.3456,"
		     "\"expected\":2.125,\"spread\":0.05,\"score\":137.25,\"worst\":\"NaN\",\"worst_step\":1199,\"line\":5000},"
		     "\"summary\":\"train:loss of a/b 7% jumped to 12.35 at step 1195 (usual: 2.125), algo-1\","
		     "\"url\":\"https://fleet.example/jobs/a%2Fb%207%25?metric=train%3Aloss&step=1195&incident=12-3\"}}"));
}

TEST(message_of_a_recovered_incident)
{
	struct incident_row row = incident_row();
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	AUTO(json) document = NULL;

	row.incident.state = INCIDENT_RECOVERED;
	row.incident.closed_ms = 1700000009000;
	row.incident.line = NO_LINE;
	row.acknowledged_ms = 1700000008000;
	rule_write_message(&row, SPAN(""), 1700000010000, &out);
	CHECK_OK(json_parse(&document, buf_span(&out), &err));
	CHECK_SPAN(json_string_of(json_get(document, "type")), SPAN("incident.recovered"));
	double number = 0;
	CHECK(json_number_of(json_get_path(document, "data.closed_ms"), &number) && number == 1700000009000.0);
	CHECK(json_number_of(json_get_path(document, "data.acknowledged_ms"), &number) && number == 1700000008000.0);
	CHECK(json_get_path(document, "data.evidence.line") == NULL);
	CHECK(span_find(json_string_of(json_get_path(document, "data.summary")), SPAN("back to normal")) >= 0);
}

TEST(what_is_of_a_job_alone_leads_to_no_step)
{
	struct incident_row row = incident_row();
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	row.incident.kind = INCIDENT_JOB_FAILED;
	row.metric = row.stream = SPAN("");
	row.incident.opened_step = 0;
	rule_write_message(&row, SPAN("https://fleet.example"), 1700000001234, &out);
	CHECK(span_ends_with(
		buf_span(&out), SPAN("\"url\":\"https://fleet.example/jobs/a%2Fb%207%25?incident=12-3\"}}")));
	CHECK(span_find(buf_span(&out), SPAN("at step")) < 0);
	buf_reset(&out);
	row.incident.opened_step = 1195; /* that is said */
	rule_write_message(&row, SPAN("https://fleet.example"), 1700000001234, &out);
	CHECK(span_ends_with(buf_span(&out), SPAN("7%25?step=1195&incident=12-3\"}}")));
}

TEST(incident_as_the_api_shows_it)
{
	struct incident_row row = incident_row();
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	AUTO(json) document = NULL;
	struct json_writer w = json_writer_on(&out);

	incident_write_json(&row, &w);
	CHECK_OK(json_parse(&document, buf_span(&out), &err));
	CHECK_SPAN(json_string_of(json_get(document, "id")), SPAN("12-3"));
	CHECK(json_get(document, "summary") == NULL);
}

static void check_summary(const struct incident_row *row, struct span wanted)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	AUTO(json) document = NULL;

	rule_write_message(row, SPAN(""), 1700000010000, &out);
	CHECK_OK(json_parse(&document, buf_span(&out), &err));
	CHECK_SPAN(json_string_of(json_get_path(document, "data.summary")), wanted);
}

TEST(a_stall_and_a_failure_have_sentences_of_their_own)
{
	struct incident_row row = incident_row();

	row.incident.kind = INCIDENT_STALL;
	row.incident.value = 125;
	row.incident.spread = 8;
	check_summary(&row, SPAN("a/b 7% has said nothing for 125 s (longest pause of late: 8 s), last step 1195"));
	row.detail = SPAN("Xid 79 on n1");
	static const struct {
		const char *facts, *log;
	} logs[] = {{"\"fault\":{\"stream\":\"a\",\"line\":1}", "its log"}, {"", "its log"},
		{"\"fault\":{\"told_by\":\"kern\"}", "the log of kern"},
		{"\"fault\":{\"host\":\"n1\"}", "another job's log"}};
	for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
		char wanted[200];
		row.facts = span_from(logs[i].facts);
		snprintf(wanted, sizeof wanted,
			"a/b 7%% has said nothing for 125 s (longest pause of late: 8 s), last step 1195; %s had said: Xid 79 on n1",
			logs[i].log);
		check_summary(&row, span_from(wanted));
	}
	row.detail = row.facts = SPAN("");
	row.incident.state = INCIDENT_RECOVERED;
	row.incident.worst = 310;
	check_summary(&row, SPAN("a/b 7% is heard again, or is over, after a silence of 310 s"));
	row.incident.kind = INCIDENT_JOB_FAILED;
	check_summary(&row, SPAN("a/b 7% goes on after its failure"));
	row.incident.state = INCIDENT_OPEN;
	check_summary(&row, SPAN("a/b 7% failed"));
	row.detail = SPAN("CUDA out of memory");
	check_summary(&row, SPAN("a/b 7% failed: CUDA out of memory"));
}

TEST(a_long_reason_is_cut_between_characters)
{
	struct incident_row row = incident_row();
	char reason[1003], wanted[1100];

	memset(reason, 'x', sizeof reason);
	memcpy(reason + 999, "\xe2\x82\xac", 3); /* one character, over the thousandth byte */
	row.incident.kind = INCIDENT_JOB_FAILED;
	row.detail = span_of(reason, sizeof reason);
	int len = snprintf(wanted, sizeof wanted, "a/b 7%% failed: %.999s", reason);
	check_summary(&row, span_of(wanted, (size_t)len));
}

TEST(every_kind_has_a_sentence)
{
	for (unsigned kind = 0; kind < INCIDENT_KIND_COUNT; kind++) {
		struct incident_row row = incident_row();
		AUTO_DONE(buf) out = BUF_INIT(1 << 16);
		row.incident.kind = (enum incident_kind)kind;
		rule_write_message(&row, SPAN(""), 1700000010000, &out);
		CHECK(span_find(buf_span(&out), SPAN("a/b 7%")) >= 0 && !out.failure);
	}
}
