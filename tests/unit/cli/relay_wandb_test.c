/* What the relay knows of runs of W&B by what goes through it, and what it makes of its records. */
#include "cli/relay/relay_wandb.h"

#include "test.h"

#include <stdio.h>

/* ---- what is known ---- */

static void take(struct wandb_known_run *run, const char *text)
{
	AUTO(json) body = NULL;

	CHECK_OK(json_parse(&body, span_from(text), &err));
	wandb_known_take(run, body);
}

TEST(relay_wandb_counts_lines_by_their_places)
{
	AUTO(wandb_known) known = wandb_known_new();
	struct wandb_known_run *run = wandb_known_add(known, SPAN("p"), SPAN("r"));

	take(run,
		"{\"files\":{\"wandb-history.jsonl\":{\"offset\":0,\"content\":[\"a\",\"b\"]},\"output.log\":{\"content\":[\"x\"]}}}");
	CHECK_INT(run->history_lines, 2);
	CHECK_INT(run->console_lines, 1);
	CHECK_TEXT(run->history_tail, "b");
	take(run, "{\"files\":{\"wandb-history.jsonl\":{\"offset\":1,\"content\":[\"b\"]}}}"); /* it comes again */
	CHECK_INT(run->history_lines, 2);
	take(run,
		"{\"files\":{\"wandb-history.jsonl\":{\"offset\":2,\"content\":[\"c\"]},\"wandb-summary.json\":{\"offset\":0,\"content\":[\"{\\\"loss\\\":1}\"]}}}");
	CHECK_INT(run->history_lines, 3);
	CHECK_TEXT(run->history_tail, "c");
	CHECK_TEXT(run->summary, "{\"loss\":1}");
	take(run,
		"{\"files\":{\"wandb-history.jsonl\":{\"offset\":-1,\"content\":[\"d\"]},\"wandb-events.jsonl\":[3]}}");
	take(run,
		"{\"files\":{\"wandb-history.jsonl\":{\"offset\":\"x\",\"content\":[\"d\"]},\"wandb-events.jsonl\":{\"offset\":1e300,\"content\":[\"d\"]}}}");
	CHECK_INT(run->history_lines, 3);
	CHECK_INT(run->events_lines, 0);
}

TEST(relay_wandb_keeps_the_newest_runs)
{
	AUTO(wandb_known) known = wandb_known_new();
	char id[16];

	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "r%d", i);
		CHECK(wandb_known_add(known, SPAN("p"), span_from(id)) != NULL);
	}
	CHECK(wandb_known_find(known, SPAN("p"), SPAN("r0")) == NULL);
	CHECK(wandb_known_find(known, SPAN("q"), SPAN("r99")) == NULL);
	struct wandb_known_run *run = wandb_known_find(known, SPAN("p"), SPAN("r99"));
	CHECK(run && run == wandb_known_add(known, SPAN("p"), SPAN("r99")));
	CHECK_TEXT(run->name, "r99");
}

/* ---- records ---- */

static void check_composed(const char *record, const struct relay_terms *terms, const char *method, const char *path,
	const char *headers, const char *body)
{
	struct relay_sending sending = {.path = BUF_INIT(4096), .headers = BUF_INIT(4096), .body = BUF_INIT(4096)};

	CHECK_OK(relay_wandb_compose(span_from(record), terms, &sending, &err));
	CHECK_INT(sending.bytes, strchr(record, '\n') - record + 1);
	CHECK_SPAN(span_from(sending.method), span_from(method));
	CHECK_SPAN(buf_span(&sending.path), span_from(path));
	CHECK_SPAN(buf_span(&sending.headers), span_from(headers));
	CHECK_SPAN(buf_span(&sending.body), span_from(body));
	CHECK(sending.is_keyed_by_path);
	buf_done(&sending.path);
	buf_done(&sending.headers);
	buf_done(&sending.body);
}

TEST(relay_wandb_records_are_requests)
{
	const struct relay_terms shipped = {.job = "a b", .is_shipped = true, .has_system = true},
				 left = {.job = "a b"};

	check_composed("wandb 12 - /graphql?operation=UpsertBucket {}\nwandb", &shipped, "POST",
		"/graphql?operation=UpsertBucket&relay_ms=12&relay_job=a%20b&relay_system=true", "", "{}");
	check_composed("wandb 12 - /graphql?operation=UpsertBucket {}\n", &left, "POST",
		"/graphql?operation=UpsertBucket&relay_ms=12&relay_job=a%20b", "", "{}");
	check_composed("wandb 12 w1 /files/t/p/r/file_stream {\"complete\": true}\n", &left, "POST",
		"/files/t/p/r/file_stream?relay_ms=12", WANDB_WRITER_HEADER ": w1\r\n", "{\"complete\": true}");
	check_composed("wandb 12 - /files/t/p/r/files/a.txt YWJj\n", &left, "PUT",
		"/files/t/p/r/files/a.txt?relay_ms=12", "", "abc");
	check_composed(
		"wandb 12 - /files/t/p/r/files/empty \n", &left, "PUT", "/files/t/p/r/files/empty?relay_ms=12", "", "");
}

TEST(relay_wandb_passes_over_damaged_records)
{
	static const char *const damaged[] = {"wandb\nx", "wandb x - / {}\nx", "wandb 1 - else {}\nx",
		"wandb 1 - /graphql\nx", "mlflow 1 - /a {}\nx", "wandb 1 - /files/t/p/r/files/a ===\nx"};
	const struct relay_terms terms = {.job = "j"};
	struct error cause = {0};

	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		struct relay_sending sending = {
			.path = BUF_INIT(4096), .headers = BUF_INIT(4096), .body = BUF_INIT(4096)};
		CHECK_INT(relay_wandb_compose(span_from(damaged[i]), &terms, &sending, &cause), ERR_INVALID);
		CHECK_INT(sending.bytes, strlen(damaged[i]) - 1);
		buf_done(&sending.path);
		buf_done(&sending.headers);
		buf_done(&sending.body);
	}
}
