/*
 * Feeds curves to the detectors as the pipeline does, and says what they cost.
 *
 *   bench_detect curves FILE...   of each file (one point a line: {"metric","stream","step","ts_ms","value"}) what the
 *                                 detectors said: {"curve","kind","metric","stream","step","paged_step","severity"}
 *   bench_detect cost             by role, on a noisy curve: ns a point (CPU time, least of several runs), bytes of state
 */
#include "base/json/json_read.h"
#include "detect/detector.h"
#include "detect/pace_watch.h"
#include "detect/rhythm.h"
#include "model/incident.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SERIES_MAX = 256, SAID_MAX = 20000, NAME_MAX = 120, RUNS = 5, COST_POINTS = 400000, WARM_POINTS = 2000 };
enum { STALL_AFTER_MS = 120 * 1000 }; /* the server's --stall-after */

struct said {
	size_t series;
	int64_t paged_step; /* where it was first more than a mark; its opening while it is none */
	struct incident incident;
};

struct series {
	char metric[NAME_MAX];
	char stream[NAME_MAX];
	struct detector_set *set;
	uint64_t ordinal;
	uint32_t paces; /* seen by compare_streams */
};

struct run {
	struct series series[SERIES_MAX];
	size_t series_count;
	struct said *said;
	size_t said_count;
	struct pace_watch *watch;
	struct rhythm rhythm; /* of the points of all series */
	size_t now; /* series that is fed */
	int64_t step;
};

static void die(const char *what, const char *about)
{
	fprintf(stderr, "bench_detect: %s: %s\n", what, about);
	exit(1);
}

static void take(void *context, enum incident_change change, const struct incident *incident)
{
	struct run *run = context;
	struct said *said = NULL;

	(void)change;
	for (size_t i = run->said_count; i-- > 0 && !said;)
		if (run->said[i].series == run->now && run->said[i].incident.kind == incident->kind &&
			run->said[i].incident.opened_ordinal == incident->opened_ordinal)
			said = &run->said[i];
	if (!said) {
		if (run->said_count == SAID_MAX)
			die("too many incidents", run->series[run->now].metric);
		said = &run->said[run->said_count++];
		*said = (struct said){.series = run->now, .paged_step = run->step};
	} else if (said->incident.severity == SEVERITY_INFO && incident->severity > SEVERITY_INFO) {
		said->paged_step = run->step;
	}
	said->incident = *incident;
}

static struct series *series_named(struct run *run, struct span metric, struct span stream)
{
	for (size_t i = 0; i < run->series_count; i++)
		if (span_equal(span_from(run->series[i].metric), metric) &&
			span_equal(span_from(run->series[i].stream), stream))
			return &run->series[i];
	if (run->series_count == SERIES_MAX || metric.len >= NAME_MAX || stream.len >= NAME_MAX)
		die("too many series, or too long a name", "curve");
	struct series *series = &run->series[run->series_count++];
	*series = (struct series){.set = detector_set_new(role_guess(metric))};
	memcpy(series->metric, metric.ptr, metric.len);
	memcpy(series->stream, stream.ptr, stream.len);
	return series;
}

static void take_straggler(void *context, const struct pace_finding *finding)
{
	struct run *run = context;
	const struct straggler *found = &finding->found;
	const struct pace *pace = &finding->pace;
	struct incident incident = {.kind = INCIDENT_STRAGGLER,
		.severity = SEVERITY_WARNING,
		.opened_ordinal = pace->ordinal,
		.opened_step = pace->step,
		.first_step = finding->first_step,
		.value = found->rate,
		.expected = found->usual,
		.score = found->score};

	run->now = finding->lane;
	if (finding->is_slow)
		take(run, INCIDENT_OPENED, &incident);
}

/* As the pipeline's stragglers.c. */
static void compare_streams(struct run *run, struct series *series, const struct point *point)
{
	struct pace pace = {
		.step = point->step, .ts_ms = point->ts_ms, .ordinal = series->ordinal, .attempt = point->attempt};
	uint32_t seen = detector_set_pace(series->set, &pace.rate, &pace.newest);

	if (seen == series->paces || !(pace.rate > 0))
		return;
	series->paces = seen;
	if (!pace_watch_add(run->watch, (size_t)(series - run->series), &pace))
		die("out of memory", series->metric);
	pace_watch_look(run->watch, take_straggler, run);
}

/* As the server does that looks all the time: it would have said so before this point came. */
static void look_for_stall(struct run *run, const struct series *series, const struct point *point)
{
	struct incident incident = {.kind = INCIDENT_STALL,
		.severity = SEVERITY_WARNING,
		.opened_ordinal = series->ordinal,
		.opened_step = point->step,
		.first_step = point->step};
	int64_t silence_ms = point->ts_ms - run->rhythm.last_ms;

	if (run->rhythm.gaps && silence_ms > rhythm_limit_ms(&run->rhythm, STALL_AFTER_MS))
		take(run, INCIDENT_OPENED, &incident);
	if (silence_ms > 0)
		rhythm_hear(&run->rhythm, point->ts_ms);
}

static double value_of(const struct json *node)
{
	double value = NAN;

	if (node && json_kind(node) == JSON_STRING)
		return span_equal(json_string_of(node), SPAN("Infinity"))    ? INFINITY
		       : span_equal(json_string_of(node), SPAN("-Infinity")) ? -INFINITY
									     : NAN;
	if (node && json_number_of(node, &value))
		return value;
	return NAN;
}

static void feed_line(struct run *run, struct span text)
{
	struct json *line = NULL;
	struct span metric = SPAN(""), stream = SPAN("");
	struct point point = {.attempt = 1};
	struct error err;

	if (json_parse(&line, text, &err) != OK || json_want_string(line, "metric", &metric, &err) != OK ||
		json_want_string(line, "stream", &stream, &err) != OK ||
		json_want_i64(line, "step", &point.step, &err) != OK ||
		json_want_i64(line, "ts_ms", &point.ts_ms, &err) != OK)
		die("a line is no point", err.text);
	int64_t attempt = 1;
	if (json_want_i64(line, "attempt", &attempt, &err) != OK)
		die("a line is no point", err.text);
	point.attempt = (uint32_t)attempt;
	point.value = value_of(json_get(line, "value"));
	struct series *series = series_named(run, metric, stream);
	run->now = (size_t)(series - run->series);
	run->step = point.step;
	point.line = series->ordinal;
	look_for_stall(run, series, &point);
	detector_set_feed(series->set, series->ordinal++, &point, take, run);
	compare_streams(run, series, &point);
	json_free(line);
}

static void print_said(const struct run *run, const char *curve)
{
	for (size_t i = 0; i < run->said_count; i++) {
		const struct said *said = &run->said[i];
		const struct incident *incident = &said->incident;
		printf("{\"curve\":\"%s\",\"kind\":\"%s\",\"metric\":\"%s\",\"stream\":\"%s\",\"step\":%lld,"
		       "\"paged_step\":%lld,\"severity\":\"%s\",\"first_step\":%lld,\"value\":\"%g\",\"expected\":\"%g\","
		       "\"score\":\"%g\",\"worst\":\"%g\"}\n",
			curve, incident_kind_name(incident->kind), run->series[said->series].metric,
			run->series[said->series].stream, (long long)incident->opened_step, (long long)said->paged_step,
			severity_name(incident->severity), (long long)incident->first_step, incident->value,
			incident->expected, incident->score, incident->worst);
	}
}

static void run_curve(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct run *run = calloc(1, sizeof *run);
	char curve[NAME_MAX], *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *file = fopen(path, "r");

	if (!file || !run || !(run->said = calloc(SAID_MAX, sizeof *run->said)) || !(run->watch = pace_watch_new()))
		die("cannot read", path);
	snprintf(curve, sizeof curve, "%.*s", (int)strcspn(name, "."), name);
	while ((len = getline(&line, &cap, file)) > 0)
		feed_line(run, span_of(line, (size_t)len));
	print_said(run, curve);
	for (size_t i = 0; i < run->series_count; i++)
		detector_set_free(run->series[i].set);
	pace_watch_free(run->watch);
	free(line);
	fclose(file);
	free(run->said);
	free(run);
}

static void ignore(void *context, enum incident_change change, const struct incident *incident)
{
	(void)change;
	(void)incident;
	++*(uint64_t *)context;
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* A falling curve with noise of one per cent: the sum of four uniform values is near enough. */
static void make_values(double *values, size_t count)
{
	uint64_t state = 1;

	for (size_t i = 0; i < count; i++) {
		double sum = -2;
		for (int k = 0; k < 4; k++) {
			state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			sum += (double)(state >> 11) / (double)(UINT64_C(1) << 53);
		}
		values[i] = (1.8 + 9.2 / pow(1 + (double)i / 60, 0.45)) * (1 + 0.017 * sum);
	}
}

static double feed_all(struct detector_set *set, const double *values, size_t count, uint64_t *said)
{
	double before = cpu_ns();

	for (size_t i = 0; i < count; i++) {
		struct point point = {.step = (int64_t)i, .ts_ms = 1000 * (int64_t)i, .value = values[i], .attempt = 1};
		detector_set_feed(set, i, &point, ignore, said);
	}
	return (cpu_ns() - before) / (double)count;
}

static void print_cost(enum role role, const double *values)
{
	double least = INFINITY;
	uint64_t said = 0;
	size_t hot_bytes = 0;
	AUTO_DONE(buf) packed = BUF_INIT(1 << 20);

	for (int run = 0; run < RUNS; run++) {
		size_t before_bytes = mallinfo2().uordblks;
		AUTO(detector_set) set = detector_set_new(role);
		if (!set)
			die("out of memory", role_name(role));
		double ns = feed_all(set, values, COST_POINTS, &said);
		least = ns < least ? ns : least;
		hot_bytes = mallinfo2().uordblks - before_bytes;
		buf_done(&packed);
		packed = BUF_INIT(1 << 20);
		detector_set_pack(set, &packed);
	}
	printf("{\"role\":\"%s\",\"ns\":%.1f,\"packed_bytes\":%zu,\"hot_bytes\":%zu,\"said\":%llu}\n", role_name(role),
		least, packed.len, hot_bytes, (unsigned long long)said);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "curves") == 0) {
		for (int i = 2; i < argc; i++)
			run_curve(argv[i]);
	} else if (argc == 2 && strcmp(argv[1], "cost") == 0) {
		double *values = calloc(COST_POINTS, sizeof *values);
		if (!values)
			die("out of memory", "values");
		make_values(values, COST_POINTS);
		for (unsigned role = 0; role < ROLE_COUNT; role++)
			print_cost((enum role)role, values);
		free(values);
	} else {
		die("curves FILE... | cost", "say which");
	}
	return 0;
}
