#include "pipeline/jobs/rank_jobs.h"

#include "base/clock.h"
#include "base/hash128.h"
#include "base/map.h"
#include "pipeline/jobs/ranking.h"
#include "read/charts/chart_query.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/job_facts.h"
#include "store/pack/chunk.h"

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

/* ---- one metric ---- */

struct rank {
	struct job_state *job;
	struct job_view view;
	struct chart_query query; /* all points that are not superseded */
	struct points_walk walk;
	struct point *points; /* room for a chunk */
	struct ranking *ranking;
	struct series_best best; /* of the series at work */
};

static uint64_t mark_of_starts(struct attempt_starts starts)
{
	struct hash128 hash = {0};

	hash128_add(&hash, span_of((const char *)starts.steps, starts.count * sizeof *starts.steps));
	return hash.low;
}

/* From what is kept of a series, or into its place. */
static void copy_best(
	struct rank *rank, const struct stream_view *view, const struct series_view *series, bool is_into_its_place)
{
	struct stream_state *stream = job_find_stream_id(rank->job, view->stream_id);

	if (!stream)
		return;
	pthread_mutex_lock(&stream->mutex);
	struct series_state *now = stream_find_series(stream, series->metric);
	bool is_same = now && now->series_id == series->series_id;
	if (is_same && is_into_its_place)
		now->best = rank->best;
	else if (is_same)
		rank->best = now->best;
	pthread_mutex_unlock(&stream->mutex);
}

static enum status see_sealed(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct series_best *best = &((struct rank *)context)->best;

	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	if (ranking_is_better(best->is_higher_better, point->value, best->value)) {
		best->value = point->value;
		best->step = point->step;
	}
	return OK;
}

static enum status see_end(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	(void)stream;
	(void)series;
	(void)x;
	return ranking_add_end(((struct rank *)context)->ranking, point->step, point->value, err);
}

static enum status make_room(struct rank *rank, struct arena *arena, struct error *err)
{
	if (rank->points)
		return OK;
	rank->points = arena_alloc(arena, CHUNK_MAX_POINTS * sizeof *rank->points);
	rank->walk.zstd = zstd_new();
	return rank->points && rank->walk.zstd ? OK : error_no_memory(err);
}

/* What is sealed is read once, and again when other attempts supersede other points: all of it each time, it would be read five times. */
static enum status see_series(struct rank *rank, const struct stream_view *stream, const struct series_view *series,
	struct arena *arena, struct error *err)
{
	struct attempt_starts starts = stream_view_starts(stream, series);
	struct series_best none = {
		.starts = mark_of_starts(starts), .is_higher_better = rank->ranking->is_higher_better, .value = NAN};
	struct series_view sealed = *series;

	rank->best = none;
	copy_best(rank, stream, series, false);
	if (!rank->best.points || rank->best.points > series->sealed_points || rank->best.starts != none.starts ||
		rank->best.is_higher_better != none.is_higher_better)
		rank->best = none;
	if (rank->best.points < series->sealed_points) {
		TRY(make_room(rank, arena, err));
		rank->walk.take = see_sealed;
		sealed.tail_count = 0;
		TRY(points_walk_series(&rank->walk, stream, &sealed, rank->best.points, rank->points, err));
		rank->best.points = series->sealed_points;
		copy_best(rank, stream, series, true);
	}
	ranking_add_best(rank->ranking, rank->best.step, rank->best.value);
	for (size_t i = 0; i < series->tail_count; i++)
		if (!point_is_superseded(&series->tail[i], starts))
			ranking_add_best(rank->ranking, series->tail[i].step, series->tail[i].value);
	return OK;
}

/* Of the points from this step on. */
static enum status see_ends(struct rank *rank, int64_t from, struct arena *arena, struct error *err)
{
	rank->query.from = from;
	rank->walk.take = see_end;
	rank->walk.skips = from > INT64_MIN;
	for (size_t i = 0; i < rank->view.stream_count; i++) {
		const struct series_view *series = &rank->view.streams[i].series[0];
		if (series->max_step < from && !series->tail_count)
			continue;
		if (series->sealed_points)
			TRY(make_room(rank, arena, err));
		TRY(points_walk_series(&rank->walk, &rank->view.streams[i], series, 0, rank->points, err));
	}
	return OK;
}

static enum status see_metric(struct rank *rank, struct arena *arena, struct error *err)
{
	for (size_t i = 0; i < rank->view.stream_count; i++)
		TRY(see_series(rank, &rank->view.streams[i], &rank->view.streams[i].series[0], arena, err));
	TRY(see_ends(rank, rank->ranking->window_step, arena, err));
	if (ranking_has_end(rank->ranking))
		return OK;
	ranking_forget_end(rank->ranking);
	return see_ends(rank, INT64_MIN, arena, err);
}

static enum status rank_metric(struct store_reader *reader, struct job_state *job, const struct members *members,
	const struct summary_row *row, struct ranking_row *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct rank rank = {.job = job};
	struct job_view *view = &rank.view;

	if (!arena)
		return error_no_memory(err);
	TRY(view_metric(members, arena, job, row->metric, view, err));
	bool is_higher = ranking_is_higher_better(higher_of(view, row->metric), row->role, row->metric);
	AUTO_DONE(ranking)
	ranking = ranking_begin(is_higher, row->summary.first_step, row->summary.last_step);
	rank.ranking = &ranking;
	rank.query = (struct chart_query){.metric = row->metric,
		.stream = SPAN(""),
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_LIVE};
	rank.walk = (struct points_walk){.reader = reader, .view = view, .query = &rank.query, .context = &rank};
	enum status status = see_metric(&rank, arena, err);
	zstd_free(rank.walk.zstd);
	TRY(status);
	*out = (struct ranking_row){.metric = row->metric,
		.mark = mark_of(&row->summary), /* what is_due compares: a point that came since makes it due again */
		.best = ranking.best.value,
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
		TRY(rank_metric(reader, job, &members, &rows[i], &made[out->count], err));
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
