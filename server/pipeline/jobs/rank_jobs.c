#include "pipeline/jobs/rank_jobs.h"

#include "base/clock.h"
#include "base/hash128.h"
#include "base/map.h"
#include "pipeline/jobs/ranking.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/view.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/job_facts.h"

#include <stdlib.h>

/* Read again at each flush up to here; beyond, when a quarter has come since, so that a point is read a few times in all. */
enum { SMALL_POINTS = 20000, COUNT_BITS = 40, MARK_BITS = 63 };

static uint64_t count_in(uint64_t mark)
{
	return mark & ((1ULL << COUNT_BITS) - 1);
}

/* Of which points: their count, and above it some bits of what they sum up to. A restart may make as many again as it supersedes. */
static uint64_t mark_of(const struct summary *summary)
{
	struct hash128 hash = {0};

	hash128_add(&hash, span_of((const char *)summary, sizeof *summary));
	return count_in(summary->count) | (hash.low >> (64 - (MARK_BITS - COUNT_BITS))) << COUNT_BITS;
}

static bool is_due(uint64_t ranked_mark, uint64_t mark, bool has_ended)
{
	uint64_t ranked = count_in(ranked_mark), now = count_in(mark);

	if (ranked_mark == mark)
		return false;
	return has_ended || now < ranked || now <= SMALL_POINTS || now >= ranked + ranked / 4;
}

struct walk {
	struct ranking *ranking;
	struct span metric;
};

static enum status add_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct walk *walk = context;

	(void)stream;
	(void)x;
	/* A name without labels is asked for, and found, with them, too. */
	return span_equal(series->metric, walk->metric) ? ranking_add(walk->ranking, point->step, point->value, err)
							: OK;
}

static int higher_of(const struct job_view *view, struct span metric)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (span_equal(view->streams[i].series[j].metric, metric) && view->streams[i].series[j].higher)
				return view->streams[i].series[j].higher;
	return 0;
}

/* Which series of the job are of which metric, so that a metric costs what its own series do, however many others there are. */
struct members {
	struct job_view view; /* without tails, which of ten thousand metrics at once would be too much */
	struct map *first; /* metric -> the first of `places` + 1 */
	struct place {
		uint32_t stream, series; /* in the view */
		size_t next; /* of the same metric, + 1; 0: none */
	} * places;
};

static void members_done(struct members *members)
{
	map_free(members->first);
}
AUTO_DONE_TYPE(members)

static enum status find_members(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct members *out, struct error *err)
{
	struct job_view *view = &out->view;
	size_t count = 0;

	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, view, err));
	for (size_t i = 0; i < view->stream_count; i++)
		count += view->streams[i].series_count;
	out->places = arena_alloc(arena, (count + 1) * sizeof *out->places);
	out->first = map_new();
	if (!out->places || !out->first)
		return error_no_memory(err);
	for (size_t i = view->stream_count; i-- > 0;) /* so that they are found in the order of the streams */
		for (size_t j = view->streams[i].series_count; j-- > 0;) {
			struct span metric = view->streams[i].series[j].metric;
			uintptr_t next = (uintptr_t)map_get(out->first, metric);
			out->places[--count] = (struct place){(uint32_t)i, (uint32_t)j, next};
			if (!map_put(out->first, metric, (void *)(uintptr_t)(count + 1)))
				return error_no_memory(err);
		}
	return OK;
}

/* A view of the metric's series alone, with their tails as they are now. */
static enum status view_metric(const struct members *members, struct arena *arena, struct job_state *job,
	struct span metric, struct job_view *out, struct error *err)
{
	size_t count = 0;

	for (uintptr_t at = (uintptr_t)map_get(members->first, metric); at; at = members->places[at - 1].next)
		count++;
	*out = members->view;
	out->streams = arena_alloc(arena, (count + 1) * sizeof *out->streams);
	struct series_view *series = arena_alloc(arena, (count + 1) * sizeof *series);
	if (!out->streams || !series)
		return error_no_memory(err);
	out->stream_count = 0;
	for (uintptr_t at = (uintptr_t)map_get(members->first, metric); at;
		at = members->places[at - 1].next, series++) {
		const struct place *place = &members->places[at - 1];
		struct stream_view *stream = &out->streams[out->stream_count++];
		*stream = members->view.streams[place->stream];
		*series = stream->series[place->series];
		stream->series = series;
		stream->series_count = 1;
		TRY(view_read_tail(arena, job, stream->stream_id, series, err));
	}
	return OK;
}

static enum status rank_metric(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	const struct members *members, const struct summary_row *row, struct ranking_row *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct chart_query query = {.metric = row->metric,
		.stream = SPAN(""),
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};
	struct job_view view;

	if (!arena)
		return error_no_memory(err);
	TRY(view_metric(members, arena, job, row->metric, &view, err));
	bool is_higher = ranking_is_higher_better(higher_of(&view, row->metric), row->role, row->metric);
	AUTO_DONE(ranking)
	ranking = ranking_begin(is_higher, row->summary.first_step, row->summary.last_step);
	struct walk walk = {&ranking, row->metric};
	TRY(chart_each_point(pipeline, reader, arena, &view, &query, add_point, &walk, err));
	*out = (struct ranking_row){.metric = row->metric,
		.mark = mark_of(&row->summary), /* what is_due compares: a point that came since makes it due again */
		.best = ranking.has_best ? ranking.best.value : NAN,
		.best_step = ranking.best.step,
		.final = ranking_final(&ranking)};
	return OK;
}

struct put {
	struct pipeline *pipeline;
	struct job_state *job;
	const struct ranking_row *rows;
	size_t count;
};

static enum status write_rankings(void *context, struct store_tx *tx, struct error *err)
{
	const struct put *put = context;
	bool is_gone;

	TRY(control_check_job_gone(put->pipeline, tx, put->job, &is_gone, err));
	for (size_t i = 0; i < put->count && !is_gone; i++)
		TRY(store_put_ranking(tx, put->job->job_id, &put->rows[i], err));
	return OK;
}

static int by_metric(const void *metric, const void *row)
{
	return span_compare(*(const struct span *)metric, ((const struct ranking_row *)row)->metric);
}

const struct ranking_row *ranking_row_find(const struct ranking_row *rows, size_t count, struct span metric)
{
	return count ? bsearch(&metric, rows, count, sizeof *rows, by_metric) : NULL;
}

/* 0: it was never ranked. */
static uint64_t mark_in(const struct ranking_row *ranked, size_t count, struct span metric)
{
	const struct ranking_row *row = ranking_row_find(ranked, count, metric);

	return row ? row->mark : 0;
}

/* Those whose points have changed since they were ranked. What is left when the time is up is the next flush's. */
static enum status rank_metrics(struct pipeline *pipeline, struct store_reader *reader, const struct summary_row *rows,
	size_t count, bool has_ended, int64_t until_ms, struct arena *arena, struct put *out, struct error *err)
{
	struct ranking_row *ranked, *made = arena_alloc(arena, (count + 1) * sizeof *made);
	struct job_state *job = out->job;
	AUTO_DONE(members) members = {.first = NULL};
	size_t ranked_count;

	if (!made)
		return error_no_memory(err);
	TRY(store_read_rankings(reader, arena, job->job_id, &ranked, &ranked_count, err));
	out->rows = made;
	for (size_t i = 0; i < count && !atomic_load(&job->is_deleted); i++) {
		uint64_t mark = mark_in(ranked, ranked_count, rows[i].metric);
		if (!is_due(mark, mark_of(&rows[i].summary), has_ended))
			continue;
		if (clock_mono_ms() > until_ms) {
			atomic_store(&job->is_summary_dirty, true);
			return OK;
		}
		if (!members.first)
			TRY(find_members(pipeline, reader, arena, span_from(job->name), &members, err));
		TRY(rank_metric(pipeline, reader, job, &members, &rows[i], &made[out->count], err));
		out->count++;
	}
	return OK;
}

enum status rank_job(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	const struct summary_row *rows, size_t count, bool has_ended, int64_t until_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct put put = {.pipeline = pipeline, .job = job};

	if (!arena)
		return error_no_memory(err);
	enum status status = rank_metrics(pipeline, reader, rows, count, has_ended, until_ms, arena, &put, err);
	/* Also those before one that cannot be read. In one transaction: with a commit each, 900 metrics wait longer than they work. */
	enum status written =
		put.count ? writer_execute(pipeline, write_rankings, &put, status == OK ? err : NULL) : OK;
	if (control_may_pass(written)) /* an ended job has no next point that would rank it */
		atomic_store(&job->is_summary_dirty, true);
	return status != OK ? status : written;
}
