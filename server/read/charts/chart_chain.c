/*
 * A metric over the jobs of a run as one series: from where a later job begins on, the steps of those before it are superseded, as
 * those of an older attempt are.
 */
#include "read/charts/chart_chain.h"

#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/charts/main_series.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/run.h"

struct piece {
	struct span job;
	struct chart_query query;
	int64_t first_step, last_step; /* of what is there */
	bool is_there;
};

static bool has_metric(const struct stream_view *stream, const struct series_view *series, struct span metric)
{
	return series->sealed_points + series->tail_count && stream_view_means(stream, series, metric);
}

static void find_steps(const struct job_view *view, struct piece *piece)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (!has_metric(&view->streams[i], series, piece->query.metric))
				continue;
			if (!piece->is_there || series->min_step < piece->first_step)
				piece->first_step = series->min_step;
			if (!piece->is_there || series->max_step > piece->last_step)
				piece->last_step = series->max_step;
			piece->is_there = true;
		}
}

/* A job without the metric or the stream is a gap in the chain, not a mistake: but not the one that is asked for. */
static enum status find_piece(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct run_link *link, bool is_asked, const struct chart_query *asked, struct piece *out,
	struct error *err)
{
	struct job_view view;

	*out = (struct piece){.job = link->job, .query = *asked};
	enum status status = view_read_job(
		pipeline, reader, arena, link->job, asked->stream, asked->metric, VIEW_SERIES | VIEW_TAILS, &view, err);
	if (status == OK)
		status = main_series_resolve(reader, arena, &view, asked, &out->query.metric, err);
	if (status == OK)
		find_steps(&view, out);
	return status == ERR_NOT_FOUND && !is_asked ? OK : status;
}

/* What comes behind the job that is asked for, without its forks and what goes on with those: it has steps of its own there. */
static size_t leave_forks_out(struct run_link *links, size_t count, size_t at)
{
	size_t kept = at + 1;

	for (size_t i = at + 1; i < count; i++) {
		bool goes_on = false;
		for (size_t j = at; j < kept && !links[i].fork_from.len; j++)
			goes_on |= span_equal(links[j].job, links[i].continues);
		if (goes_on)
			links[kept++] = links[i];
	}
	return kept;
}

/* Each up to where a later one begins; what is asked for in buckets goes to them by their steps. */
static void share(struct piece *pieces, size_t count, const struct chart_query *asked)
{
	int64_t end = asked->to;
	double steps = 0;

	for (size_t i = count; i-- > 0;) {
		struct piece *piece = &pieces[i];
		if (!piece->is_there)
			continue;
		piece->query.to = end;
		int64_t from = piece->first_step > asked->from ? piece->first_step : asked->from;
		int64_t last = piece->last_step < end ? piece->last_step : end;
		piece->is_there = from <= last;
		piece->query.from = from;
		piece->query.to = last;
		steps += piece->is_there ? (double)last - (double)from + 1 : 0;
		if (piece->first_step > INT64_MIN && piece->first_step - 1 < end)
			end = piece->first_step - 1;
	}
	for (size_t i = 0; i < count; i++) {
		struct chart_query *query = &pieces[i].query;
		double share = pieces[i].is_there ? ((double)query->to - (double)query->from + 1) / steps : 0;
		query->buckets = 1 + (size_t)(share * (double)(asked->buckets - 1));
	}
}

static enum status grow_view(struct arena *arena, struct chart *out, const struct chart *one, struct error *err)
{
	size_t count = out->view.stream_count + one->view.stream_count;
	struct stream_view *streams = arena_alloc(arena, (count + 1) * sizeof *streams);

	if (!streams)
		return error_no_memory(err);
	if (out->view.stream_count)
		memcpy(streams, out->view.streams, out->view.stream_count * sizeof *streams);
	if (one->view.stream_count)
		memcpy(streams + out->view.stream_count, one->view.streams, one->view.stream_count * sizeof *streams);
	out->view.streams = streams;
	out->view.stream_count = count;
	return OK;
}

static enum status append(struct arena *arena, struct chart *out, const struct chart *one, struct error *err)
{
	uint32_t offset = (uint32_t)out->view.stream_count;
	struct bucket *buckets = arena_alloc(arena, (out->count + one->count + 1) * sizeof *buckets);

	if (!buckets)
		return error_no_memory(err);
	out->unit = out->count ? out->unit : one->unit;
	/* one job of a chain may print a step's time in s, the next one in ms */
	int factor = time_unit_factor(one->unit, out->unit);
	if (out->count)
		memcpy(buckets, out->buckets, out->count * sizeof *buckets);
	for (size_t i = 0; i < one->count; i++) {
		struct bucket *bucket = &buckets[out->count + i];
		*bucket = one->buckets[i];
		bucket_convert(bucket, factor);
		bucket->min_stream += offset;
		bucket->max_stream += offset;
		bucket->first_stream += offset;
		bucket->last_stream += offset;
	}
	TRY(grow_view(arena, out, one, err));
	out->buckets = buckets;
	out->count += one->count;
	out->total_points += one->total_points;
	out->bucket_width = one->bucket_width > out->bucket_width ? one->bucket_width : out->bucket_width;
	out->view.seq = one->view.seq;
	out->metric = one->metric;
	return OK;
}

static enum status draw_all(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct piece *pieces, size_t count, struct chart *out, struct error *err)
{
	struct chart one;

	for (size_t i = 0; i < count; i++) {
		if (!pieces[i].is_there)
			continue;
		TRY(chart_read(pipeline, reader, arena, pieces[i].job, &pieces[i].query, &one, err));
		TRY(append(arena, out, &one, err));
		out->links[out->link_count++] = (struct chart_link){pieces[i].job, pieces[i].first_step, one.count};
	}
	return OK;
}

static enum status read_links(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct run_link *links, size_t count, size_t at, const struct chart_query *asked, struct chart *out,
	struct error *err)
{
	struct piece *pieces = arena_alloc(arena, count * sizeof *pieces);

	*out = (struct chart){
		.bucket_width = 1, .unit = SPAN(""), .links = arena_alloc(arena, count * sizeof *out->links)};
	if (!pieces || !out->links)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		TRY(find_piece(pipeline, reader, arena, &links[i], i == at, asked, &pieces[i], err));
	share(pieces, count, asked);
	return draw_all(pipeline, reader, arena, pieces, count, out, err);
}

enum status chart_read_chain(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *asked, struct chart *out, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	count = leave_forks_out(links, count, at);
	if (count > CHAIN_JOBS_MAX)
		return error_set_field(err, ERR_SEMANTIC, "chain",
			"the run of job '%.*s' has %zu jobs; at most %d are drawn", SPAN_ARGS(job), count,
			CHAIN_JOBS_MAX);
	return read_links(pipeline, reader, arena, links, count, at, asked, out, err);
}

enum status chart_read_chain_so_far(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *asked, struct chart *out, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	size_t left_out = at < CHAIN_JOBS_MAX ? 0 : at + 1 - CHAIN_JOBS_MAX;
	return read_links(pipeline, reader, arena, links + left_out, at + 1 - left_out, at - left_out, asked, out, err);
}
