/*
 * Job search: a history of many jobs, written by the store's own verbs, and what each shape of query costs over it.
 *
 *   bench_jobs --file PATH [--jobs 100000] [--add 0] [--times 20] [--wal-mib 64]
 *
 * A file that is there already is asked as it is, with --add jobs more. One object of JSON: how the writing went, and of each shape the times of
 * a warm page by the wall clock and by the processor. What a time includes is store_search_jobs: condition, page, rows, total.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "model/jobs/aggregate.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"
#include "model/query.h"
#include "query/query.h"
#include "store/aggregate.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/search.h"
#include "store/transitions.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 50, PAGE = 50, DEEP = 100, TIMES_MAX = 1000, DOCUMENT_BYTES = 16384, MAX_PERIODS = 10000 };
#define START_MS 1700000000000

static const struct shape {
	const char *name, *query, *sort;
	bool is_deep, wants_total;
} shapes[] = {
	{.name = "equality, tag", .query = "tag.team=nlp", .sort = "-created"},
	{.name = "range, hyperparameter", .query = "hp.lr<=1e-4", .sort = "-created"},
	{.name = "range, rare", .query = "hp.lr<=2e-6", .sort = "-created"},
	{.name = "tag and range", .query = "tag.team=nlp hp.lr<=1e-4", .sort = "-created"},
	{.name = "metric, final below", .query = "loss.final<2", .sort = "-created"},
	{.name = "metric above, and tag", .query = "loss.last>3 tag.team=nlp", .sort = "-created"},
	{.name = "metric min, sorted", .query = "loss.min<1.8", .sort = "loss.min"},
	{.name = "S3 prefix, rare", .query = "s3:\"s3://bucket-3/data/set-17\"", .sort = "-created"},
	{.name = "S3 prefix, none", .query = "s3:\"s3://bucket-3/nothing\"", .sort = "-created"},
	{.name = "status", .query = "status:failed", .sort = "-created"},
	{.name = "pattern of names", .query = "name~\"run-0*77[0-9]$\"", .sort = "-created"},
	{.name = "part of names", .query = "name:\"run-00077\"", .sort = "-created"},
	{.name = "free text", .query = "polaris", .sort = "-created"},
	{.name = "free text, none", .query = "nowhereatall", .sort = "-created"},
	{.name = "or, two properties", .query = "tag.team=speech or hp.optimizer=lion", .sort = "-created"},
	{.name = "or, rare and common", .query = "tag.ticket=T-777 or tag.team=nlp", .sort = "-created"},
	{.name = "rare tag", .query = "tag.ticket=T-777", .sort = "-created"},
	{.name = "negation", .query = "-tag.team=nlp", .sort = "-created"},
	{.name = "not, of two", .query = "not (tag.team=nlp or status:failed)", .sort = "-created"},
	{.name = "three and sort by loss", .query = "tag.team=speech hp.lr<=1e-4 status:failed", .sort = "loss.final"},
	{.name = "nothing matches", .query = "tag.team=nobody", .sort = "-created"},
	{.name = "nothing matches, and", .query = "tag.team=nlp hp.lr>100", .sort = "-created"},
	{.name = "all, created", .query = "", .sort = "-created"},
	{.name = "all, by loss.final", .query = "", .sort = "loss.final"},
	{.name = "all, by loss.last", .query = "", .sort = "loss.last"},
	{.name = "all, by hp.lr", .query = "", .sort = "hp.lr"},
	{.name = "all, by duration", .query = "", .sort = "-duration"},
	{.name = "page 100, created", .query = "", .sort = "-created", .is_deep = true},
	{.name = "page 100, tag", .query = "tag.team=nlp", .sort = "-created", .is_deep = true},
	{.name = "page 100, loss.final", .query = "", .sort = "loss.final", .is_deep = true},
	{.name = "page 100, loss.last", .query = "", .sort = "loss.last", .is_deep = true},
	{.name = "page 100, hp.lr", .query = "", .sort = "hp.lr", .is_deep = true},
	{.name = "total, all", .query = "", .sort = "-created", .wants_total = true},
	{.name = "total, one term", .query = "tag.team=nlp", .sort = "-created", .wants_total = true},
	{.name = "total, range", .query = "hp.lr<=1e-4", .sort = "-created", .wants_total = true},
	{.name = "total, four terms",
		.query = "tag.team=nlp hp.lr<=1e-4 status:failed loss.last<2",
		.sort = "-created",
		.wants_total = true},
	{.name = "total, negation", .query = "-tag.team=nlp", .sort = "-created", .wants_total = true},
};

struct options {
	const char *path;
	uint64_t jobs, add;
	unsigned times;
	size_t wal_mib; /* 0: as the server has it */
};

static _Noreturn void die(const char *what, const struct error *err)
{
	fprintf(stderr, "bench_jobs: %s: %s\n", what, err->text);
	exit(1);
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- writing ---- */

struct random {
	uint64_t state;
};

static uint64_t roll(struct random *random, uint64_t below)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (random->state >> 11) % below;
}

static double share(struct random *random)
{
	return (double)roll(random, 1 << 30) / (1 << 30);
}

#define PICK(random, names) (names)[roll(random, sizeof(names) / sizeof *(names))]

/* Of a hundred jobs 30 are nlp's, 3 speech's. */
static const char *pick_team(struct random *random)
{
	uint64_t one = roll(random, 100);

	return one < 30 ? "nlp" : one < 33 ? "speech" : one < 60 ? "vision" : "platform";
}

static void write_hyperparameters(struct random *random, struct buf *out)
{
	static const char *const optimizers[] = {
		"adamw", "adamw", "adamw", "adamw", "sgd", "adafactor", "lamb", "lion"};

	buf_printf(out, "\"HyperParameters\":{\"lr\":\"%.6g\",\"optimizer\":\"\\\"%s\\\"\",\"batch_size\":\"%d\",",
		1e-6 * pow(10, 3 * share(random)), PICK(random, optimizers), 1 << roll(random, 10));
	buf_printf(out, "\"weight_decay\":\"%.2g\",\"warmup_steps\":\"%d\",\"seed\":\"%d\",\"hidden_size\":\"%d\",",
		share(random), 100 * (int)roll(random, 50), (int)roll(random, 1000000), 256 << roll(random, 6));
	buf_printf(out,
		"\"num_layers\":\"%d\",\"dropout\":\"0.%d\",\"bf16\":\"true\",\"model_name\":\"\\\"llama-%db\\\"\","
		"\"max_steps\":\"%d\"},",
		8 * (1 + (int)roll(random, 10)), (int)roll(random, 5), 1 + (int)roll(random, 70),
		1000 * (int)roll(random, 500));
}

static void write_document(struct random *random, const char *name, const char *team, uint64_t at, struct buf *out)
{
	static const char *const types[] = {"ml.p4d.24xlarge", "ml.p5.48xlarge", "ml.g5.12xlarge", "ml.trn1.32xlarge"};
	static const char *const words[] = {
		"aurora", "baseline", "cobalt", "drift", "ember", "fjord", "glacier", "harbor"};
	unsigned bucket = (unsigned)roll(random, 8), set = (unsigned)roll(random, 400);

	buf_printf(out, "{\"TrainingJobName\":\"%s\",\"RoleArn\":\"arn:aws:iam::123456789012:role/train-%d\",", name,
		(int)roll(random, 20));
	buf_printf(out,
		"\"AlgorithmSpecification\":{\"TrainingImage\":\"763104351884.dkr.ecr.us-east-1.amazonaws.com/"
		"pytorch-training:2.%d\",\"TrainingInputMode\":\"File\"},",
		(int)roll(random, 6));
	buf_printf(out, "\"ResourceConfig\":{\"InstanceType\":\"%s\",\"InstanceCount\":%d,\"VolumeSizeInGB\":500},",
		PICK(random, types), 1 << roll(random, 7));
	write_hyperparameters(random, out);
	buf_append_text(out, "\"InputDataConfig\":[");
	for (unsigned i = 0; i < 2; i++)
		buf_printf(out,
			"%s{\"ChannelName\":\"%s\",\"DataSource\":{\"S3DataSource\":{\"S3DataType\":\"S3Prefix\","
			"\"S3Uri\":\"s3://bucket-%u/data/set-%u/%s\"}}}",
			i ? "," : "", i ? "validation" : "train", bucket, set, i ? "validation" : "train");
	buf_printf(out, "],\"OutputDataConfig\":{\"S3OutputPath\":\"s3://bucket-%u/output/%s\"},", bucket, name);
	buf_printf(out, "\"CheckpointConfig\":{\"S3Uri\":\"s3://bucket-%u/checkpoints/%s\"},", bucket, name);
	buf_append_text(out, "\"StoppingCondition\":{\"MaxRuntimeInSeconds\":432000},");
	buf_printf(out, "\"Environment\":{\"NCCL_DEBUG\":\"INFO\",\"FI_PROVIDER\":\"efa\",\"OMP_NUM_THREADS\":\"%d\"},",
		(int)roll(random, 16));
	buf_printf(out, "\"Tags\":[{\"Key\":\"team\",\"Value\":\"%s\"},{\"Key\":\"project\",\"Value\":\"%s\"},", team,
		roll(random, 200) ? PICK(random, words) : "polaris");
	buf_printf(out, "{\"Key\":\"owner\",\"Value\":\"user-%d\"},{\"Key\":\"ticket\",\"Value\":\"T-%" PRIu64 "\"}]}",
		(int)roll(random, 300), at % 20000);
}

static struct summary summary_of(struct random *random, double value)
{
	uint64_t count = 100 + roll(random, 10000);

	return (struct summary){.count = count,
		.last = value,
		.min = value * 0.95,
		.max = value * 4,
		.sum = {value * (double)count, 0},
		.last_step = (int64_t)count,
		.last_ts_ms = START_MS};
}

static void put_metrics(struct random *random, struct store_tx *tx, int64_t job_id)
{
	double loss = 1 + 4 * share(random);
	struct summary_row rows[] = {
		{.metric = SPAN("train:loss"), .role = ROLE_LOSS, .summary = summary_of(random, loss)},
		{.metric = SPAN("train:lr"), .role = ROLE_LEARNING_RATE, .summary = summary_of(random, share(random))},
		{.metric = SPAN("grad_norm"), .role = ROLE_GRAD_NORM, .summary = summary_of(random, share(random))},
		{.metric = SPAN("custom:score"), .summary = summary_of(random, share(random))}};
	struct error err = {0};

	if (store_put_summaries(tx, job_id, &(struct job_counts){.streams = 1, .lines = 1000}, rows, 4, &err))
		die("summaries", &err);
	for (size_t i = 0; i < 4; i++) {
		struct ranking_row ranking = {.metric = rows[i].metric,
			.mark = rows[i].summary.count,
			.best = rows[i].summary.min,
			.best_step = 10,
			.final = rows[i].summary.last * 1.01};
		if (store_put_ranking(tx, job_id, &ranking, &err))
			die("rankings", &err);
	}
}

static void put_job(struct random *random, struct store_tx *tx, uint64_t at)
{
	static const char *const words[] = {"llama", "bert", "whisper", "vit", "gpt", "mixtral"};
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_BYTES);
	bool has_failed = roll(random, 20) == 0;
	char name[64];
	struct error err = {0};

	snprintf(name, sizeof name, "%s-%s-run-%07" PRIu64, PICK(random, words),
		roll(random, 2) ? "pretrain" : "finetune", at);
	const char *team = pick_team(random);
	write_document(random, name, team, at, &document);
	struct job_row row = {.name = span_from(name),
		.team = span_from(team),
		.document = buf_span(&document),
		.status = has_failed ? SPAN("Failed") : SPAN("Completed"),
		.secondary = has_failed ? SPAN("Failed") : SPAN("Completed"),
		.failure_reason = has_failed ? SPAN("AlgorithmError: ExecuteUserScriptError: exit code 1") : SPAN(""),
		.created_ms = START_MS + (int64_t)at * 60000};
	row.started_ms = row.created_ms + 120000;
	row.ended_ms = row.started_ms + 60000 * (int64_t)(1 + roll(random, 5000));
	row.modified_ms = row.ended_ms;
	if (buf_status(&document, &err) || store_put_job(tx, &row, &err))
		die("job", &err);
	struct transition_row transition = {
		.status = row.secondary, .start_ms = row.started_ms, .end_ms = row.ended_ms};
	if (store_put_transitions(tx, row.job_id, &transition, 1, &err))
		die("transition", &err);
	put_metrics(random, tx, row.job_id);
}

struct writing {
	double wall, cpu; /* seconds, in all */
	double worst_commit, worst_checkpoint;
	double *stalls; /* of each commit with its checkpoint */
	size_t commits;
	uint64_t jobs;
};

static void write_batch(struct random *random, struct store *store, uint64_t from, uint64_t to, struct writing *out)
{
	double start = seconds_of(CLOCK_MONOTONIC);
	struct error err = {0};
	struct store_tx *tx;

	if (store_tx_begin(&tx, store, &err))
		die("begin", &err);
	for (uint64_t at = from; at < to; at++)
		put_job(random, tx, at);
	if (store_tx_commit(tx, &err))
		die("commit", &err);
	double committed = seconds_of(CLOCK_MONOTONIC);
	if (store_checkpoint(store, false, &err)) /* as the pipeline's writer does */
		die("checkpoint", &err);
	double took = seconds_of(CLOCK_MONOTONIC);
	out->worst_commit = committed - start > out->worst_commit ? committed - start : out->worst_commit;
	out->worst_checkpoint = took - committed > out->worst_checkpoint ? took - committed : out->worst_checkpoint;
	out->stalls[out->commits++] = took - start;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct writing make(struct store *store, uint64_t from, uint64_t to)
{
	struct random random = {88172645463325252u + from};
	struct writing writing = {
		.wall = -seconds_of(CLOCK_MONOTONIC), .cpu = -seconds_of(CLOCK_PROCESS_CPUTIME_ID), .jobs = to - from};

	writing.stalls = malloc(((to - from) / BATCH + 1) * sizeof *writing.stalls);
	if (!writing.stalls)
		abort();
	for (uint64_t at = from; at < to; at += BATCH)
		write_batch(&random, store, at, at + BATCH < to ? at + BATCH : to, &writing);
	writing.wall += seconds_of(CLOCK_MONOTONIC);
	writing.cpu += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	qsort(writing.stalls, writing.commits, sizeof *writing.stalls, compare_doubles);
	return writing;
}

static double stall_ms(const struct writing *writing, double share)
{
	return writing->commits ? 1000 * writing->stalls[(size_t)(share * (double)(writing->commits - 1))] : 0;
}

static uint64_t count_jobs(struct store *store)
{
	struct store_reader *reader;
	struct error err = {0};
	uint64_t live, jobs;

	if (store_reader_new(&reader, store, &err) || store_count_jobs(reader, &live, &jobs, &err))
		die("count", &err);
	store_reader_free(reader);
	return jobs;
}

/* ---- asking ---- */

struct times {
	double cold_ms, cold_cpu_ms; /* the first time: what it reads into memory included */
	double wall_ms[TIMES_MAX], cpu_ms[TIMES_MAX];
	uint64_t total;
	size_t found;
	struct error failure;
};

static struct span deep_cursor(struct store_reader *reader, struct arena *arena, struct job_search search)
{
	struct job_search_result result = {.next_cursor = SPAN("")};
	struct error err = {0};

	search.limit = (DEEP - 1) * PAGE;
	return store_search_jobs(reader, arena, &search, &result, &err) ? SPAN("") : result.next_cursor;
}

static void once(struct store_reader *reader, const struct job_search *search, double *wall_ms, double *cpu_ms,
	struct times *out)
{
	AUTO(arena) arena = arena_new();
	struct job_search_result result = {0};
	double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	if (store_search_jobs(reader, arena, search, &result, &out->failure))
		result.count = 0;
	*wall_ms = 1000 * (seconds_of(CLOCK_MONOTONIC) - wall);
	*cpu_ms = 1000 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
	out->found = result.count;
	out->total = result.total;
}

static void ask(struct store_reader *reader, const struct shape *shape, unsigned times, struct times *out)
{
	AUTO(arena) fixed = arena_new();
	struct query_node *query;
	struct error err = {0};

	if (query_parse(&query, span_from(shape->query), START_MS, fixed, &err))
		die(shape->query, &err);
	struct job_search search = {.query = query,
		.sort = span_from(shape->sort),
		.cursor = SPAN(""),
		.limit = PAGE,
		.wants_total = shape->wants_total};
	if (shape->is_deep)
		search.cursor = deep_cursor(reader, fixed, search);
	once(reader, &search, &out->cold_ms, &out->cold_cpu_ms, out);
	for (unsigned i = 0; i < times; i++) {
		once(reader, &search, &out->wall_ms[i], &out->cpu_ms[i], out);
		if (out->wall_ms[i] > 2000) { /* one of these says enough */
			for (unsigned rest = i + 1; rest < times; rest++) {
				out->wall_ms[rest] = out->wall_ms[i];
				out->cpu_ms[rest] = out->cpu_ms[i];
			}
			break;
		}
	}
}

static void ask_all(struct store_reader *reader, unsigned times)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct times took = {0};
		ask(reader, &shapes[i], times, &took);
		qsort(took.wall_ms, times, sizeof(double), compare_doubles);
		qsort(took.cpu_ms, times, sizeof(double), compare_doubles);
		printf("%s\n{\"name\":\"%s\",\"found\":%zu,\"total\":%" PRIu64
		       ",\"cold_ms\":%.1f,\"cold_cpu_ms\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"cpu_p50_ms\":%.3f,\"cpu_p99_ms\":%.3f,\"failure\":\"%s\"}",
			i ? "," : "", shapes[i].name, took.found, took.total, took.cold_ms, took.cold_cpu_ms,
			took.wall_ms[times / 2], took.wall_ms[(times * 99 - 1) / 100], took.cpu_ms[times / 2],
			took.cpu_ms[(times * 99 - 1) / 100], took.failure.text);
		fflush(stdout);
	}
}

/* Aggregations look at every job that matches: told once, by the clock and the processor. */
static void add_up(struct store_reader *reader)
{
	static const char *const asked[][3] = {{"", "", "count"}, {"", "tag.team", "count,mean:loss.final"},
		{"", "tag.team,month", "sum:node_hours,count,p95:duration"},
		{"tag.team=nlp", "instance", "sum:node_hours"}};

	printf("],\"aggregations\":[");
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		AUTO(arena) arena = arena_new();
		struct aggregate_name names[QUERY_MAX_NAMES];
		struct aggregate_figure figures[QUERY_MAX_FIGURES];
		uint64_t too_long_jobs = 0;
		struct job_aggregation ask = {.names = names,
			.figures = figures,
			.now_ms = START_MS,
			.max_groups = 100000,
			.max_periods = MAX_PERIODS,
			.too_long_jobs = &too_long_jobs,
			.max_values = 100000000,
			.time_ms = 600000};
		struct query_node *query;
		struct job_group *groups;
		struct error err = {0};
		size_t count = 0;
		if (query_parse(&query, span_from(asked[i][0]), START_MS, arena, &err) ||
			query_parse_names(names, &ask.name_count, span_from(asked[i][1]), arena, &err) ||
			query_parse_figures(figures, &ask.figure_count, span_from(asked[i][2]), arena, &err))
			die(asked[i][2], &err);
		ask.query = query;
		double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
		if (store_aggregate_jobs(reader, arena, &ask, &groups, &count, &err))
			die(asked[i][2], &err);
		printf("%s\n{\"q\":\"%s\",\"by\":\"%s\",\"of\":\"%s\",\"groups\":%zu,\"wall_ms\":%.1f,\"cpu_ms\":%.1f}",
			i ? "," : "", asked[i][0], asked[i][1], asked[i][2], count,
			1000 * (seconds_of(CLOCK_MONOTONIC) - wall),
			1000 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu));
	}
}

static struct options read_options(int count, char **arguments)
{
	static const struct option names[] = {{"file", required_argument, NULL, 'f'},
		{"jobs", required_argument, NULL, 'j'}, {"add", required_argument, NULL, 'a'},
		{"times", required_argument, NULL, 't'}, {"wal-mib", required_argument, NULL, 'w'}, {0}};
	struct options options = {.jobs = 100000, .times = 20};
	int one;

	while ((one = getopt_long(count, arguments, "", names, NULL)) != -1) {
		if (one == 'f')
			options.path = optarg;
		else if (one == 'j')
			options.jobs = strtoull(optarg, NULL, 10);
		else if (one == 'a')
			options.add = strtoull(optarg, NULL, 10);
		else if (one == 't')
			options.times = (unsigned)strtoul(optarg, NULL, 10);
		else if (one == 'w')
			options.wal_mib = strtoull(optarg, NULL, 10);
		else
			exit(2);
	}
	if (!options.path || !options.times || options.times > TIMES_MAX) {
		fprintf(stderr, "bench_jobs --file PATH [--jobs N] [--add N] [--times 1..%d] [--wal-mib N]\n",
			TIMES_MAX);
		exit(2);
	}
	return options;
}

int main(int count, char **arguments)
{
	struct options options = read_options(count, arguments);
	struct error err = {0};
	struct stat status;
	struct store *store;
	struct store_reader *reader;
	struct writing writing = {0};

	bool is_there = stat(options.path, &status) == 0;
	if (store_open(&store, &(struct store_options){.path = options.path, .wal_bytes = options.wal_mib << 20}, &err))
		die(options.path, &err);
	uint64_t had = count_jobs(store);
	if (!is_there || options.add)
		writing = make(store, had, is_there ? had + options.add : options.jobs);
	if (store_reader_new(&reader, store, &err))
		die("reader", &err);
	double written = writing.jobs ? (double)writing.jobs : 1;
	printf("{\"jobs\":%" PRIu64 ",\"was_there\":%s,\"insert_ms\":%.3f,\"insert_cpu_ms\":%.3f,"
	       "\"worst_commit_ms\":%.1f,\"worst_checkpoint_ms\":%.1f,\"stall_ms\":[%.1f,%.1f,%.1f],\"batch\":%d,\"shapes\":[",
		had + writing.jobs, is_there ? "true" : "false", 1000 * writing.wall / written,
		1000 * writing.cpu / written, 1000 * writing.worst_commit, 1000 * writing.worst_checkpoint,
		stall_ms(&writing, 0.5), stall_ms(&writing, 0.99), stall_ms(&writing, 0.999), BATCH);
	fflush(stdout);
	ask_all(reader, options.times);
	add_up(reader);
	printf("]}\n");
	store_reader_free(reader);
	store_free(store);
	free(writing.stalls);
	return 0;
}
