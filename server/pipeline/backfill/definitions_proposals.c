/* Proposals of metric definitions: which lines are looked at, what is kept of what the job has, and the reply. */
#include "pipeline/backfill/definitions_proposals.h"

#include "extract/shapes/shapes.h"
#include "model/metrics/stream_name.h"
#include "pipeline/backfill/definitions.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "state/pipeline_state.h"
#include "state/streams/job_view.h"

struct proposing {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct job_view view;
	struct definitions_view definitions; /* as they are */
	struct span stream;
	struct span *lines;
	uint64_t *numbers; /* of the lines in their stream */
	size_t line_count;
	struct line_shape shapes[SHAPES_MAX];
	size_t shape_count;
	struct json_writer *w;
};

/* ---- the lines ---- */

static enum status read_edge(struct proposing *on, uint64_t from, uint64_t *total, struct error *err)
{
	struct line_view *lines;
	size_t count;

	TRY(lines_read(on->pipeline, on->reader, on->arena, on->view.row.name, on->stream, from, PROPOSALS_EDGE_LINES,
		PROPOSALS_EDGE_BYTES, &lines, &count, total, err));
	for (size_t i = 0; i < count; i++) {
		on->lines[on->line_count] = lines[i].text;
		on->numbers[on->line_count++] = lines[i].number;
	}
	return OK;
}

static enum status read_lines(struct proposing *on, struct error *err)
{
	uint64_t total, next;

	on->lines = arena_alloc(on->arena, 2 * PROPOSALS_EDGE_LINES * sizeof *on->lines);
	on->numbers = arena_alloc(on->arena, 2 * PROPOSALS_EDGE_LINES * sizeof *on->numbers);
	if (!on->lines || !on->numbers)
		return error_no_memory(err);
	TRY(read_edge(on, 0, &total, err));
	next = on->line_count ? on->numbers[on->line_count - 1] + 1 : 0;
	if (next >= total)
		return OK;
	uint64_t last = total > PROPOSALS_EDGE_LINES ? total - PROPOSALS_EDGE_LINES : 0;
	return read_edge(on, last > next ? last : next, &total, err);
}

/* The one that was asked for, else that of the training which has most lines; "": there is none. */
static void choose_stream(struct proposing *on, struct span asked)
{
	uint64_t most = 0;

	on->stream = asked;
	for (size_t i = 0; i < on->view.stream_count && !asked.len; i++) {
		const struct stream_view *stream = &on->view.streams[i];
		if (stream->lines <= most || !stream_is_log(stream->name))
			continue;
		most = stream->lines;
		on->stream = stream->name;
	}
}

/* ---- what the job has ---- */

static bool has_series(
	const struct job_view *view, bool (*is_wanted)(const struct series_view *, struct span), struct span name)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (!stream_is_system(view->streams[i].name) && is_wanted(&view->streams[i].series[j], name))
				return true;
	return false;
}

static bool is_any(const struct series_view *series, struct span name)
{
	(void)name;
	return series->summary.count > 0;
}

static bool is_loss(const struct series_view *series, struct span name)
{
	(void)name;
	return series->summary.count > 0 && (series->role == ROLE_LOSS || series->role == ROLE_EVAL_LOSS);
}

static bool is_named(const struct series_view *series, struct span name)
{
	return series->summary.count > 0 && metric_matches(series->metric, name);
}

static const char *what_is_missing(const struct proposing *on)
{
	if (!has_series(&on->view, is_any, SPAN("")))
		return "metrics";
	return has_series(&on->view, is_loss, SPAN("")) ? "" : "loss";
}

static bool is_running(const struct job_row *row)
{
	return !row->ended_ms;
}

/* ---- the definitions ---- */

static void write_definition(struct json_writer *w, const struct metric_definition *item)
{
	json_object(w);
	json_put_span(w, "Name", item->name);
	json_put_span(w, "Regex", item->regex);
	if (item->step_regex.len)
		json_put_span(w, "Step", item->step_regex);
	if (item->group.len)
		json_put_span(w, "Group", item->group);
	if (item->role != ROLE_OTHER)
		json_put_text(w, "Role", role_name(item->role));
	if (item->unit.len)
		json_put_span(w, "Unit", item->unit);
	if (item->higher)
		json_put_bool(w, "Higher", item->higher > 0);
	if (item->is_step_only)
		json_put_bool(w, "StepOnly", true);
	json_object_end(w);
}

/* A preset of which nothing came is given up; one that takes names out of the text cannot be a job's own, which would take any name. */
static bool is_kept(const struct proposing *on, const struct metric_definition *item)
{
	if (on->definitions.source == DEFINITIONS_JOB || on->definitions.source == DEFINITIONS_SERVER)
		return true;
	return item->regex.len && span_find(item->regex, SPAN("(?<name>")) < 0 && !item->is_step_only &&
	       has_series(&on->view, is_named, item->name);
}

/* What only says the step is of use to those that are kept. */
static bool any_kept(const struct proposing *on)
{
	bool any = false;

	for (size_t i = 0; i < on->definitions.count; i++)
		any |= is_kept(on, &on->definitions.items[i]);
	return any;
}

static bool has_definition(const struct metric_definition *items, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(items[i].name, name))
			return true;
	return false;
}

static void append(struct metric_definition *items, size_t *count, const struct metric_definition *item)
{
	if (*count < DEFINITIONS_MAX)
		items[(*count)++] = *item;
}

/* All that a PUT has to say: what is there stays, the shape's are added, and metrics that only guessing gave are read by what fits them. */
static void write_put(const struct proposing *on, const struct line_shape *shape)
{
	struct metric_definition items[DEFINITIONS_MAX];
	size_t count = 0, kept;
	bool keeps = any_kept(on);

	for (size_t i = 0; i < on->definitions.count; i++)
		if (is_kept(on, &on->definitions.items[i]) || (keeps && on->definitions.items[i].is_step_only))
			append(items, &count, &on->definitions.items[i]);
	kept = count;
	for (size_t i = 0; i < shape->metric_count; i++)
		if (!has_definition(items, kept, shape->metrics[i].definition.name))
			append(items, &count, &shape->metrics[i].definition);
	if (shape->heading.regex.len && !has_definition(items, count, shape->heading.name))
		append(items, &count, &shape->heading);
	for (size_t i = 0; i < on->shape_count; i++)
		for (size_t j = 0; j < on->shapes[i].metric_count; j++) {
			const struct metric_definition *item = &on->shapes[i].metrics[j].definition;
			if (has_series(&on->view, is_named, item->name) && !has_definition(items, count, item->name))
				append(items, &count, item);
		}
	json_key(on->w, "put");
	json_object(on->w);
	json_key(on->w, "definitions");
	json_array(on->w);
	for (size_t i = 0; i < count; i++)
		write_definition(on->w, &items[i]);
	json_array_end(on->w);
	json_object_end(on->w);
}

/* ---- the reply ---- */

/* As the trial of definitions has them, so that one drawing serves both. */
static void write_captures(struct json_writer *w, const struct line_shape *shape)
{
	json_key(w, "captures");
	json_array(w);
	for (size_t i = 0; i < shape->metric_count; i++) {
		const struct shape_metric *metric = &shape->metrics[i];
		json_object(w);
		json_put_i64(w, "definition", (int64_t)i);
		json_put_i64(w, "start", (int64_t)metric->start);
		json_put_i64(w, "end", (int64_t)metric->end);
		json_put_span(w, "text", span_of(shape->example.ptr + metric->start, metric->end - metric->start));
		json_put_double(w, "value", metric->value);
		if (shape->has_step) {
			json_put_i64(w, "step", shape->step);
			json_put_i64(w, "step_start", (int64_t)shape->step_start);
			json_put_i64(w, "step_end", (int64_t)shape->step_end);
		}
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_shape(const struct proposing *on, const struct line_shape *shape)
{
	json_object(on->w);
	json_put_i64(on->w, "count", (int64_t)shape->count);
	json_put_i64(on->w, "line", (int64_t)on->numbers[shape->line]);
	json_put_span(on->w, "text", shape->example);
	write_captures(on->w, shape);
	json_key(on->w, "definitions");
	json_array(on->w);
	for (size_t i = 0; i < shape->metric_count; i++)
		write_definition(on->w, &shape->metrics[i].definition);
	if (shape->heading.regex.len)
		write_definition(on->w, &shape->heading);
	json_array_end(on->w);
	write_put(on, shape);
	json_object_end(on->w);
}

/* Does it add anything to what the job has? */
static bool is_news(const struct proposing *on, const struct line_shape *shape)
{
	for (size_t i = 0; i < shape->metric_count; i++)
		if (!has_series(&on->view, is_named, shape->metrics[i].definition.name))
			return true;
	return false;
}

static void write_shapes(const struct proposing *on)
{
	size_t shown = 0;

	json_key(on->w, "shapes");
	json_array(on->w);
	for (size_t i = 0; i < on->shape_count && shown < PROPOSALS_SHOWN; i++) {
		if (!is_news(on, &on->shapes[i]))
			continue;
		write_shape(on, &on->shapes[i]);
		shown++;
	}
	json_array_end(on->w);
}

static uint64_t write_counts(const struct proposing *on)
{
	uint64_t lines = 0, extracted = 0;

	for (size_t i = 0; i < on->view.stream_count; i++)
		if (stream_is_log(on->view.streams[i].name)) {
			lines += on->view.streams[i].lines;
			extracted += on->view.streams[i].extracted_lines;
		}
	json_put_span(on->w, "job", on->view.row.name);
	json_put_span(on->w, "stream", on->stream);
	json_put_i64(on->w, "lines", (int64_t)lines);
	json_put_i64(on->w, "extracted_lines", (int64_t)extracted);
	return lines;
}

enum status pipeline_propose_definitions(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct json_writer *w, struct error *err)
{
	struct proposing on = {.pipeline = pipeline, .reader = reader, .arena = arena, .w = w};

	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &on.view, err));
	TRY(pipeline_view_definitions(pipeline, reader, arena, &on.view, &on.definitions, err));
	choose_stream(&on, stream);
	json_object(w);
	uint64_t lines = write_counts(&on);
	json_put_text(w, "missing", what_is_missing(&on));
	bool is_early = is_running(&on.view.row) && lines < PROPOSALS_LINES_LEAST;
	if (is_early)
		json_put_i64(w, "lines_needed", PROPOSALS_LINES_LEAST);
	if (on.stream.len && !is_early) {
		TRY(read_lines(&on, err));
		TRY(shapes_find(arena, on.lines, on.line_count, pipeline->options.match_steps, on.shapes,
			&on.shape_count, err));
	}
	json_put_i64(w, "lines_read", (int64_t)on.line_count);
	write_shapes(&on);
	json_object_end(w);
	return OK;
}
