/*
 * LogQL's expressions: how many lines, or bytes of them, are in a window before each time. A line adds one from the first time that is not
 * before it, and takes it away at the first for which it is too old: whatever the window, a line costs the same. Blocks all of whose lines
 * count at the same times are not read, where every line counts.
 */
#include "prometheus/loki_streams.h"

#include <stdlib.h>

enum { SECOND_MS = 1000, STEPS_DEFAULT = 250 };

struct counted {
	uint32_t stream_id;
	double *values; /* of its row: changes until they are added up */
};

struct counting {
	struct eval *eval;
	const struct promql_node *node;
	enum promql_id id;
	struct prom_rows *rows;
	struct loki_asked asked;
	struct counted *streams; /* of the job at hand, by number */
	size_t count;
};

/* The first time that is not before it; `steps`: there is none. */
static size_t step_from(const struct counting *counting, int64_t ts_ms)
{
	const struct eval *eval = counting->eval;
	int64_t behind_ms = ts_ms + counting->node->offset_ms - eval->start_ms;

	if (behind_ms <= 0)
		return 0;
	if (eval->steps == 1 || behind_ms > eval->step_ms * (int64_t)(eval->steps - 1))
		return eval->steps;
	return (size_t)((behind_ms + eval->step_ms - 1) / eval->step_ms);
}

static int compare_counted(const void *id, const void *counted)
{
	uint32_t left = *(const uint32_t *)id, right = ((const struct counted *)counted)->stream_id;

	return (left > right) - (left < right);
}

static void add(struct counting *counting, uint32_t stream_id, int64_t ts_ms, double amount)
{
	size_t first = step_from(counting, ts_ms), end = step_from(counting, ts_ms + counting->node->range_ms);
	const struct counted *found =
		bsearch(&stream_id, counting->streams, counting->count, sizeof *found, compare_counted);

	if (!found || first == counting->eval->steps)
		return;
	found->values[first] += amount;
	if (end < counting->eval->steps)
		found->values[end] -= amount;
}

static void begin(void *context)
{
	struct counting *counting = context;

	for (size_t i = 0; i < counting->count; i++)
		memset(counting->streams[i].values, 0, counting->eval->steps * sizeof(double));
}

static bool counts_bytes(const struct counting *counting)
{
	return counting->id == FN_BYTES_OVER_TIME || counting->id == FN_BYTES_RATE;
}

static void take_line(void *context, uint32_t stream_id, uint64_t number, const struct line *line)
{
	struct counting *counting = context;

	(void)number;
	add(counting, stream_id, line->ts_ms, counts_bytes(counting) ? (double)line->text.len : 1);
}

static bool take_block(void *context, uint32_t stream_id, int64_t first_ms, int64_t last_ms, uint64_t lines)
{
	struct counting *counting = context;
	int64_t range_ms = counting->node->range_ms;

	if (step_from(counting, first_ms) != step_from(counting, last_ms) ||
		step_from(counting, first_ms + range_ms) != step_from(counting, last_ms + range_ms))
		return false;
	add(counting, stream_id, first_ms, (double)lines);
	return true;
}

static enum status search_job(struct counting *counting, struct arena *arena, struct span job,
	const struct log_search_stream *streams, struct error *err)
{
	const struct loki_asked *asked = &counting->asked;
	bool wants_all = !asked->logql.filter_count;
	struct log_counter counter = {.begin = begin,
		.take = take_line,
		.take_block = wants_all && !counts_bytes(counting) ? take_block : NULL,
		.context = counting};
	struct log_search_result result;
	struct log_search search = {.job = job,
		.stream = SPAN(""),
		.text = SPAN(""),
		.ticks = SPAN(""),
		.from_ms = asked->from_ms,
		.to_ms = asked->to_ms - 1,
		.time_ms = loki_left_ms(asked->call),
		.asker = loki_asker(asked->call),
		.streams = streams,
		.stream_count = counting->count,
		.takes = wants_all ? NULL : logql_takes,
		.context = &asked->logql,
		.counter = &counter};

	TRY(log_search_run(asked->call->options->pipeline, asked->call->reading.reader, arena, &search, &result, err));
	if (result.is_partial)
		return error_set(err, ERR_TOO_LARGE,
			"counting the lines of job '%.*s' takes longer than a query may (--search-cpu-ms, --job-search-ms); ask for less time, or fewer jobs or streams",
			SPAN_ARGS(span_cut(job, 60)));
	return loki_check_patterns(asked, job, err);
}

/* What was added and taken away becomes what is there; a time without a line has no value, a row without values goes. */
static void add_up(struct counting *counting, size_t first_row)
{
	bool is_rate = counting->id == FN_RATE || counting->id == FN_BYTES_RATE;
	double per = is_rate ? (double)counting->node->range_ms / SECOND_MS : 1;
	struct prom_rows *rows = counting->rows;
	size_t kept = first_row;

	for (size_t i = first_row; i < rows->count; i++) {
		struct prom_row row = rows->at[i];
		bool has_one = false;
		double sum = 0;
		for (size_t step = 0; step < counting->eval->steps; step++) {
			sum += row.values[step];
			row.values[step] = sum / per;
			row.has[step] = sum > 0;
			has_one = has_one || row.has[step];
		}
		if (has_one)
			rows->at[kept++] = row;
	}
	rows->count = kept;
}

static enum status add_row(
	struct counting *counting, struct span job, const struct stream_view *stream, struct error *err)
{
	struct prom_label room[LOKI_LABELS + 1];
	struct prom_labels labels;
	struct prom_row *row;

	TRY(rows_add(counting->eval, counting->rows, &row, err));
	counting->streams[counting->count++] = (struct counted){stream->stream_id, row->values};
	loki_stream_labels(&labels, room, job, stream);
	TRY(budget_take(counting->eval->reading->budget, labels_bytes(&labels) / PROM_POINT_BYTES, err));
	return labels_clone(&row->labels, &labels, counting->eval->arena, err);
}

static enum status take_job(void *context, struct span job, struct error *err)
{
	struct counting *counting = context;
	size_t first_row = counting->rows->count;
	AUTO(arena) arena = arena_new();
	struct job_view view;
	bool is;

	if (!arena)
		return error_no_memory(err);
	TRY(loki_read_streams(counting->asked.call, arena, job, &view, err));
	struct log_search_stream *streams = arena_alloc(arena, (view.stream_count + 1) * sizeof *streams);
	counting->streams = arena_alloc(arena, (view.stream_count + 1) * sizeof *counting->streams);
	counting->count = 0;
	if (!streams || !counting->streams)
		return error_no_memory(err);
	for (size_t i = 0; i < view.stream_count; i++) {
		TRY(loki_is_asked(&counting->asked, job, &view.streams[i], &is, err));
		if (!is)
			continue;
		streams[counting->count] = (struct log_search_stream){view.streams[i].stream_id, 0};
		TRY(add_row(counting, job, &view.streams[i], err));
	}
	if (!counting->count)
		return OK;
	TRY(search_job(counting, arena, job, streams, err));
	add_up(counting, first_row);
	return OK;
}

static enum status count_lines(
	struct eval *eval, const struct promql_node *node, enum promql_id id, struct prom_rows *out, struct error *err)
{
	struct counting counting = {.eval = eval, .node = node, .id = id, .rows = out};
	struct loki_asked *asked = &counting.asked;

	asked->call = eval->lines_context;
	asked->logql = *node->lines;
	asked->logql.gave_up = &asked->gave_up;
	asked->from_ms = eval->start_ms - node->offset_ms - node->range_ms + 1; /* the begin is not in the window */
	asked->to_ms = eval_time(eval, eval->steps - 1) - node->offset_ms + 1;
	enum status status = logql_prepare(&asked->logql, err);
	if (status == OK)
		status = loki_each_job(asked, take_job, &counting, err);
	logql_done(&asked->logql);
	return status;
}

static enum status parse(const struct prom_call *call, struct promql_node **out, struct error *err)
{
	TRY(promql_parse_counts(out, call_parameter(call, "query"), call->arena, err));
	return (*out)->type == PROMQL_SCALAR || (*out)->type == PROMQL_VECTOR
		       ? OK
		       : error_set(err, ERR_INVALID,
				 "parse error: a range of lines, or a text, is no result: count it (count_over_time, rate, bytes_over_time, bytes_rate)");
}

enum status loki_counts(struct prom_call *call, struct error *err)
{
	struct eval eval = {.steps = 1, .lines = count_lines, .lines_context = call};
	struct promql_node *node;

	TRY(parse(call, &node, err));
	TRY(loki_time(call, "time", http_request_arrival_ms(call->request), &eval.start_ms, err));
	return call_evaluate(call, &eval, node, err);
}

enum status loki_counts_range(struct prom_call *call, struct error *err)
{
	struct eval eval = {.lines = count_lines, .lines_context = call};
	struct promql_node *node;
	int64_t end_ms;

	TRY(parse(call, &node, err));
	TRY(loki_window(call, &eval.start_ms, &end_ms, err));
	eval.step_ms = (end_ms - eval.start_ms) / STEPS_DEFAULT / SECOND_MS * SECOND_MS;
	eval.step_ms = eval.step_ms > SECOND_MS ? eval.step_ms : SECOND_MS;
	TRY(call_duration(call, "step", &eval.step_ms, err));
	TRY(call_set_steps(&eval, end_ms, err));
	return call_evaluate_steps(call, &eval, node, err);
}
