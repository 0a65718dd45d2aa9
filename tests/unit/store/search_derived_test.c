/* What is searched and sorted by though no row of a job states it: pools, runs, silence, classes of failures, labels. */
#include "base/clock.h"
#include "harness.h"
#include "model/query.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/search.h"
#include "store/sql/search/search_derived.h"
#include "store/transitions.h"

static const int64_t HOUR_MS = 3600 * 1000;

static int64_t put(struct harness *h, const char *name, const char *document)
{
	struct job_row row = {.name = span_from(name), .status = SPAN("InProgress"), .document = span_from(document)};

	CHECK_OK(store_put_job(h->tx, &row, &err));
	return row.job_id;
}

static struct query_node *term(struct harness *h, const char *key, enum query_compare compare, const char *text)
{
	struct query_node *node = arena_alloc(h->arena, sizeof *node);
	struct query_value *value = arena_alloc(h->arena, sizeof *value);

	CHECK(node && value);
	*value = (struct query_value){0};
	*node = (struct query_node){.kind = QUERY_TERM,
		.term = {.family = QUERY_PROPERTY,
			.key = span_from(key),
			.compare = compare,
			.values = value,
			.value_count = text != NULL,
			.column = 5}};
	if (text) {
		value->text = span_from(text);
		value->is_number = span_parse_double(value->text, &value->number);
	}
	return node;
}

static enum status search(struct harness *h, const struct query_node *query, const char *sort, struct error *err)
{
	struct job_search search = {.query = query, .sort = span_from(sort), .cursor = SPAN(""), .limit = 100};
	struct job_search_result result;

	return store_search_jobs(h->reader, h->arena, &search, &result, err);
}

/* The names, with spaces; a page a row, so that every cursor is tried. */
static void check_found(struct harness *h, const struct query_node *query, const char *sort, const char *want)
{
	struct job_search search = {
		.query = query, .sort = span_from(sort), .cursor = SPAN(""), .limit = 1, .wants_total = true};
	struct job_search_result page;
	AUTO_DONE(buf) names = BUF_INIT(1 << 16);
	uint64_t count = 0;

	do {
		CHECK_OK(store_search_jobs(h->reader, h->arena, &search, &page, &err));
		for (size_t i = 0; i < page.count; i++)
			buf_printf(&names, "%s%.*s", count++ ? " " : "", SPAN_ARGS(page.rows[i].name));
		search.cursor = page.next_cursor;
	} while (search.cursor.len);
	CHECK_SPAN(buf_span(&names), span_from(want));
	CHECK_INT(page.total, count);
}

static void put_pool(struct harness *h, int64_t job_id, int64_t pool_id, uint32_t position, int state, int64_t until_ms)
{
	struct pool_job_row row = {.job_id = job_id,
		.told_heir = SPAN(""),
		.pool_id = pool_id,
		.position = position,
		.state = state,
		.ended_ms = state == 1 ? 0 : until_ms - 90 * 1000,
		.retained_ms = state > 2 ? 7000 : 0,
		.heir_id = state == 3 ? job_id + 1 : 0,
		.until_ms = until_ms};

	CHECK_OK(store_put_pool_job(h->tx, &row, &err));
}

/* Pool 1: a-reused, b-waits; pool 3: c-over; 4: d-first; 5: e-gone, f-runs; g-told reports; h-none. */
static void put_pools(struct harness *h)
{
	int64_t now_ms = clock_wall_ms();

	harness_begin(h);
	int64_t a = put(h, "a-reused", "{}"), b = put(h, "b-waits", "{}"), c = put(h, "c-over", "{}"),
		d = put(h, "d-first", "{}"), e = put(h, "e-gone", "{}"), f = put(h, "f-runs", "{}");
	int64_t g = put(h, "g-told",
		"{\"WarmPoolStatus\":{\"Status\":\"Reused\",\"ReusedByJob\":\"\xc3\x89\",\"ResourceRetainedBillableTimeInSeconds\":3}}");
	put(h, "h-none", "{}");
	put_pool(h, a, a, 0, 3, 0);
	put_pool(h, b, a, 1, 2, now_ms + HOUR_MS);
	put_pool(h, c, c, 0, 2, now_ms - HOUR_MS);
	put_pool(h, d, d, 0, 1, 0);
	put_pool(h, e, e, 0, 4, 0);
	put_pool(h, f, e, 1, 1, 0);
	put_pool(h, g, a, 2, 4, 0);
	harness_commit(h);
}

TEST(search_finds_pools_by_their_state)
{
	struct harness h = harness_new();

	put_pools(&h);
	check_found(&h, term(&h, "pool", QUERY_CONTAINS, "available"), "name", "b-waits");
	check_found(&h, term(&h, "pool", QUERY_EQUAL, "inuse"), "name", "f-runs");
	check_found(&h, term(&h, "pool", QUERY_EQUAL, "REUSED"), "name", "a-reused g-told");
	check_found(&h, term(&h, "pool", QUERY_CONTAINS, "terminated"), "name", "c-over e-gone");
	check_found(&h, term(&h, "pool", QUERY_MATCHES, "^(In|Av)"), "name", "b-waits f-runs");
	check_found(&h, term(&h, "pool", QUERY_EXISTS, NULL), "name", "a-reused b-waits c-over e-gone f-runs g-told");
	check_found(&h, term(&h, "pool", QUERY_NOT_EQUAL, "terminated"), "name",
		"a-reused b-waits d-first f-runs g-told h-none");
	check_found(&h, term(&h, "WarmPoolStatus.Status", QUERY_EQUAL, "available"), "name", "b-waits");
	check_found(&h, term(&h, "pool", QUERY_CONTAINS, "nothing"), "name", "");
	harness_done(&h);
}

TEST(search_finds_pools_by_their_number)
{
	struct harness h = harness_new();

	put_pools(&h);
	check_found(&h, term(&h, "pool", QUERY_CONTAINS, "1"), "name", "a-reused b-waits g-told");
	check_found(&h, term(&h, "pool", QUERY_EQUAL, "4"), "name", "d-first");
	check_found(&h, term(&h, "pool", QUERY_AT_LEAST, "4"), "name", "d-first e-gone f-runs");
	check_found(&h, term(&h, "pool", QUERY_NOT_EQUAL, "1"), "name", "c-over d-first e-gone f-runs h-none");
	check_found(&h, term(&h, "pool", QUERY_EQUAL, "99"), "name", "");
	/* a status is no number */
	check_found(&h, term(&h, "WarmPoolStatus.Status", QUERY_EQUAL, "1"), "name", "");
	harness_done(&h);
}

TEST(search_finds_what_else_pools_say)
{
	static const char retained[] = "WarmPoolStatus.ResourceRetainedBillableTimeInSeconds",
			  heir[] = "WarmPoolStatus.ReusedByJob";
	struct harness h = harness_new();

	put_pools(&h);
	check_found(&h, term(&h, heir, QUERY_EQUAL, "b-waits"), "name", "a-reused");
	check_found(&h, term(&h, heir, QUERY_EQUAL, "B-waits"), "name", "");
	check_found(&h, term(&h, heir, QUERY_CONTAINS, "\xc3\xa9"), "name", "g-told");
	check_found(&h, term(&h, retained, QUERY_EQUAL, "7"), "name", "a-reused e-gone");
	check_found(&h, term(&h, retained, QUERY_AT_LEAST, "8"), "name", "c-over"); /* until its time was over */
	check_found(&h, term(&h, retained, QUERY_LESS, "7"), "name", "g-told");
	check_found(&h, term(&h, retained, QUERY_EXISTS, NULL), "name", "a-reused c-over e-gone g-told");
	check_found(&h, NULL, "pool", "b-waits f-runs a-reused g-told c-over e-gone d-first h-none");
	check_found(&h, NULL, "-WarmPoolStatus.Status", "e-gone c-over g-told a-reused f-runs b-waits h-none d-first");
	check_found(&h, NULL, heir, "a-reused g-told b-waits c-over d-first e-gone f-runs h-none");
	check_found(&h, NULL, retained, "g-told a-reused e-gone c-over b-waits d-first f-runs h-none");
	harness_done(&h);
}

/* ---- runs ---- */

static void put_link(struct harness *h, const char *name, const char *continues)
{
	char document[128];

	snprintf(document, sizeof document, "{\"Tags\":[{\"Key\":\"continues\",\"Value\":\"%s\"}]}", continues);
	put(h, name, document);
}

TEST(search_finds_runs)
{
	struct harness h = harness_new();

	harness_begin(&h);
	put(&h, "a", "{}");
	put_link(&h, "a-2", "a");
	put_link(&h, "a-3", "a-2");
	put_link(&h, "orphan", "nobody");
	put_link(&h, "self", "self");
	put(&h, "9", "{}");
	put_link(&h, "9-2", "9");
	harness_commit(&h);
	check_found(&h, term(&h, "run", QUERY_CONTAINS, "a-2"), "name", "a a-2 a-3");
	check_found(&h, term(&h, "run", QUERY_EQUAL, "a"), "-name", "a-3 a-2 a");
	check_found(&h, term(&h, "run", QUERY_EQUAL, "9"), "name", "9 9-2"); /* a name, not a number */
	check_found(&h, term(&h, "run", QUERY_NOT_EQUAL, "a"), "name", "9 9-2 orphan self");
	check_found(&h, term(&h, "run", QUERY_EQUAL, "orphan"), "name", "orphan");
	check_found(&h, term(&h, "run", QUERY_EQUAL, "nobody"), "name", "");
	check_found(&h, term(&h, "run", QUERY_NOT_EQUAL, "nobody"), "name", "9 9-2 a a-2 a-3 orphan self");
	check_found(&h, term(&h, "run", QUERY_EXISTS, NULL), "name", "9 9-2 a a-2 a-3");
	CHECK_FAILS(search(&h, term(&h, "run", QUERY_MATCHES, "a"), "", &err), ERR_SEMANTIC, "column 5: run takes");
	harness_done(&h);
}

/* A thousand jobs a run, at most; ten of them are what a query may name. */
TEST(search_names_so_many_runs_and_no_more)
{
	struct harness h = harness_new();
	struct query_value *values = arena_alloc(h.arena, 11 * sizeof *values);
	char name[16], before[16];

	CHECK(values != NULL);
	harness_begin(&h);
	put(&h, "j0", "{}");
	for (int i = 1; i < 1000; i++) {
		snprintf(name, sizeof name, "j%d", i);
		snprintf(before, sizeof before, "j%d", i - 1);
		put_link(&h, name, before);
	}
	harness_commit(&h);
	struct query_node *node = term(&h, "run", QUERY_IN, "j0");
	for (int i = 0; i < 11; i++)
		values[i] = (struct query_value){.text = SPAN("j500")};
	node->term.values = values;
	node->term.value_count = SEARCH_MAX_RUN_JOBS / 1000;
	CHECK_OK(search(&h, node, "", &err));
	node->term.value_count++;
	CHECK_FAILS(search(&h, node, "", &err), ERR_SEMANTIC, "more than 10000 jobs");
	harness_done(&h);
}

/* ---- silence ---- */

static void put_heard(struct harness *h, const char *name, int64_t heard_ms, int64_t line_ms, int64_t ended_ms)
{
	struct job_row row = {
		.name = span_from(name), .status = SPAN("InProgress"), .document = SPAN("{}"), .ended_ms = ended_ms};

	CHECK_OK(store_put_job(h->tx, &row, &err));
	CHECK_OK(store_put_summaries(h->tx, row.job_id,
		&(struct job_counts){.streams = 1, .last_heard_ms = heard_ms, .last_line_ms = line_ms}, NULL, 0, &err));
}

TEST(search_finds_who_is_silent)
{
	struct harness h = harness_new();
	int64_t now_ms = clock_wall_ms();

	harness_begin(&h);
	put_heard(&h, "loud", now_ms - 1000, now_ms - 9 * HOUR_MS, 0);
	put_heard(&h, "quiet", now_ms - HOUR_MS, now_ms, 0);
	put_heard(&h, "old", 0, now_ms - 2 * HOUR_MS, 0);
	put_heard(&h, "ended", now_ms - HOUR_MS, now_ms, now_ms - HOUR_MS);
	put_heard(&h, "mute", 0, 0, 0);
	harness_commit(&h);
	check_found(&h, term(&h, "silent", QUERY_MORE, "600"), "name", "old quiet");
	check_found(&h, term(&h, "silent", QUERY_AT_LEAST, "7200"), "name", "old");
	check_found(&h, term(&h, "silent", QUERY_LESS, "600"), "name", "loud");
	check_found(&h, term(&h, "silent", QUERY_EXISTS, NULL), "name", "loud old quiet");
	check_found(&h, term(&h, "silent", QUERY_NOT_EQUAL, "0"), "name", "ended loud mute old quiet");
	check_found(&h, NULL, "silent", "loud quiet old ended mute");
	check_found(&h, NULL, "-silent", "old quiet loud mute ended");
	harness_done(&h);
}

/* ---- attributes ---- */

TEST(search_finds_classes_of_failures)
{
	struct harness h = harness_new();
	struct job_row row = {.name = SPAN("a"),
		.status = SPAN("Failed"),
		.document = SPAN("{\"FailureClass\":\"mine\"}"),
		.failure_reason = SPAN("CapacityError: none left")};

	harness_begin(&h);
	CHECK_OK(store_put_job(h.tx, &row, &err));
	put(&h, "b", "{\"FailureClass\":\"CapacityError\"}"); /* not the document's to say */
	harness_commit(&h);
	check_found(&h, term(&h, "failure", QUERY_EQUAL, "CapacityError"), "name", "a");
	check_found(&h, term(&h, "failure", QUERY_CONTAINS, "capacity"), "name", "a");
	check_found(&h, term(&h, "FailureClass", QUERY_EXISTS, NULL), "name", "a");
	check_found(&h, term(&h, "failure", QUERY_NOT_EQUAL, "CapacityError"), "name", "b");
	check_found(&h, NULL, "-failure", "a b");
	harness_begin(&h);
	row.failure_reason = SPAN("AlgorithmError: exit code 1"); /* the document is as it was */
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	check_found(&h, term(&h, "failure", QUERY_CONTAINS, "capacity"), "name", "");
	check_found(&h, term(&h, "failure", QUERY_EQUAL, "AlgorithmError"), "name", "a");
	harness_begin(&h);
	row.failure_reason = SPAN("");
	CHECK_OK(store_put_job(h.tx, &row, &err));
	harness_commit(&h);
	check_found(&h, term(&h, "failure", QUERY_EXISTS, NULL), "name", "");
	harness_done(&h);
}

TEST(search_finds_labels)
{
	struct harness h = harness_new();

	harness_begin(&h);
	put(&h, "a", "{\"Labels\":[\"paper\",\"k=v\"]}");
	put(&h, "b", "{\"Labels\":[\"draft\"]}");
	put(&h, "c", "{}");
	harness_commit(&h);
	check_found(&h, term(&h, "label", QUERY_EQUAL, "paper"), "name", "a");
	check_found(&h, term(&h, "label", QUERY_CONTAINS, "K=V"), "name", "a");
	check_found(&h, term(&h, "label", QUERY_NOT_EQUAL, "paper"), "name", "b c");
	check_found(&h, term(&h, "label", QUERY_EXISTS, NULL), "name", "a b");
	check_found(&h, NULL, "label", "b a c");
	harness_done(&h);
}

/* ---- attempts ---- */

static void put_attempts(struct harness *h, const char *name, uint32_t streams, const char *const *statuses)
{
	int64_t job_id = put(h, name, "{}");

	struct transition_row rows[16];
	size_t count = 0;

	for (; statuses[count] && count < 16; count++)
		rows[count] = (struct transition_row){.status = span_from(statuses[count]),
			.message = SPAN(""),
			.start_ms = 1000 * ((int64_t)count + 1),
			.end_ms = statuses[count + 1] ? 1000 * ((int64_t)count + 2) : 0};
	CHECK_OK(store_put_transitions(h->tx, job_id, rows, count, &err));
	CHECK_OK(store_put_summaries(h->tx, job_id, &(struct job_counts){.attempts = streams}, NULL, 0, &err));
}

TEST(search_counts_attempts)
{
	struct harness h = harness_new();

	harness_begin(&h);
	put_attempts(&h, "calm", 1, (const char *const[]){"Starting", "Pending", "Training", "Uploading", NULL});
	put_attempts(&h, "repaired", 1,
		(const char *const[]){"Starting", "Training", "Restarting", "Starting", "Training", NULL});
	put_attempts(&h, "spot", 0,
		(const char *const[]){
			"Training", "Interrupted", "Pending", "Training", "Uploading", "Restarting", NULL});
	put_attempts(&h, "logged", 4, (const char *const[]){"Training", "Starting", NULL});
	put(&h, "new", "{}");
	harness_commit(&h);
	check_found(&h, term(&h, "attempts", QUERY_MORE, "1"), "name", "logged repaired spot");
	check_found(&h, term(&h, "attempts", QUERY_EQUAL, "2"), "name", "repaired");
	check_found(&h, term(&h, "attempts", QUERY_CONTAINS, "3"), "name", "spot");
	check_found(&h, term(&h, "attempts", QUERY_AT_LEAST, "4"), "name", "logged");
	check_found(&h, term(&h, "attempts", QUERY_NOT_EQUAL, "1"), "name", "logged repaired spot");
	check_found(&h, term(&h, "attempts", QUERY_MATCHES, "^[24]$"), "name", "logged repaired");
	check_found(&h, term(&h, "attempts", QUERY_EXISTS, NULL), "name", "calm logged new repaired spot");
	check_found(&h, NULL, "-attempts", "logged spot repaired new calm");
	harness_done(&h);
}
