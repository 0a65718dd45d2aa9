#include "harness.h"
#include "model/incident.h"
#include "model/query.h"
#include "store/alerts.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/search.h"

#include <math.h>

/* ---- trees by hand: the store knows no query text ---- */

static struct query_node *node_of(struct arena *arena, struct query_node node)
{
	struct query_node *copy = arena_alloc(arena, sizeof *copy);

	CHECK(copy != NULL);
	*copy = node;
	return copy;
}

static struct query_value *value_of(struct arena *arena, const char *text, bool is_number, double number)
{
	struct query_value *value = arena_alloc(arena, sizeof *value);

	CHECK(value != NULL);
	*value = (struct query_value){.text = span_from(text), .is_number = is_number, .number = number};
	return value;
}

static struct query_node *term_of(struct arena *arena, enum query_family family, const char *key,
	enum query_compare compare, struct query_value *value)
{
	return node_of(arena, (struct query_node){.kind = QUERY_TERM,
				      .term = {.family = family,
					      .key = span_from(key),
					      .compare = compare,
					      .values = value,
					      .value_count = value != NULL,
					      .column = 5}});
}

static struct query_node *text_term(
	struct arena *arena, enum query_family family, const char *key, enum query_compare compare, const char *text)
{
	return term_of(arena, family, key, compare, text ? value_of(arena, text, false, 0) : NULL);
}

static struct query_node *number_term(
	struct arena *arena, enum query_family family, const char *key, enum query_compare compare, double number)
{
	return term_of(arena, family, key, compare, value_of(arena, "number", true, number));
}

static struct query_node *metric_term(struct arena *arena, const char *name, enum query_aggregate aggregate,
	enum query_compare compare, double number)
{
	struct query_node *node = number_term(arena, QUERY_METRIC, name, compare, number);
	enum role role;

	node->term.is_role = role_parse(span_from(name), &role);
	node->term.aggregate = aggregate;
	return node;
}

static struct query_node *join(
	struct arena *arena, enum query_kind kind, struct query_node *left, struct query_node *right)
{
	return node_of(arena, (struct query_node){.kind = kind, .left = left, .right = right});
}

/* ---- jobs ---- */

static int64_t put_job(struct harness *h, const char *name, const char *status, int64_t at_ms, const char *document)
{
	struct job_row row = {.name = span_from(name),
		.team = SPAN("nlp"),
		.status = span_from(status),
		.secondary = SPAN("Training"),
		.document = span_from(document),
		.created_ms = at_ms,
		.started_ms = at_ms % 3 ? at_ms + 10 : 0,
		.ended_ms = at_ms % 3 == 1 ? at_ms + 20000 : 0,
		.modified_ms = at_ms / 4};

	CHECK_OK(store_put_job(h->tx, &row, &err));
	return row.job_id;
}

/* Values may be of any kind; `steps` of them say how many points there were. */
static void put_metrics(struct harness *h, int64_t job_id, const double *loss, size_t count, const double *accuracy)
{
	struct summary_row rows[2] = {{.metric = SPAN("train:loss"), .role = ROLE_LOSS}, {.metric = SPAN("accuracy")}};
	struct job_counts counts = {0};

	for (size_t i = 0; i < count; i++)
		summary_add(&rows[0].summary, &(struct point){.step = (int64_t)i, .value = loss[i]});
	if (accuracy)
		summary_add(&rows[1].summary, &(struct point){.step = 1, .value = *accuracy});
	CHECK_OK(store_put_summaries(h->tx, job_id, &counts, rows, accuracy ? 2 : 1, &err));
}

/* The names of what is found, in order, with spaces. */
static void check_found(struct harness *h, const struct query_node *query, const char *sort, const char *want)
{
	struct job_search search = {
		.query = query, .sort = span_from(sort), .cursor = SPAN(""), .limit = 100, .wants_total = true};
	struct job_search_result result;
	AUTO_DONE(buf) names = BUF_INIT(1 << 16);

	CHECK_OK(store_search_jobs(h->reader, h->arena, &search, &result, &err));
	for (size_t i = 0; i < result.count; i++) {
		if (i)
			buf_append_char(&names, ' ');
		buf_append_span(&names, result.rows[i].name);
	}
	CHECK_SPAN(buf_span(&names), span_from(want));
	CHECK_INT(result.total, result.count);
	CHECK_SPAN(result.next_cursor, SPAN(""));
}

static struct harness harness_with_jobs(void)
{
	struct harness h = harness_new();

	harness_begin(&h);
	int64_t a = put_job(&h, "Llama-7B", "Failed", 1000,
		"{\"HyperParameters\":{\"lr\":\"1e-4\",\"mode\":\"auto\"},\"ResourceConfig\":{\"InstanceType\":\"ml.p4d.24xlarge\","
		"\"InstanceCount\":8},\"Tags\":[{\"Key\":\"team\",\"Value\":\"Vision Lab\"}],\"OutputDataConfig\":"
		"{\"S3OutputPath\":\"s3://bucket/runs/a\"}}");
	int64_t b = put_job(&h, "bert_50%", "Completed", 2000, "{\"HyperParameters\":{\"lr\":\"0.001\"}}");
	int64_t c = put_job(&h, "resnet", "InProgress", 3000, "{\"Environment\":{\"NCCL_DEBUG\":\"INFO\"}}");
	int64_t d =
		put_job(&h, "gpt", "Stopped", 4000, "{\"OutputDataConfig\":{\"S3OutputPath\":\"s3://bucket/runs-b\"}}");
	put_metrics(&h, a, (const double[]){4, 3, 2}, 3, &(double){0.5});
	put_metrics(&h, b, (const double[]){5, NAN}, 2, &(double){0.9});
	put_metrics(&h, c, (const double[]){1, INFINITY}, 2, NULL);
	(void)d;
	harness_commit(&h);
	return h;
}

TEST(search_text_and_properties)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;

	check_found(&h, NULL, "", "gpt resnet bert_50% Llama-7B");
	check_found(&h, text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "LLAMA"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "vision"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "l*7"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "_"), "", "bert_50%");
	check_found(&h, text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "%"), "", "bert_50%");
	check_found(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_EQUAL, "llama-7b"), "", "");
	check_found(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_EQUAL, "Llama-7B"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_MATCHES, "^[a-z]+$"), "", "gpt resnet");
	check_found(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_MATCHES_FOLDED, "^LLAMA"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_MATCHES_NOT, "t"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "status", QUERY_EQUAL, "failed"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "status", QUERY_CONTAINS, "STOP"), "", "gpt");
	check_found(&h, text_term(a, QUERY_PROPERTY, "status", QUERY_NOT_EQUAL, "failed"), "", "gpt resnet bert_50%");
	check_found(&h, number_term(a, QUERY_PROPERTY, "created", QUERY_MORE, 2000), "", "gpt resnet");
	/* resnet has not started: it satisfies no order, and the plain negation */
	check_found(&h, number_term(a, QUERY_PROPERTY, "started", QUERY_LESS, 9e12), "", "gpt bert_50% Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "started", QUERY_EXISTS, NULL), "", "gpt bert_50% Llama-7B");
	check_found(&h, number_term(a, QUERY_PROPERTY, "started", QUERY_NOT_EQUAL, 1010), "", "gpt resnet bert_50%");
	check_found(&h, number_term(a, QUERY_PROPERTY, "duration", QUERY_LESS, 60), "", "gpt Llama-7B");
	harness_done(&h);
}

TEST(search_attributes)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;

	check_found(&h, number_term(a, QUERY_HP, "lr", QUERY_AT_MOST, 1e-4), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_HP, "lr", QUERY_EQUAL, "0.0001"), "", "");
	check_found(&h, text_term(a, QUERY_HP, "lr", QUERY_EXISTS, NULL), "", "bert_50% Llama-7B");
	check_found(&h, number_term(a, QUERY_HP, "mode", QUERY_AT_MOST, 1), "", "");
	check_found(&h, number_term(a, QUERY_HP, "lr", QUERY_NOT_EQUAL, 0.001), "", "gpt resnet Llama-7B");
	check_found(&h, text_term(a, QUERY_TAG, "team", QUERY_CONTAINS, "vision lab"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_ENV, "NCCL_DEBUG", QUERY_EQUAL, "INFO"), "", "resnet");
	check_found(&h, text_term(a, QUERY_PROPERTY, "instance", QUERY_CONTAINS, "p4d"), "", "Llama-7B");
	check_found(&h, number_term(a, QUERY_PROPERTY, "instances", QUERY_AT_LEAST, 8), "", "Llama-7B");
	check_found(
		&h, text_term(a, QUERY_PROPERTY, "ResourceConfig.InstanceType", QUERY_MATCHES, "24xl"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "s3", QUERY_CONTAINS, "s3://bucket/runs"), "", "Llama-7B");
	check_found(&h, text_term(a, QUERY_PROPERTY, "s3", QUERY_CONTAINS, "s3://bucket/runs*"), "", "gpt Llama-7B");
	harness_done(&h);
}

TEST(search_metrics)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;

	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_AT_MOST, 2), "", "Llama-7B");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_MORE, 0), "", "resnet Llama-7B");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_EQUAL, NAN), "", "bert_50%");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_LESS, NAN), "", "");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_EQUAL, INFINITY), "", "resnet");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_MORE, INFINITY), "", "");
	check_found(&h, metric_term(a, "loss", AGGREGATE_LAST, QUERY_NOT_EQUAL, 2), "", "gpt resnet bert_50%");
	check_found(&h, metric_term(a, "loss", AGGREGATE_MIN, QUERY_LESS, 3), "", "resnet Llama-7B");
	check_found(&h, metric_term(a, "loss", AGGREGATE_MAX, QUERY_AT_LEAST, 5), "", "bert_50%");
	check_found(&h, metric_term(a, "loss", AGGREGATE_MEAN, QUERY_EQUAL, 3), "", "Llama-7B");
	check_found(&h, metric_term(a, "loss", AGGREGATE_COUNT, QUERY_EQUAL, 2), "", "resnet bert_50%");
	check_found(&h, metric_term(a, "loss", AGGREGATE_STEP, QUERY_EQUAL, 2), "", "Llama-7B");
	check_found(&h, metric_term(a, "accuracy", AGGREGATE_LAST, QUERY_MORE, 0.4), "", "bert_50% Llama-7B");
	check_found(&h, metric_term(a, "eval_loss", AGGREGATE_LAST, QUERY_MORE, 0), "", "");
	check_found(&h, text_term(a, QUERY_METRIC, "accuracy", QUERY_EXISTS, NULL), "", "bert_50% Llama-7B");
	/* NaN after all values, what is missing last, both ways */
	check_found(&h, NULL, "loss", "Llama-7B resnet bert_50% gpt");
	check_found(&h, NULL, "-loss", "resnet Llama-7B bert_50% gpt");
	check_found(&h, NULL, "-metric.accuracy.max", "bert_50% Llama-7B gpt resnet");
	check_found(&h, NULL, "accuracy.max", "Llama-7B bert_50% resnet gpt");
	harness_done(&h);
}

TEST(search_joins)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;
	struct query_node *loss = metric_term(a, "loss", AGGREGATE_LAST, QUERY_MORE, 0);
	struct query_node *failed = text_term(a, QUERY_PROPERTY, "status", QUERY_EQUAL, "failed");
	struct query_node *gpt = text_term(a, QUERY_TEXT, "", QUERY_CONTAINS, "gpt");

	check_found(&h, join(a, QUERY_AND, loss, failed), "", "Llama-7B");
	check_found(&h, join(a, QUERY_OR, gpt, failed), "", "gpt Llama-7B");
	check_found(&h, join(a, QUERY_NOT, failed, NULL), "name", "bert_50% gpt resnet");
	check_found(
		&h, join(a, QUERY_AND, loss, join(a, QUERY_NOT, join(a, QUERY_OR, gpt, failed), NULL)), "", "resnet");
	harness_done(&h);
}

static enum status search(struct harness *h, const struct query_node *query, const char *sort, const char *cursor,
	struct job_search_result *result, struct error *err)
{
	struct job_search wanted = {
		.query = query, .sort = span_from(sort), .cursor = span_from(cursor), .limit = 2, .wants_total = true};

	return store_search_jobs(h->reader, h->arena, &wanted, result, err);
}

TEST(search_mistakes)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;
	struct job_search_result result;
	struct error bad_pattern = {0};

	CHECK_FAILS(search(&h, text_term(a, QUERY_PROPERTY, "log", QUERY_CONTAINS, "x"), "", "", &result, &err),
		ERR_SEMANTIC, "column 5: logs are looked through by");
	CHECK_FAILS(search(&h, text_term(a, QUERY_PROPERTY, "incident", QUERY_EQUAL, "boom"), "", "", &result, &err),
		ERR_SEMANTIC, "'boom' is no kind");
	CHECK_INT(search(&h, text_term(a, QUERY_PROPERTY, "name", QUERY_MATCHES, "a(b"), "", "", &result, &bad_pattern),
		ERR_SEMANTIC);
	CHECK_INT(bad_pattern.column, 5);
	CHECK_FAILS(search(&h, NULL, "colour", "", &result, &err), ERR_SEMANTIC, "not sorted by 'colour'");
	CHECK_FAILS(search(&h, NULL, "", "zz", &result, &err), ERR_INVALID, "not a cursor");
	CHECK_FAILS(search(&h, NULL, "", "00", &result, &err), ERR_INVALID, "not a cursor");
	CHECK_OK(search(&h, NULL, "name", "", &result, &err));
	char *cursor = arena_alloc(a, result.next_cursor.len + 1);
	memcpy(cursor, result.next_cursor.ptr, result.next_cursor.len);
	cursor[result.next_cursor.len] = 0;
	CHECK_INT(result.total, 4);
	CHECK_FAILS(search(&h, NULL, "-name", cursor, &result, &err), ERR_INVALID, "sorted by 'name', not by '-name'");
	harness_done(&h);
}

/* As deep as the parser of queries lets them be: SQLite's own parser has a stack of 100. */
TEST(search_nests_deeply)
{
	struct harness h = harness_with_jobs();
	struct arena *a = h.arena;
	struct query_node *other = text_term(a, QUERY_HP, "lr", QUERY_EQUAL, "nothing");

	for (int is_left = 0; is_left < 2; is_left++) {
		struct query_node *deep = text_term(a, QUERY_PROPERTY, "name", QUERY_EQUAL, "gpt");
		for (int i = 0; i < 32; i++) {
			struct query_node *no = join(a, QUERY_NOT, other, NULL);
			deep = is_left ? join(a, QUERY_AND, deep, no) : join(a, QUERY_AND, no, deep);
			deep = is_left ? join(a, QUERY_OR, deep, other) : join(a, QUERY_OR, other, deep);
			deep = join(a, QUERY_NOT, deep, NULL);
		}
		check_found(&h, deep, "", "gpt");
	}
	harness_done(&h);
}

TEST(search_takes_lists_of_many_values)
{
	struct harness h = harness_with_jobs();
	struct query_value *values = arena_alloc(h.arena, 256 * sizeof *values);

	CHECK(values != NULL);
	for (int i = 0; i < 256; i++)
		values[i] = *value_of(h.arena, i == 255 ? "gpt" : "nobody", false, 0);
	struct query_node *node = term_of(h.arena, QUERY_PROPERTY, "name", QUERY_IN, values);
	node->term.value_count = 256;
	check_found(&h, node, "", "gpt");
	node = term_of(h.arena, QUERY_HP, "mode", QUERY_IN, values);
	node->term.value_count = 256;
	check_found(&h, node, "", "");
	harness_done(&h);
}

TEST(search_a_pattern_that_explodes_is_told)
{
	struct harness h = harness_new();
	struct job_search_result result;
	char name[200];

	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = 0;
	harness_begin(&h);
	put_job(&h, name, "Failed", 1, "{}");
	harness_commit(&h);
	CHECK_FAILS(search(&h, text_term(h.arena, QUERY_PROPERTY, "name", QUERY_MATCHES, "(a+)+(a+)+(a+)+b|x(?<=xa)"),
			    "", "", &result, &err),
		ERR_SEMANTIC, "too many steps");
	harness_done(&h);
}

TEST(search_incidents)
{
	struct harness h = harness_new();
	struct incident_news news;

	harness_begin(&h);
	int64_t job_id = put_job(&h, "a", "Failed", 1, "{}");
	put_job(&h, "b", "Failed", 2, "{}");
	uint32_t stream_id = harness_stream(&h, job_id, "algo-1");
	uint32_t series_id = harness_series(&h, job_id, stream_id, "loss");
	struct incident_row row = {.job_id = job_id,
		.series_id = series_id,
		.incident = {.kind = INCIDENT_DIVERGENCE, .severity = SEVERITY_CRITICAL}};
	CHECK_OK(store_put_incident(h.tx, &row, &news, &err));
	harness_commit(&h);
	check_found(&h, text_term(h.arena, QUERY_PROPERTY, "incident", QUERY_EQUAL, "divergence"), "", "a");
	check_found(&h, text_term(h.arena, QUERY_PROPERTY, "incident", QUERY_EQUAL, "loss_spike"), "", "");
	check_found(&h, text_term(h.arena, QUERY_PROPERTY, "incident", QUERY_CONTAINS, "open"), "", "a");
	check_found(&h, text_term(h.arena, QUERY_PROPERTY, "incident", QUERY_NOT_EQUAL, "critical"), "", "b");
	check_found(&h, text_term(h.arena, QUERY_PROPERTY, "incident", QUERY_EXISTS, NULL), "", "a");
	harness_done(&h);
}

/* ---- paging: every order, many ties, no row twice, none lost, ranks only go up ---- */

enum { JOBS = 60 };

static void put_many(struct harness *h)
{
	static const double values[] = {1, 2, 2, NAN, INFINITY, -INFINITY, 0, -0.0, 2, NAN};
	static const char *const statuses[] = {"Failed", "Completed", "Stopped"};

	harness_begin(h);
	for (int i = 0; i < JOBS; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s-%d", i % 2 ? "Job" : "job", i * 7 % JOBS);
		int64_t job_id = put_job(h, name, statuses[i % 3], i / 5, "{}");
		if (i % 4)
			put_metrics(h, job_id, &values[i % 10], 1, i % 3 ? &values[i % 7] : NULL);
	}
	harness_commit(h);
}

static void check_paging(struct harness *h, const char *sort, size_t limit)
{
	struct job_search wanted = {.sort = span_from(sort), .cursor = SPAN(""), .limit = limit, .wants_total = true};
	struct job_search all = {.sort = span_from(sort), .cursor = SPAN(""), .limit = 1000};
	struct job_search_result page, whole;
	size_t seen = 0;

	CHECK_OK(store_search_jobs(h->reader, h->arena, &all, &whole, &err));
	CHECK_INT(whole.count, JOBS);
	do {
		CHECK_OK(store_search_jobs(h->reader, h->arena, &wanted, &page, &err));
		CHECK_INT(page.total, JOBS);
		CHECK(page.count == limit || page.next_cursor.len == 0);
		for (size_t i = 0; i < page.count; i++)
			CHECK_SPAN(page.rows[i].name, whole.rows[seen++].name);
		wanted.cursor = page.next_cursor;
	} while (page.next_cursor.len);
	CHECK_INT(seen, JOBS);
	for (size_t offset = 0; offset <= JOBS + 1; offset += 1 + limit / 2) {
		struct job_search from = {
			.sort = span_from(sort), .cursor = SPAN(""), .offset = offset, .limit = limit};
		CHECK_OK(store_search_jobs(h->reader, h->arena, &from, &page, &err));
		size_t left = offset < JOBS ? JOBS - offset : 0;
		CHECK_INT(page.count, left < limit ? left : limit);
		CHECK((page.next_cursor.len > 0) == (left > limit));
		for (size_t i = 0; i < page.count; i++)
			CHECK_SPAN(page.rows[i].name, whole.rows[offset + i].name);
	}
	for (size_t i = 0; i < JOBS; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(whole.rows[i].job_id != whole.rows[j].job_id);
}

TEST(search_pages_in_every_order)
{
	static const char *const sorts[] = {"", "name", "status", "created", "started", "ended", "modified", "loss",
		"loss.min", "loss.max", "loss.mean", "loss.count", "loss.step", "metric.accuracy.last",
		"metric.nothing"};
	struct harness h = harness_new();

	put_many(&h);
	for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++)
		for (int down = 0; down < 2; down++) {
			char sort[64];
			snprintf(sort, sizeof sort, "%s%s", down && sorts[i][0] ? "-" : "", sorts[i]);
			check_paging(&h, sort, 1);
			check_paging(&h, sort, 7);
			check_paging(&h, sort, JOBS);
		}
	harness_done(&h);
}

/* 0: a value, 1: NaN, 2: missing. */
static int rank_of(struct harness *h, const struct job_row *row, double *value)
{
	struct job_counts counts;
	struct summary_row *rows;
	size_t count;

	CHECK_OK(store_read_summaries(h->reader, h->arena, row->job_id, &counts, &rows, &count, &err));
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].metric, SPAN("train:loss"))) {
			*value = rows[i].summary.last;
			return isnan(*value) ? 1 : 0;
		}
	return 2;
}

TEST(search_orders_nan_behind_values_and_before_the_missing)
{
	struct harness h = harness_new();
	struct job_search_result result;

	put_many(&h);
	for (int down = 0; down < 2; down++) {
		struct job_search wanted = {
			.sort = down ? SPAN("-loss") : SPAN("loss"), .cursor = SPAN(""), .limit = JOBS};
		double before = down ? INFINITY : -INFINITY;
		int rank_before = 0;
		CHECK_OK(store_search_jobs(h.reader, h.arena, &wanted, &result, &err));
		for (size_t i = 0; i < result.count; i++) {
			double value = 0;
			int rank = rank_of(&h, &result.rows[i], &value);
			CHECK(rank >= rank_before);
			if (rank == 0) {
				CHECK(down ? value <= before : value >= before);
				before = value;
			}
			rank_before = rank;
		}
	}
	harness_done(&h);
}
