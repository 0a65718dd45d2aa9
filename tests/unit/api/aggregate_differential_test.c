/*
 * What groups of random jobs come to is what a slow, obvious adding up says, hour by hour of each job. SM_SEED and SM_QUERIES
 * choose others.
 */
#include "../store/harness.h"
#include "base/text/iso8601.h"
#include "base/text/zone.h"
#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "query/query.h"
#include "store/aggregate.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/streams.h"

#include <math.h>

enum { JOBS = 40, ROUNDS = 100, HOUR_MS = 3600000, ENTRIES = 60000, KEY_BYTES = 160, VALUES = 4000 };

struct job {
	char name[16];
	const char *status, *team, *instance;
	int lr; /* -1: none */
	unsigned labels, hosts; /* bits */
	int nodes; /* 0: not stated */
	int64_t begin_ms, end_ms; /* 0: not yet */
	double loss; /* NAN: none */
	int billable_s; /* -1: not stated */
};

struct world {
	uint64_t random;
	struct job jobs[JOBS];
	int64_t now_ms;
	struct harness h;
};

static uint32_t roll(struct world *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->random >> 33) % below;
}

static const char *const labels[] = {"paper", "k=v", "x"};
static const char *const hosts[] = {"n1", "n2", "n3"};

static void make_job(struct world *w, size_t n)
{
	static const char *const teams[] = {"nlp", "vision", NULL}, *const types[] = {"p4d", "g5", NULL},
				 *const statuses[] = {"InProgress", "Failed", "Completed"};
	struct job *job = &w->jobs[n];

	*job = (struct job){.status = statuses[roll(w, 3)],
		.team = teams[roll(w, 3)],
		.instance = types[roll(w, 3)],
		.lr = (int)roll(w, 5) - 1,
		.labels = roll(w, 8),
		.hosts = roll(w, 8),
		.nodes = (int)roll(w, 4),
		.loss = roll(w, 4) ? (double)roll(w, 50) / 8 : NAN,
		.billable_s = roll(w, 3) ? -1 : (int)roll(w, 4) * 3600};
	snprintf(job->name, sizeof job->name, "j-%zu", n);
	if (roll(w, 6) == 0)
		return;
	job->begin_ms = w->now_ms - (int64_t)(1 + roll(w, 24 * 70)) * HOUR_MS;
	if (roll(w, 4))
		job->end_ms = job->begin_ms + (int64_t)roll(w, 24 * 5) * HOUR_MS;
}

static void print_document(struct buf *out, const struct job *job)
{
	buf_printf(out, "{\"TrainingJobName\":\"%s\",\"HyperParameters\":{", job->name);
	if (job->lr >= 0)
		buf_printf(out, "\"lr\":\"%d\"", job->lr);
	buf_append_text(out, "},\"ResourceConfig\":{\"VolumeSizeInGB\":1");
	if (job->nodes)
		buf_printf(out, ",\"InstanceCount\":%d", job->nodes);
	if (job->instance)
		buf_printf(out, ",\"InstanceType\":\"%s\"", job->instance);
	buf_append_text(out, "},\"Labels\":[\"every\"");
	for (size_t i = 0; i < 3; i++)
		if (job->labels & 1u << i)
			buf_printf(out, ",\"%s\",\"%s\"", labels[i], labels[i]); /* said twice, counted once */
	buf_append_text(out, "],\"Tags\":[");
	if (job->team)
		buf_printf(out, "{\"Key\":\"team\",\"Value\":\"%s\"}", job->team);
	buf_append_char(out, ']');
	if (job->billable_s >= 0)
		buf_printf(out, ",\"BillableTimeInSeconds\":%d", job->billable_s);
	buf_append_char(out, '}');
}

static void put_jobs(struct world *w)
{
	harness_begin(&w->h);
	for (size_t i = 0; i < JOBS; i++) {
		AUTO_DONE(buf) document = BUF_INIT(1 << 16);
		const struct job *job = &w->jobs[i];
		make_job(w, i);
		print_document(&document, job);
		struct job_row row = {.name = span_from(job->name),
			.status = span_from(job->status),
			.document = buf_span(&document),
			.created_ms = w->now_ms - 40LL * 24 * HOUR_MS,
			.started_ms = job->begin_ms,
			.ended_ms = job->end_ms};
		CHECK_OK(store_put_job(w->h.tx, &row, &err));
		struct summary_row loss = {.metric = SPAN("train:loss"), .role = ROLE_LOSS};
		if (!isnan(job->loss))
			summary_add(&loss.summary, &(struct point){.step = 1, .value = job->loss});
		CHECK_OK(store_put_summaries(
			w->h.tx, row.job_id, &(struct job_counts){0}, &loss, !isnan(job->loss), &err));
		for (unsigned j = 0, n = 0; j < 3; j++)
			for (unsigned twice = 0; job->hosts & 1u << j && twice < 2; twice++) {
				char name[16];
				snprintf(name, sizeof name, "algo-%u", ++n);
				struct stream_row stream = {.job_id = row.job_id,
					.name = span_from(name),
					.host = span_from(hosts[j]),
					.created_ms = 1};
				CHECK_OK(store_put_stream(w->h.tx, &stream, &err));
			}
	}
	harness_commit(&w->h);
}

/* ---- the obvious way ---- */

struct entry { /* of a job in a group */
	char key[KEY_BYTES];
	size_t job;
	double hours; /* of it that are in the group */
};

struct entries {
	struct entry *all;
	size_t count;
};

static size_t values_of(
	const struct world *w, const struct job *job, const char *by, const char *month, const char *out[4])
{
	size_t count = 0;

	(void)w;
	if (strcmp(by, "tag.team") == 0)
		out[count++] = job->team;
	else if (strcmp(by, "instance") == 0)
		out[count++] = job->instance;
	else if (strcmp(by, "status") == 0)
		out[count++] = job->status;
	else if (strcmp(by, "month") == 0 || strcmp(by, "day") == 0)
		out[count++] = month;
	else if (strcmp(by, "label") == 0)
		out[count++] = "every";
	for (size_t i = 0; i < 3 && strcmp(by, "label") == 0; i++)
		if (job->labels & 1u << i)
			out[count++] = labels[i];
	for (size_t i = 0; i < 3 && strcmp(by, "node") == 0; i++)
		if (job->hosts & 1u << i)
			out[count++] = hosts[i];
	if (!count)
		out[count++] = NULL;
	return count;
}

static void note(struct entries *e, const char *key, size_t job, double hours)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->all[i].job == job && strcmp(e->all[i].key, key) == 0) {
			e->all[i].hours += hours;
			return;
		}
	CHECK(e->count < ENTRIES);
	struct entry *entry = &e->all[e->count++];
	CHECK(strlen(key) < sizeof entry->key);
	memcpy(entry->key, key, strlen(key) + 1);
	entry->job = job;
	entry->hours = hours;
}

static void note_hour(const struct world *w, struct entries *e, const char *const *by, size_t by_count, size_t index,
	const struct zone *zone, int64_t at_ms, double hours)
{
	const struct job *job = &w->jobs[index];
	char text[ISO8601_BYTES], keys[64][KEY_BYTES] = {""};
	const char *values[4];
	size_t count = 1;

	iso8601_format(at_ms + zone_offset_ms(zone, at_ms), text);
	for (size_t i = 0; i < by_count; i++) {
		char grown[64][KEY_BYTES];
		text[strcmp(by[i], "month") == 0 ? 7 : 10] = 0;
		size_t many = values_of(w, job, by[i], text, values), made = 0;
		for (size_t j = 0; j < count; j++)
			for (size_t k = 0; k < many; k++)
				snprintf(grown[made++], KEY_BYTES, "%.80s%s|", keys[j],
					values[k] ? values[k] : "(none)");
		memcpy(keys, grown, sizeof keys);
		count = made;
	}
	for (size_t i = 0; i < count; i++)
		note(e, keys[i], index, hours);
}

static void note_job(const struct world *w, struct entries *e, const char *const *by, size_t by_count, size_t index,
	const struct zone *zone)
{
	const struct job *job = &w->jobs[index];
	int64_t end_ms = job->end_ms ? job->end_ms : w->now_ms;

	if (!job->begin_ms || end_ms <= job->begin_ms) {
		note_hour(w, e, by, by_count, index, zone,
			job->begin_ms ? job->begin_ms : w->now_ms - 40LL * 24 * HOUR_MS, 0);
		return;
	}
	bool is_by_time = false;
	for (size_t i = 0; i < by_count; i++)
		is_by_time |= strcmp(by[i], "month") == 0 || strcmp(by[i], "day") == 0;
	if (!is_by_time) {
		note_hour(w, e, by, by_count, index, zone, job->begin_ms, (double)(end_ms - job->begin_ms) / HOUR_MS);
		return;
	}
	for (int64_t at_ms = job->begin_ms; at_ms < end_ms; at_ms += HOUR_MS)
		note_hour(w, e, by, by_count, index, zone, at_ms, 1);
}

static double quantity(const struct world *w, const struct entry *entry, const char *name, bool is_by_node)
{
	const struct job *job = &w->jobs[entry->job];
	int seen = __builtin_popcount(job->hosts), nodes = job->nodes ? job->nodes : seen ? seen : 1;
	int64_t end_ms = job->end_ms ? job->end_ms : w->now_ms;
	double all_hours = (double)(end_ms - job->begin_ms) / HOUR_MS;

	if (strcmp(name, "hp.lr") == 0)
		return job->lr >= 0 ? (double)job->lr : NAN;
	if (strcmp(name, "loss") == 0)
		return job->loss;
	bool is_hours = strcmp(name, "node_hours") == 0;
	double factor = is_hours ? nodes / 3600.0 / (is_by_node && seen ? seen : 1) : 1;
	if ((is_hours || strcmp(name, "billable") == 0) && job->billable_s >= 0)
		return factor *
		       (job->begin_ms && all_hours > 0 ? job->billable_s * entry->hours / all_hours : job->billable_s);
	if ((is_hours || strcmp(name, "billable") == 0) && !job->end_ms)
		return NAN; /* of what runs it is what its goodput says, which none of these has */
	bool is_moment = job->end_ms && job->end_ms <= job->begin_ms; /* how long it took nobody knows */
	return job->begin_ms && !is_moment ? factor * entry->hours * 3600 : NAN;
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double obvious(const struct world *w, const struct entries *e, const char *key, enum fold fold, const char *name,
	bool is_by_node)
{
	double values[VALUES], sum = 0;
	size_t count = 0, jobs = 0;

	for (size_t i = 0; i < e->count; i++) {
		if (strcmp(e->all[i].key, key) != 0)
			continue;
		jobs++;
		double value = name ? quantity(w, &e->all[i], name, is_by_node) : NAN;
		if (isnan(value))
			continue;
		values[count++] = value;
		sum += value;
	}
	if (fold == FOLD_COUNT)
		return (double)(name ? count : jobs);
	if (!count)
		return NAN;
	qsort(values, count, sizeof *values, by_value);
	double share = fold == FOLD_P90 ? 0.9 : fold == FOLD_P99 ? 0.99 : 0.5, rank = share * (double)(count - 1);
	double low = values[(size_t)rank], high = values[(size_t)rank + (rank > floor(rank))];
	return fold == FOLD_SUM    ? sum
	       : fold == FOLD_MEAN ? sum / (double)count
	       : fold == FOLD_MIN  ? values[0]
	       : fold == FOLD_MAX  ? values[count - 1]
				   : low + (high - low) * (rank - floor(rank));
}

/* ---- both ---- */

static void compare(const struct world *w, const struct entries *e, const struct job_aggregation *ask,
	const struct job_group *groups, size_t count, bool is_by_node, const char *text)
{
	static const char *const names[] = {"hp.lr", "loss", "billable", "node_hours", "duration"};
	size_t seen = 0;

	for (size_t i = 0; i < count; i++) {
		char key[KEY_BYTES] = "";
		for (size_t j = 0; j < ask->name_count; j++)
			snprintf(key + strlen(key), sizeof key - strlen(key), "%.*s|",
				(int)(groups[i].keys[j].ptr ? groups[i].keys[j].len : 6),
				groups[i].keys[j].ptr ? groups[i].keys[j].ptr : "(none)");
		for (size_t j = 0; j < ask->figure_count; j++) {
			const char *name = NULL;
			for (size_t k = 0; k < 5; k++)
				if (span_find(ask->figures[j].text, span_from(names[k])) >= 0)
					name = names[k];
			double want = obvious(w, e, key, ask->figures[j].fold, name, is_by_node),
			       got = groups[i].figures[j];
			if (isnan(want) != isnan(got) || fabs(want - got) > 1e-9 * (1 + fabs(want)))
				test_fail(__FILE__, __LINE__, "%s: '%s' %.*s is %.17g, not %.17g", text, key,
					SPAN_ARGS(ask->figures[j].text), got, want);
		}
	}
	for (size_t i = 0; i < e->count; i++) {
		bool is_first = true;
		for (size_t j = 0; j < i; j++)
			is_first = is_first && strcmp(e->all[j].key, e->all[i].key) != 0;
		seen += is_first;
	}
	if (seen != count)
		test_fail(__FILE__, __LINE__, "%s: %zu groups, not %zu", text, count, seen);
}

static void try_one(struct world *w, struct entries *e, const struct zone *zone)
{
	static const char *const bys[] = {"tag.team", "month", "instance", "status", "label", "node", "day"};
	static const char *const ofs[] = {"count", "sum:node_hours", "sum:duration", "mean:loss", "median:hp.lr",
		"p90:duration", "min:hp.lr", "max:loss.last", "p99:metric.\"train:loss\"", "count:loss", "sum:billable",
		"p50:node_hours"};
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) by_text = BUF_INIT(4096);
	AUTO_DONE(buf) of_text = BUF_INIT(4096);
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	uint64_t too_long_jobs = 0;
	struct job_aggregation ask = {.names = names,
		.figures = figures,
		.zone = zone,
		.now_ms = w->now_ms,
		.max_groups = 100000,
		.max_periods = 100000,
		.too_long_jobs = &too_long_jobs,
		.max_values = 1000000,
		.time_ms = 60000};
	const char *by[3];
	size_t by_count = 0, first = roll(w, 7), count;
	struct job_group *groups;
	bool is_by_node = false, is_failed = roll(w, 3) == 0;

	for (size_t i = 0, n = roll(w, 4); i < n; i++) {
		by[by_count++] = bys[(first + i) % 7];
		is_by_node |= strcmp(by[i], "node") == 0;
		buf_printf(&by_text, "%s%s", i ? "," : "", by[i]);
	}
	for (size_t i = 0, n = 1 + roll(w, 4), at = roll(w, 12); i < n; i++)
		buf_printf(&of_text, "%s%s", i ? "," : "", ofs[(at + i) % 12]);
	CHECK_OK(query_parse_names(names, &ask.name_count, buf_span(&by_text), arena, &err));
	CHECK_OK(query_parse_figures(figures, &ask.figure_count, buf_span(&of_text), arena, &err));
	struct query_node *query = NULL;
	if (is_failed)
		CHECK_OK(query_parse(&query, SPAN("status=failed"), 0, arena, &err));
	ask.query = query;
	CHECK_OK(store_aggregate_jobs(w->h.reader, arena, &ask, &groups, &count, &err));
	e->count = 0;
	for (size_t i = 0; i < JOBS; i++)
		if (!is_failed || strcmp(w->jobs[i].status, "Failed") == 0)
			note_job(w, e, by, by_count, i, zone);
	buf_append_text(&by_text, " of ");
	buf_append_span(&by_text, buf_span(&of_text));
	buf_append_char(&by_text, 0);
	compare(w, e, &ask, groups, count, is_by_node, by_text.ptr);
}

static uint64_t number_from(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : fallback;
}

TEST(groups_come_to_what_adding_up_hour_by_hour_says)
{
	struct world w = {.random = number_from("SM_SEED", (uint64_t)getpid() * 2654435761u),
		.h = harness_new(),
		.now_ms = 1793000000000 / HOUR_MS * HOUR_MS}; /* within October 2026: a clock is put back */
	struct entries e = {.all = malloc(ENTRIES * sizeof *e.all)};
	uint64_t rounds = number_from("SM_QUERIES", ROUNDS);
	AUTO(zone) berlin = NULL;

	printf("SM_SEED=%llu\n", (unsigned long long)w.random);
	CHECK_OK(zone_new(&berlin, SPAN("CET-1CEST,M3.5.0,M10.5.0/3"), &err));
	put_jobs(&w);
	for (uint64_t i = 0; i < rounds; i++)
		try_one(&w, &e, i % 2 ? berlin : NULL);
	free(e.all);
	harness_done(&w.h);
}

/* ---- limits and mistakes ---- */

static enum status ask_for(
	struct world *w, const char *by, const char *of, uint64_t max_groups, uint64_t max_values, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct aggregate_figure figures[QUERY_MAX_FIGURES];
	uint64_t too_long_jobs = 0;
	struct job_aggregation ask = {.names = names,
		.figures = figures,
		.now_ms = w->now_ms,
		.max_groups = max_groups,
		.max_periods = 100000,
		.too_long_jobs = &too_long_jobs,
		.max_values = max_values,
		.time_ms = 60000};
	struct job_group *groups;
	size_t count;

	TRY(query_parse_names(names, &ask.name_count, span_from(by), arena, err));
	TRY(query_parse_figures(figures, &ask.figure_count, span_from(of), arena, err));
	return store_aggregate_jobs(w->h.reader, arena, &ask, &groups, &count, err);
}

TEST(groups_and_values_have_limits)
{
	struct world w = {.random = 5, .h = harness_new(), .now_ms = 1793000000000};
	struct error err = {0};

	put_jobs(&w);
	CHECK(ask_for(&w, "name", "count", JOBS, 0, &err) == OK);
	CHECK(ask_for(&w, "name", "count", JOBS - 1, 0, &err) == ERR_TOO_LARGE);
	CHECK(strstr(err.text, "--max-groups") != NULL);
	CHECK(ask_for(&w, "", "median:nodes", 1, JOBS, &err) == OK);
	CHECK(ask_for(&w, "", "median:nodes", 1, JOBS - 1, &err) == ERR_TOO_LARGE);
	CHECK(strstr(err.text, "--max-group-values") != NULL);
	harness_done(&w.h);
}

TEST(what_nobody_has_is_named_with_its_column)
{
	struct world w = {.random = 5, .h = harness_new(), .now_ms = 1793000000000};
	struct error err = {0};

	CHECK(ask_for(&w, "team,shoe_size", "count", 1, 1, &err) == ERR_SEMANTIC);
	CHECK_INT(err.column, 6);
	CHECK(strstr(err.text, "shoe_size") != NULL);
	CHECK(ask_for(&w, "team", "count,sum:joy", 1, 1, &err) == ERR_SEMANTIC);
	CHECK_INT(err.column, 11);
	CHECK(strstr(err.text, "'joy'") != NULL && strstr(err.text, "node_hours") != NULL);
	CHECK(ask_for(&w, "loss", "count", 1, 1, &err) == ERR_SEMANTIC);
	CHECK(ask_for(&w, "", "sum:started", 1, 1, &err) == ERR_SEMANTIC);
	CHECK(ask_for(&w, "", "sum:pool", 1, 1, &err) == ERR_SEMANTIC);
	harness_done(&w.h);
}
