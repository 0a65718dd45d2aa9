/* Columns in memory against what is written meanwhile. Conditions and orders are search_test.c's and the differential test's. */
#include "harness.h"
#include "model/query.h"
#include "store/columns/job_changes.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/sql/search/search_cache.h"

#include <math.h>

enum { MANY = 600 };

static struct query_node term_of(struct query_value *value, enum query_family family, const char *key,
	enum query_compare compare, const char *text)
{
	*value = (struct query_value){.text = span_from(text)};
	return (struct query_node){.kind = QUERY_TERM,
		.term = {.family = family,
			.key = span_from(key),
			.compare = compare,
			.values = value,
			.value_count = 1,
			.column = 1}};
}

static struct job_search_result find(
	struct harness *h, const struct query_node *query, const char *sort, int64_t limit_ms)
{
	struct job_search search = {.query = query,
		.sort = span_from(sort),
		.cursor = SPAN(""),
		.limit = MANY,
		.limit_ms = limit_ms,
		.wants_total = true};
	struct job_search_result result;

	CHECK_OK(store_search_jobs(h->reader, h->arena, &search, &result, &err));
	return result;
}

static void check_optimizer(struct harness *h, const char *text, const char *sort, const char *names)
{
	struct query_value value;
	struct query_node query = term_of(&value, QUERY_HP, "opt", QUERY_EQUAL, text);
	struct job_search_result result = find(h, &query, sort, 0);
	AUTO_DONE(buf) found = BUF_INIT(1 << 16);

	for (size_t i = 0; i < result.count; i++)
		buf_append_span(&found, result.rows[i].name);
	CHECK_SPAN(buf_span(&found), span_from(names));
	CHECK_INT(result.total, result.count);
}

static void put(struct harness *h, struct job_row *job, const char *name, const char *optimizer)
{
	static int64_t at_ms;
	char document[256];

	snprintf(document, sizeof document, "{\"HyperParameters\":{\"opt\":\"%s\"}}", optimizer);
	job->name = span_from(name);
	job->document = span_from(document);
	job->status = SPAN("InProgress");
	job->created_ms = job->created_ms ? job->created_ms : ++at_ms;
	CHECK_OK(store_put_job(h->tx, job, &err));
}

static void put_loss(struct harness *h, int64_t job_id, double loss)
{
	struct summary_row row = {.metric = SPAN("loss"), .role = ROLE_LOSS};

	summary_add(&row.summary, &(struct point){.step = 1, .value = loss});
	CHECK_OK(store_put_summaries(h->tx, job_id, &(struct job_counts){0}, &row, 1, &err));
}

static void follow(struct harness *h)
{
	struct job_row a = {0}, b = {0}, c = {0};

	harness_begin(h);
	put(h, &a, "a", "sgd");
	put(h, &b, "b", "sgd");
	put_loss(h, a.job_id, 1);
	put_loss(h, b.job_id, 2);
	harness_commit(h);
	check_optimizer(h, "sgd", "loss", "ab");
	check_optimizer(h, "sgd", "-loss", "ba");

	harness_begin(h);
	put(h, &a, "a", "lion");
	put(h, &c, "c", "sgd");
	put_loss(h, b.job_id, 5);
	put_loss(h, c.job_id, 4);
	harness_commit(h);
	check_optimizer(h, "sgd", "loss", "cb");
	check_optimizer(h, "lion", "loss", "a");

	harness_begin(h); /* comes to nothing */
	put(h, &a, "a", "sgd");
	store_tx_rollback(h->tx);
	check_optimizer(h, "sgd", "loss", "cb");

	harness_begin(h); /* what is undone before something that is kept */
	CHECK_OK(store_tx_savepoint(h->tx, &err));
	put(h, &b, "b", "lion");
	store_tx_undo(h->tx);
	put(h, &a, "a", "sgd");
	harness_commit(h);
	check_optimizer(h, "sgd", "loss", "acb");
	check_optimizer(h, "lion", "loss", "");

	harness_begin(h);
	CHECK_OK(store_delete_job(h->tx, c.job_id, &err));
	CHECK_OK(store_put_ranking(
		h->tx, a.job_id, &(struct ranking_row){.metric = SPAN("loss"), .mark = 1, .final = 9}, &err));
	CHECK_OK(store_put_ranking(
		h->tx, b.job_id, &(struct ranking_row){.metric = SPAN("loss"), .mark = 1, .final = 8}, &err));
	harness_commit(h);
	check_optimizer(h, "sgd", "loss.final", "ba");
}

TEST(columns_follow_what_is_written)
{
	struct harness h = harness_new();

	follow(&h);
	CHECK(search_cache_bytes(h.store->search) > 1000);
	harness_done(&h);
}

TEST(columns_without_room_are_read_anew)
{
	struct harness h = harness_new();

	h.search_bytes = 1;
	harness_reopen(&h);
	follow(&h);
	h.reader->store = NULL; /* and a reader that has none */
	check_optimizer(&h, "sgd", "loss.final", "ba");
	harness_done(&h);
}

static void look_for_key(struct harness *h, int number)
{
	char key[4096];
	struct query_value value;
	struct query_node query;

	memset(key, 'x', sizeof key);
	snprintf(key + sizeof key - 8, 8, "%d", number);
	query = term_of(&value, QUERY_HP, key, QUERY_EQUAL, "1");
	CHECK_INT(find(h, &query, "", 0).total, 0);
}

TEST(names_of_no_job_do_not_pile_up)
{
	struct harness h = harness_new();
	struct job_row a = {0};

	harness_begin(&h);
	put(&h, &a, "a", "sgd");
	harness_commit(&h);
	check_optimizer(&h, "sgd", "", "a");
	size_t before = search_cache_bytes(h.store->search);
	look_for_key(&h, 0);
	CHECK(search_cache_bytes(h.store->search) > before + 4000);
	for (int i = 1; i < 1200; i++)
		look_for_key(&h, i);
	size_t full = search_cache_bytes(h.store->search);
	for (int i = 1200; i < 1300; i++)
		look_for_key(&h, i);
	CHECK(search_cache_bytes(h.store->search) < full + 100 * 100);
	harness_done(&h);
}

TEST(changes_that_were_forgotten_are_read_anew)
{
	struct harness h = harness_new();
	struct job_row a = {0};
	int64_t version;

	harness_begin(&h);
	put(&h, &a, "a", "sgd");
	harness_commit(&h);
	check_optimizer(&h, "sgd", "", "a");
	harness_begin(&h);
	put(&h, &a, "a", "lion");
	harness_commit(&h);
	version = harness_number(h.store->writer, "SELECT last FROM counters WHERE name = 'search'");
	for (int64_t i = 0; i < 65536; i++) /* as many as are kept */
		job_changes_note(h.store->changes, version, 1000 + i, SEARCH_CHANGED_METRICS);
	check_optimizer(&h, "sgd", "", "");
	check_optimizer(&h, "lion", "", "a");
	harness_done(&h);
}

/* The newest of each says all that the older ones did. */
TEST(a_job_that_changes_often_is_remembered_once)
{
	AUTO(job_changes) changes = job_changes_new();
	AUTO_MEM int64_t *jobs = NULL;
	AUTO_MEM int64_t *metrics = NULL;
	size_t count, metric_count;
	bool is_known;

	job_changes_note(changes, 1, 7, SEARCH_CHANGED_JOB);
	for (int64_t version = 2; version < 3 * JOB_CHANGES_MAX; version++) {
		job_changes_note(changes, version, 100 + version % 10, SEARCH_CHANGED_METRICS);
		if (version == 4)
			job_changes_note(changes, version, 100, SEARCH_CHANGED_DOCUMENT);
	}
	CHECK(job_changes_since(changes, 0, SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT, &jobs, &count, &is_known));
	CHECK(is_known);
	CHECK_INT(count, 2);
	CHECK_INT(jobs[0], 7);
	CHECK_INT(jobs[1], 100);
	int64_t late = 3 * (int64_t)JOB_CHANGES_MAX - 4;
	CHECK(job_changes_since(changes, late, SEARCH_CHANGED_METRICS, &metrics, &metric_count, &is_known));
	CHECK(is_known);
	CHECK_INT(metric_count, 3);
}

/* Each of them was read on its own, never the whole column for their number. */
TEST(values_that_no_job_has_any_more_do_not_pile_up)
{
	enum { ROUNDS = 50, JOBS = 60, TEXT_BYTES = 100 };
	struct harness h = harness_new();
	struct job_row jobs[JOBS] = {{0}};
	char name[16], value[TEXT_BYTES + 1];

	for (int round = 0; round < ROUNDS; round++) {
		harness_begin(&h);
		for (int i = 0; i < JOBS; i++) {
			snprintf(name, sizeof name, "j%d", i);
			snprintf(value, sizeof value, "%0*d", TEXT_BYTES, round * JOBS + i);
			put(&h, &jobs[i], name, value);
		}
		harness_commit(&h);
		check_optimizer(&h, value, "", name);
	}
	CHECK(search_cache_bytes(h.store->search) < ROUNDS * JOBS * TEXT_BYTES / 2);
	harness_done(&h);
}

/* The time is over before it began: what is found is what was looked at before the first look at the clock. */
TEST(a_search_that_takes_too_long_says_that_it_is_partial)
{
	struct harness h = harness_new();
	struct query_value value;
	char name[16];

	harness_begin(&h);
	for (int i = 0; i < MANY; i++) {
		struct job_row job = {0};
		snprintf(name, sizeof name, "job-%03d", i);
		put(&h, &job, name, "sgd");
	}
	harness_commit(&h);
	struct query_node query = term_of(&value, QUERY_PROPERTY, "name", QUERY_MATCHES, "^job");
	struct job_search_result result = find(&h, &query, "", 0);
	CHECK(!result.is_partial);
	CHECK_INT(result.count, MANY);
	result = find(&h, &query, "", -1000);
	CHECK(result.is_partial);
	CHECK(result.count > 0 && result.count < MANY);
	CHECK_SPAN(result.rows[0].name, SPAN("job-599"));
	query.term.compare = QUERY_MATCHES_NOT; /* what was not looked at is not found for that */
	result = find(&h, &query, "", -1000);
	CHECK(result.is_partial);
	CHECK_INT(result.count, 0);
	query = term_of(&value, QUERY_PROPERTY, "attempts", QUERY_AT_LEAST, "1"); /* by SQL */
	value.is_number = true;
	value.number = 1;
	CHECK(!find(&h, &query, "", 0).is_partial);
	result = find(&h, &query, "name", -1000);
	CHECK(result.is_partial);
	CHECK(result.count < MANY);
	harness_done(&h);
}

TEST(a_search_is_explained_term_by_term)
{
	struct harness h = harness_new();
	struct query_value values[2];
	struct query_node in_memory = term_of(&values[0], QUERY_HP, "opt", QUERY_EQUAL, "sgd");
	struct query_node by_sql = term_of(&values[1], QUERY_PROPERTY, "attempts", QUERY_EXISTS, "");
	struct query_node both = {.kind = QUERY_AND, .left = &in_memory, .right = &by_sql};
	struct job_search search = {.query = &in_memory, .sort = SPAN("loss"), .cursor = SPAN("")};
	struct job_search_step *steps;
	struct job_row a = {0};
	size_t count;

	by_sql.term.value_count = 0;
	harness_begin(&h);
	put(&h, &a, "a", "sgd");
	harness_commit(&h);
	CHECK_OK(store_explain_jobs(h.reader, h.arena, &search, &steps, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(steps[0].columns, SPAN("hp.opt"));
	CHECK_INT(steps[0].jobs, 1);
	CHECK(!steps[1].term);
	CHECK_SPAN(steps[1].columns, SPAN("loss.last"));
	search.query = &both;
	CHECK_OK(store_explain_jobs(h.reader, h.arena, &search, &steps, &count, &err));
	CHECK_INT(count, 3);
	CHECK_SPAN(steps[0].columns, SPAN("hp.opt"));
	CHECK_SPAN(steps[1].columns, SPAN(""));
	CHECK_SPAN(steps[2].columns, SPAN(""));
	harness_done(&h);
}

/* Values that repeat in step with the sample that is taken are what leads it astray. */
static double loss_of(int job, int pattern)
{
	return pattern == 0 ? job * 7919 % MANY : pattern == 1 ? job % 9 : job % 9 ? MANY + job : job;
}

TEST(a_page_in_the_middle_is_what_pages_by_cursor_come_to)
{
	struct harness h = harness_new();
	struct job_row jobs[MANY] = {0};
	char name[16];

	for (int pattern = 0; pattern < 3; pattern++) {
		harness_begin(&h);
		for (int i = 0; i < MANY; i++) {
			snprintf(name, sizeof name, "job-%03d", i);
			put(&h, &jobs[i], name, "sgd");
			put_loss(&h, jobs[i].job_id, loss_of(i, pattern));
		}
		harness_commit(&h);
		struct job_search_result all = find(&h, NULL, pattern == 1 ? "-loss" : "loss", 0);
		CHECK_INT(all.count, MANY);
		for (size_t offset = 0; offset < MANY; offset += 1 + offset / 8) {
			struct job_search search = {.sort = pattern == 1 ? SPAN("-loss") : SPAN("loss"),
				.cursor = SPAN(""),
				.offset = offset,
				.limit = 3};
			struct job_search_result page;
			CHECK_OK(store_search_jobs(h.reader, h.arena, &search, &page, &err));
			CHECK_INT(page.count, MANY - offset < 3 ? MANY - offset : 3);
			for (size_t i = 0; i < page.count; i++)
				CHECK_INT(page.rows[i].job_id, all.rows[offset + i].job_id);
		}
	}
	harness_done(&h);
}
