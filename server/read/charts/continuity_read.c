/* One walk over each series serves all restarts: each point is looked at by those whose attempts it lies before, or began. */
#include "read/charts/continuity_read.h"

#include "model/jobs/restart_verdict.h"
#include "model/metrics/consumed.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/charts/rank_0.h"
#include "read/checkpoints.h"
#include "read/view.h"
#include "store/faults.h"
#include "store/run.h"

#include <string.h>

enum {
	CHECKPOINTS_MAX = 65536,
	JOBS_BEFORE_MAX = 16 /* the nearest ones that printed a loss: all of their points are read */
};

enum followed { LOSS, RATE, DATA, FOLLOWED_COUNT = CONTINUITY_FOLLOWED };

/* A job, and which of its series are followed. Its attempts count on from those of the ones before it. */
struct part {
	struct job_view view;
	const struct stream_view *stream; /* NULL: it has no loss */
	struct span metrics[FOLLOWED_COUNT];
	uint32_t earlier_attempts;
	size_t attempts;
};

struct walk {
	struct part *parts; /* the jobs that it goes on with, oldest first, and the job */
	size_t part_count;
	int64_t *starts; /* attempt i + 1 of all began at step starts[i] */
	size_t start_count;
	int64_t *began_ms; /* the first loss of attempt i + 1 by its log; INT64_MAX: none is known */
	int64_t *least_start; /* the least of starts[i] to starts[first] */
	size_t first; /* the attempt before the first restart that is looked at */
	struct continuity_series *series[FOLLOWED_COUNT]; /* one a restart */
	size_t restart_count;
};

/* ---- which series ---- */

/* That of most attempts, then rank 0's, then the longest. */
static const struct stream_view *find_stream(const struct job_view *view, struct span rank_0, struct span loss)
{
	const struct stream_view *best = NULL;
	const struct series_view *best_series = NULL;

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		const struct series_view *series = stream_view_find(stream, loss);
		if (!series || stream_is_system(stream->name))
			continue;
		bool is_rank_0 = span_equal(stream->name, rank_0), was_rank_0 = best && span_equal(best->name, rank_0);
		if (!best || stream->attempt > best->attempt ||
			(stream->attempt == best->attempt &&
				(is_rank_0 > was_rank_0 ||
					(is_rank_0 == was_rank_0 &&
						series->summary.count > best_series->summary.count)))) {
			best = stream;
			best_series = series;
		}
	}
	return best;
}

static struct span find_data(const struct stream_view *stream)
{
	for (size_t i = 0; i < stream->series_count; i++) {
		enum consumed what = consumed_of(stream->series[i].metric);
		if (what != CONSUMED_NOTHING && what != CONSUMED_TOKENS_MAYBE)
			return stream->series[i].metric;
	}
	return SPAN("");
}

static enum status read_part(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct part *out, struct error *err)
{
	struct rank_0 rank_0;

	*out = (struct part){.stream = NULL};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &out->view, err));
	TRY(rank_0_find(reader, arena, &out->view, &rank_0, err));
	TRY(main_series_find(reader, arena, &out->view, ROLE_LOSS, &out->metrics[LOSS], err));
	TRY(main_series_find(reader, arena, &out->view, ROLE_LEARNING_RATE, &out->metrics[RATE], err));
	out->stream = find_stream(&out->view, rank_0.stream, out->metrics[LOSS]);
	if (!out->stream)
		return OK;
	for (int i = LOSS; i <= RATE; i++) {
		const struct series_view *series = stream_view_find(out->stream, out->metrics[i]);
		out->metrics[i] = series ? series->metric : SPAN("");
	}
	out->metrics[DATA] = find_data(out->stream);
	out->attempts = out->stream->attempt_start_count ? out->stream->attempt_start_count : 1;
	return OK;
}

/* Whether what lies before the job that another one goes on with is that one's affair: where another team wrote it, nobody says so. A
 * fork is no restart: its run goes on without it. */
static bool may_follow(const struct run_link *links, size_t before, size_t at)
{
	return !links[before + 1].fork_from.len && (before + 1 == at || span_equal(links[before].team, links[at].team));
}

static int64_t first_step_of_loss(const struct part *part)
{
	return stream_view_find(part->stream, part->metrics[LOSS])->min_step;
}

/* Fine-tuning: what goes on with a job that is Completed from before its first step counts steps of its own. */
static bool counts_anew(const struct run_link *before, const struct part *part_before, const struct part *part)
{
	return span_equal(before->status, SPAN("Completed")) &&
	       first_step_of_loss(part) <= first_step_of_loss(part_before);
}

/* Of samples and tokens, those of the job alone are compared. */
static void count_attempts(struct walk *walk)
{
	const struct part *own = &walk->parts[walk->part_count - 1];
	uint32_t attempts = 0;

	for (size_t i = 0; i < walk->part_count; i++) {
		struct part *part = &walk->parts[i];
		part->earlier_attempts = attempts;
		attempts += (uint32_t)part->attempts;
		if (!span_equal(part->metrics[DATA], own->metrics[DATA]))
			part->metrics[DATA] = SPAN("");
	}
}

bool continuity_may_have_loss(struct pipeline *pipeline, const struct run_link *link)
{
	return link->has_series || view_has_live_points(pipeline, link->job);
}

/* A job before it that is not here, or died before it printed a loss, is nothing to compare with: the one before that is. */
static enum status read_parts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct walk *out, struct error *err)
{
	struct part *parts = arena_alloc(arena, (JOBS_BEFORE_MAX + 1) * sizeof *parts);
	struct run_link *links;
	size_t count, at, first = JOBS_BEFORE_MAX;

	if (!parts)
		return error_no_memory(err);
	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	TRY(read_part(pipeline, reader, arena, job, &parts[first], err));
	for (size_t i = at; parts[JOBS_BEFORE_MAX].stream && first && i-- > 0 && may_follow(links, i, at);) {
		if (!continuity_may_have_loss(pipeline, &links[i]))
			continue;
		enum status status = read_part(pipeline, reader, arena, links[i].job, &parts[first - 1], err);
		if (status == ERR_NOT_FOUND)
			break;
		TRY(status);
		if (!parts[first - 1].stream)
			continue;
		if (i + 1 < at && counts_anew(&links[i], &parts[first - 1], &parts[first]))
			break;
		first--;
	}
	out->parts = parts + first;
	out->part_count = JOBS_BEFORE_MAX + 1 - first;
	count_attempts(out);
	return OK;
}

/* ---- points ---- */

/*
 * Restart i began attempt first + i + 2, of all attempts from 1 on. What an attempt between the point's and a restart's made again is
 * nothing that this restart took the place of, nor any later one.
 */
static void take_point(
	const struct walk *walk, struct continuity_series *series, uint32_t attempt, const struct point *point)
{
	size_t next = attempt; /* the attempt behind the point's: its start is starts[attempt] */

	if (attempt <= walk->first) {
		if (walk->least_start[attempt] <= point->step)
			return;
		next = walk->first + 1;
	}
	for (size_t i = attempt > walk->first + 2 ? attempt - walk->first - 2 : 0; i < walk->restart_count; i++) {
		size_t began = walk->first + i + 2;
		if (attempt == began) {
			continuity_add_after(&series[i], point->step, point->value);
			continue;
		}
		for (; next + 1 < began; next++)
			if (walk->starts[next] <= point->step)
				return;
		continuity_add_before(&series[i], walk->starts[began - 1], point->step, point->value);
	}
}

static void take_time(const struct walk *walk, uint32_t attempt, int64_t ts_ms)
{
	if (attempt <= walk->start_count && ts_ms < walk->began_ms[attempt - 1])
		walk->began_ms[attempt - 1] = ts_ms;
}

struct series_walk {
	const struct walk *walk;
	const struct part *part;
	enum followed followed;
};

static enum status take_of_series(void *context, const struct point *point, struct error *err)
{
	const struct series_walk *of = context;
	uint32_t attempt = of->part->earlier_attempts + point->attempt;

	(void)err;
	take_point(of->walk, of->walk->series[of->followed], attempt, point);
	if (of->followed == LOSS)
		take_time(of->walk, attempt, point->ts_ms);
	return OK;
}

static enum status walk_series(struct pipeline *pipeline, struct store_reader *reader, const struct walk *walk,
	const struct part *part, enum followed followed, struct error *err)
{
	struct chart_query query = {.metric = part->metrics[followed],
		.stream = part->stream->name,
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	struct series_walk of = {walk, part, followed};

	return points_read_all(pipeline, reader, part->view.row.name, query.stream, &query, take_of_series, &of, err);
}

/* The first attempt of a job says nowhere where it began: at its first loss. */
static enum status first_step_of(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct part *part, int64_t *step, struct error *err)
{
	struct chart_query query = {.metric = part->metrics[LOSS],
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	struct points_batch batch;

	TRY(points_read(pipeline, reader, arena, part->view.row.name, part->stream->name, &query, 0, &batch, err));
	*step = batch.count ? batch.points[0].step : INT64_MIN;
	return OK;
}

static enum status find_starts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct walk *walk, struct error *err)
{
	for (size_t i = 0; i < walk->part_count; i++)
		walk->start_count += walk->parts[i].attempts;
	walk->starts = arena_alloc(arena, (walk->start_count + 1) * sizeof *walk->starts);
	walk->began_ms = arena_alloc(arena, (walk->start_count + 1) * sizeof *walk->began_ms);
	if (!walk->starts || !walk->began_ms)
		return error_no_memory(err);
	for (size_t i = 0; i < walk->start_count; i++)
		walk->began_ms[i] = INT64_MAX;
	for (size_t i = 0; i < walk->part_count; i++) {
		const struct part *part = &walk->parts[i];
		int64_t *starts = walk->starts + part->earlier_attempts;
		TRY(first_step_of(pipeline, reader, arena, part, &starts[0], err));
		for (size_t j = 1; j < part->attempts; j++)
			starts[j] = part->stream->attempt_starts[j];
	}
	return OK;
}

static enum status find_least_starts(struct arena *arena, struct walk *walk, struct error *err)
{
	walk->least_start = arena_alloc(arena, (walk->first + 1) * sizeof *walk->least_start);
	if (!walk->least_start)
		return error_no_memory(err);
	int64_t least = INT64_MAX;
	for (size_t i = walk->first + 1; i-- > 0;) {
		least = walk->starts[i] < least ? walk->starts[i] : least;
		walk->least_start[i] = least;
	}
	return OK;
}

static enum status walk_all(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct walk *walk, struct error *err)
{
	size_t bytes = walk->restart_count * sizeof *walk->series[0];

	for (int i = 0; i < FOLLOWED_COUNT; i++) {
		walk->series[i] = arena_alloc(arena, bytes + 1);
		if (!walk->series[i])
			return error_no_memory(err);
		memset(walk->series[i], 0, bytes);
		for (size_t j = 0; j < walk->part_count; j++)
			if (stream_view_find(walk->parts[j].stream, walk->parts[j].metrics[i]))
				TRY(walk_series(pipeline, reader, walk, &walk->parts[j], (enum followed)i, err));
	}
	return OK;
}

/* ---- checkpoints ---- */

/* Of an attempt before. Other streams may print no steps, so that all of theirs is of one attempt: their times tell. */
static bool is_before(
	const struct walk *walk, const struct part *part, const struct checkpoint_row *row, size_t attempt)
{
	return part->earlier_attempts + row->attempt < attempt &&
	       (span_equal(row->stream, part->stream->name) || row->ts_ms < walk->began_ms[attempt - 1]);
}

/* Whether of this job or of those that it goes on with. */
static enum status find_checkpoints(struct store_reader *reader, struct arena *arena, const struct walk *walk,
	struct continuity_report *out, struct error *err)
{
	uint32_t earlier = walk->parts[walk->part_count - 1].earlier_attempts;

	for (size_t i = 0; i < walk->part_count; i++) {
		const struct part *part = &walk->parts[i];
		struct checkpoint_row *rows;
		size_t count;
		TRY(checkpoints_read(
			reader, arena, part->view.row.job_id, INT64_MAX, CHECKPOINTS_MAX, &rows, &count, err));
		for (size_t j = 0; j < count; j++)
			for (size_t k = 0; k < out->count; k++) {
				struct continuity_restart *restart = &out->restarts[k];
				if (!is_before(walk, part, &rows[j], earlier + restart->attempt))
					continue;
				if (rows[j].step > restart->newest_checkpoint_step)
					restart->newest_checkpoint_step = rows[j].step;
				if (rows[j].step < restart->judged.first_step &&
					rows[j].step > restart->checkpoint_step)
					restart->checkpoint_step = rows[j].step;
			}
	}
	return OK;
}

static void find_from_steps(struct continuity_report *out)
{
	for (size_t i = 0; i < out->count; i++) {
		struct continuity_restart *restart = &out->restarts[i];
		int64_t first = restart->judged.first_step, stride = restart->judged.stride;
		restart->from_step = first > stride ? first - stride : 0;
		if (restart->checkpoint_step > restart->from_step)
			restart->from_step = restart->checkpoint_step;
	}
}

enum status continuity_settle(
	const struct json *document, struct continuity_restart *restart, struct arena *arena, struct error *err)
{
	static const enum continuity_verdict all[] = {
		CONTINUITY_CONTINUED, CONTINUITY_DIFFERS, CONTINUITY_NOT_PROVABLE};
	struct restart_verdict set;

	restart->verdict = restart->judged.verdict;
	restart->why_by_hand = restart->set_by = SPAN("");
	restart_verdict_find(document, restart->attempt, restart->judged.first_step, &set);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (span_equal(set.verdict, span_from(continuity_verdict_name(all[i])))) {
			restart->is_by_hand = true;
			restart->verdict = all[i];
		}
	if (!restart->is_by_hand)
		return OK;
	restart->why_by_hand = arena_copy(arena, set.why);
	restart->set_by = arena_copy(arena, set.by);
	return restart->why_by_hand.ptr && restart->set_by.ptr ? OK : error_no_memory(err);
}

/* The restarts of the walk in turn, those of the jobs before among them. */
struct judging {
	const struct walk *walk;
	struct continuity_restart *restarts;
	size_t *bad; /* places of those that differ and whose steps nothing took the place of since; each began behind the one before */
	size_t bad_count;
};

static int64_t start_of(const struct walk *walk, size_t at)
{
	return walk->starts[walk->first + at + 1];
}

static const struct part *part_of(const struct walk *walk, size_t attempt)
{
	const struct part *part = &walk->parts[walk->part_count - 1];

	while (part > walk->parts && part->earlier_attempts >= attempt)
		part--;
	return part;
}

static void name_before(const struct judging *j, size_t at, size_t bad)
{
	const struct part *part = part_of(j->walk, j->walk->first + bad + 2);
	struct continuity_restart *restart = &j->restarts[at];

	restart->before_attempt = j->restarts[bad].attempt;
	if (part != part_of(j->walk, j->walk->first + at + 2))
		restart->before_job = part->view.row.name;
}

static int64_t began_ms(const struct walk *walk, size_t at)
{
	return walk->began_ms[walk->first + at + 1];
}

/* Of what differed, what began at this one's first step or behind it is as if it had not been. */
static void leave_bad_out(struct judging *j, size_t at)
{
	const struct walk *walk = j->walk;
	size_t bad = at;

	while (j->bad_count && start_of(walk, at) <= start_of(walk, j->bad[j->bad_count - 1])) {
		bool is_newest = bad == at;
		bad = j->bad[--j->bad_count];
		if (is_newest)
			name_before(j, at, bad);
		j->restarts[at].undone_from_ms = began_ms(walk, bad);
	}
	for (int k = 0; k < FOLLOWED_COUNT && bad != at; k++)
		continuity_put_before(&walk->series[k][at], &walk->series[k][bad], start_of(walk, bad));
}

/* Of those that differed and began in front of it, the newest one before which it was as behind this one. */
static void find_taken_back(struct judging *j, size_t at)
{
	const struct continuity_series *now[FOLLOWED_COUNT], *bad[FOLLOWED_COUNT];

	for (size_t i = j->bad_count; i-- > 0;) {
		for (int k = 0; k < FOLLOWED_COUNT; k++) {
			now[k] = &j->walk->series[k][at];
			bad[k] = &j->walk->series[k][j->bad[i]];
		}
		if (!continuity_takes_back(bad, now, &j->restarts[at].judged))
			continue;
		name_before(j, at, j->bad[i]);
		j->restarts[at].undone_from_ms = began_ms(j->walk, j->bad[i]);
		j->bad_count = i;
		return;
	}
}

static enum status judge_one(
	struct judging *j, size_t at, const struct json *document, struct arena *arena, struct error *err)
{
	const struct walk *walk = j->walk;
	struct continuity_restart *restart = &j->restarts[at];

	if (walk->series[LOSS][at].after.count)
		leave_bad_out(j, at);
	continuity_judge(&walk->series[LOSS][at], &walk->series[RATE][at], &walk->series[DATA][at], &restart->judged);
	if (restart->judged.verdict == CONTINUITY_DIFFERS)
		find_taken_back(j, at);
	restart->takes_back = restart->before_attempt && restart->judged.verdict == CONTINUITY_CONTINUED;
	restart->began_ms = began_ms(walk, at);
	TRY(continuity_settle(document, restart, arena, err));
	if (restart->verdict == CONTINUITY_DIFFERS)
		j->bad[j->bad_count++] = at;
	return OK;
}

static enum status judge_part(struct judging *j, const struct part *part, struct arena *arena, struct error *err)
{
	const struct walk *walk = j->walk;
	size_t end = part->earlier_attempts + part->attempts;
	AUTO(json) document = NULL;

	if (end < walk->first + 2)
		return OK;
	TRY(json_parse(&document, part->view.row.document, err));
	for (size_t i = part->earlier_attempts > walk->first ? part->earlier_attempts - walk->first - 1 : 0;
		walk->first + i + 2 <= end; i++) {
		j->restarts[i] =
			(struct continuity_restart){.attempt = (uint32_t)(walk->first + i + 2) - part->earlier_attempts,
				.continues = SPAN(""),
				.before_job = SPAN(""),
				.checkpoint_step = -1,
				.newest_checkpoint_step = -1};
		if (j->restarts[i].attempt == 1)
			j->restarts[i].continues = part[-1].view.row.name;
		TRY(judge_one(j, i, document, arena, err));
	}
	return OK;
}

/* Those of the job itself are the newest `own_count`. */
static enum status judge(const struct walk *walk, size_t own_count, struct arena *arena, struct continuity_report *out,
	struct error *err)
{
	struct judging j = {.walk = walk,
		.restarts = arena_alloc(arena, (walk->restart_count + 1) * sizeof *j.restarts),
		.bad = arena_alloc(arena, (walk->restart_count + 1) * sizeof *j.bad)};

	if (!j.restarts || !j.bad)
		return error_no_memory(err);
	for (size_t i = 0; i < walk->part_count; i++)
		TRY(judge_part(&j, &walk->parts[i], arena, err));
	out->restarts = j.restarts + walk->restart_count - own_count;
	for (size_t i = 0; i < own_count; i++)
		if (out->restarts[i].judged.first_step != INT64_MIN)
			out->restarts[out->count++] = out->restarts[i];
		else
			out->pending++;
	return OK;
}

/* All that there are, the newest `limit`; of these the report has the newest `own_count`. */
static enum status judge_all(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct walk *walk, size_t limit, size_t own_count, struct continuity_report *out, struct error *err)
{
	TRY(find_starts(pipeline, reader, arena, walk, err));
	walk->restart_count = walk->start_count - 1 < limit ? walk->start_count - 1 : limit;
	walk->first = walk->start_count - walk->restart_count - 1;
	TRY(find_least_starts(arena, walk, err));
	TRY(walk_all(pipeline, reader, arena, walk, err));
	return judge(walk, own_count < walk->restart_count ? own_count : walk->restart_count, arena, out, err);
}

enum status continuity_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, size_t limit, struct continuity_report *out, struct error *err)
{
	struct walk walk = {.part_count = 0};

	*out = (struct continuity_report){.metric = SPAN("")};
	TRY(read_parts(pipeline, reader, arena, job, &walk, err));
	const struct part *own = &walk.parts[walk.part_count - 1];
	if (!own->stream)
		return OK;
	out->metric = own->metrics[LOSS];
	out->stream = own->stream->name;
	out->rate_metric = own->metrics[RATE];
	out->data_metric = own->metrics[DATA];
	size_t all = own->attempts - (walk.part_count == 1), own_count = all < limit ? all : limit;
	out->left_out = all - own_count;
	if (!own_count)
		return OK; /* nothing is to be looked for in its points */
	TRY(judge_all(pipeline, reader, arena, &walk, limit, own_count, out, err));
	TRY(find_checkpoints(reader, arena, &walk, out, err));
	find_from_steps(out);
	return OK;
}

enum status continuity_read_undone(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct undone **out, size_t *count, bool *has_loss, struct error *err)
{
	struct continuity_report report = {.metric = SPAN("")};
	struct walk walk = {.part_count = 0};
	size_t attempts = 0;

	*count = 0;
	*out = arena_alloc(arena, CONTINUITY_RESTARTS_MAX * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	TRY(read_parts(pipeline, reader, arena, job, &walk, err));
	*has_loss = walk.parts[walk.part_count - 1].stream != NULL;
	for (size_t i = 0; i < walk.part_count; i++)
		attempts += walk.parts[i].attempts;
	if (!*has_loss || attempts < 3) /* a first one, one that differs, and one that takes it back */
		return OK;
	TRY(judge_all(pipeline, reader, arena, &walk, CONTINUITY_RESTARTS_MAX, CONTINUITY_RESTARTS_MAX, &report, err));
	for (size_t i = 0; i < report.count; i++)
		if (report.restarts[i].takes_back)
			(*out)[(*count)++] =
				(struct undone){report.restarts[i].undone_from_ms, report.restarts[i].began_ms};
	return OK;
}

/* ---- of a time ---- */

struct around {
	int64_t ms, first_step;
	struct continuity_series *series;
};

static enum status take_around(void *context, const struct point *point, struct error *err)
{
	const struct around *around = context;

	(void)err;
	if (point->ts_ms < around->ms)
		continuity_add_before(around->series, around->first_step, point->step, point->value);
	else
		continuity_add_after(around->series, point->step, point->value);
	return OK;
}

enum status continuity_read_at(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, uint32_t attempt, int64_t to_ms, int64_t first_step, struct continuity *out, struct error *err)
{
	struct continuity_series *series = arena_alloc(arena, FOLLOWED_COUNT * sizeof *series);
	struct part part;

	if (!series)
		return error_no_memory(err);
	memset(series, 0, FOLLOWED_COUNT * sizeof *series);
	TRY(read_part(pipeline, reader, arena, job, &part, err));
	for (int i = 0; part.stream && i < FOLLOWED_COUNT; i++) {
		struct around around = {to_ms, first_step, &series[i]};
		struct chart_query query = {.metric = part.metrics[i],
			.axis = AXIS_STEP,
			.from = INT64_MIN,
			.to = INT64_MAX,
			.attempts = (int)attempt};
		if (stream_view_find(part.stream, part.metrics[i]))
			TRY(points_read_all(
				pipeline, reader, job, part.stream->name, &query, take_around, &around, err));
	}
	continuity_judge(&series[LOSS], &series[RATE], &series[DATA], out);
	return OK;
}
