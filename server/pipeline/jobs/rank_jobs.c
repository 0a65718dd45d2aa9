#include "pipeline/jobs/rank_jobs.h"

#include "base/clock.h"
#include "base/hash128.h"
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

static enum status rank_metric(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	const struct summary_row *row, struct ranking_row *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct chart_query query = {
		.metric = row->metric, .from = INT64_MIN, .to = INT64_MAX, .attempts = ATTEMPTS_LIVE};
	struct job_view view;

	if (!arena)
		return error_no_memory(err);
	query.stream = SPAN("");
	TRY(view_read_job(pipeline, reader, arena, span_from(job->name), SPAN(""), row->metric,
		VIEW_SERIES | VIEW_TAILS, &view, err));
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

/* 0: it was never ranked. */
static uint64_t mark_in(const struct ranking_row *ranked, size_t count, struct span metric)
{
	const struct ranking_row *row = count ? bsearch(&metric, ranked, count, sizeof *ranked, by_metric) : NULL;

	return row ? row->mark : 0;
}

/* Those whose points have changed since they were ranked. What is left when the time is up is the next flush's. */
static enum status rank_metrics(struct pipeline *pipeline, struct store_reader *reader, const struct summary_row *rows,
	size_t count, bool has_ended, int64_t until_ms, struct arena *arena, struct put *out, struct error *err)
{
	struct ranking_row *ranked, *made = arena_alloc(arena, (count + 1) * sizeof *made);
	struct job_state *job = out->job;
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
		TRY(rank_metric(pipeline, reader, job, &rows[i], &made[out->count], err));
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
