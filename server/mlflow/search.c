/* Searches of runs: the rows of the experiments, then what the filter and the order ask of each run, one after the other. */
#include "base/clock.h"
#include "mlflow/run_filter.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	PAGE_MAX_RUNS = 1000,
	PAGE_MAX_BYTES = 16 << 20, /* the next page begins with the run that goes beyond it */
	RESULTS_MAX = 50000, /* MLflow's own */
	EXPERIMENTS_MAX = 1000,
	FILTER_MAX_BYTES = 64 << 10,
	ORDER_TEXT_MAX_BYTES = 500 /* what is behind them does not count: all candidates are held at once */
};

struct candidate {
	const struct tracked_run_row *row;
	struct run_filter_value values[ORDER_KEYS_MAX];
};

struct run_search {
	struct mlflow_call *call;
	struct run_filter filter;
	struct run_filter_order orders[ORDER_KEYS_MAX];
	size_t order_count;
	struct candidate *found;
	size_t count, cap;
	size_t limit, offset;
	bool asks_metrics, asks_place; /* the filter or the order does; artifact_uri, which the list of runs lacks */
	enum tracked_runs which;
	int64_t until_ms;
};

/* ---- what is asked ---- */

static enum status read_orders(struct run_search *search, struct error *err)
{
	const struct json *list = json_get(search->call->body, "order_by");

	for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at)) {
		if (search->order_count == ORDER_KEYS_MAX)
			return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'order_by' has more than %d fields",
				ORDER_KEYS_MAX);
		TRY(run_filter_parse_order(&search->orders[search->order_count++], json_string_of(at), err));
	}
	return OK;
}

static void see_field(struct run_search *search, const struct run_filter_field *field)
{
	search->asks_metrics |= field->entity == FILTER_METRIC;
	search->asks_place |= field->entity == FILTER_ATTRIBUTE && span_equal(field->key, SPAN("artifact_uri"));
}

static void see_fields(struct run_search *search)
{
	for (size_t i = 0; i < search->filter.count; i++)
		see_field(search, &search->filter.terms[i].field);
	for (size_t i = 0; i < search->order_count; i++)
		see_field(search, &search->orders[i].field);
}

static enum status read_search(struct run_search *search, struct error *err)
{
	struct mlflow_call *call = search->call;
	struct span filter = SPAN(""), token = SPAN(""), view = SPAN("");
	int64_t limit = PAGE_MAX_RUNS, offset = 0;

	TRY(mlflow_text(call, "filter", FILTER_MAX_BYTES, &filter, err));
	TRY(run_filter_parse(&search->filter, call->arena, filter, err));
	TRY(read_orders(search, err));
	see_fields(search);
	TRY(mlflow_integer(call, "max_results", 1, RESULTS_MAX, &limit, err));
	TRY(mlflow_text(call, "page_token", MLFLOW_KEY_MAX_BYTES, &token, err));
	if (token.len && (!span_parse_i64(token, &offset) || offset < 0))
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'page_token' is none of this server's");
	TRY(mlflow_text(call, "run_view_type", MLFLOW_KEY_MAX_BYTES, &view, err));
	search->which = span_equal(view, SPAN("DELETED_ONLY")) ? TRACKED_IN_TRASH
			: span_equal(view, SPAN("ALL"))        ? TRACKED_ALL
							       : TRACKED_ACTIVE;
	search->limit = (size_t)(limit < PAGE_MAX_RUNS ? limit : PAGE_MAX_RUNS);
	search->offset = (size_t)offset;
	search->until_ms = clock_mono_ms() + call->options->search_ms;
	return OK;
}

/* ---- what is there ---- */

static enum status add(struct run_search *search, const struct candidate *candidate, struct error *err)
{
	if (search->count == search->cap) {
		size_t cap = search->cap ? 2 * search->cap : 64;
		struct candidate *found = arena_alloc(search->call->arena, cap * sizeof *found);
		if (!found)
			return error_no_memory(err);
		if (search->count)
			memcpy(found, search->found, search->count * sizeof *found);
		search->found = found;
		search->cap = cap;
	}
	search->found[search->count++] = *candidate;
	return OK;
}

/* What a run is asked, with its own memory, so that many of them do not add up. */
static enum status look(struct run_search *search, struct candidate *candidate, bool *matches, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct mlflow_call scratch = *search->call;
	struct mlflow_run run;

	if (!arena)
		return error_no_memory(err);
	scratch.arena = arena;
	struct tracked_run_row row = *candidate->row;
	enum status status = OK;
	if (search->asks_place)
		status = store_read_tracked_run(scratch.reader, arena, row.run_id, &row, err);
	if (status == OK)
		status = mlflow_view_run(&scratch, &row, search->asks_metrics, &run, err);
	*matches = status == OK && run_filter_matches(&search->filter, &run);
	if (status != OK && status != ERR_NOT_FOUND) /* its job was deleted meanwhile */
		return status;
	for (size_t i = 0; i < search->order_count && *matches; i++) {
		struct run_filter_value *value = &candidate->values[i];
		*value = run_filter_value_of(&search->orders[i].field, &run);
		value->text = arena_copy(
			search->call->arena, value->is_number ? SPAN("") : span_cut(value->text, ORDER_TEXT_MAX_BYTES));
		if (!value->text.ptr)
			return error_no_memory(err);
	}
	return OK;
}

static bool is_late(const struct run_search *search)
{
	return clock_mono_ms() > search->until_ms;
}

static enum status take_rows(
	struct run_search *search, const struct tracked_run_row *rows, size_t count, struct error *err)
{
	bool needs_look = search->filter.count || search->order_count;

	for (size_t i = 0; i < count; i++) {
		struct candidate candidate = {.row = &rows[i]};
		bool matches = true;
		if (!mlflow_is_run_id(rows[i].run_id))
			continue;
		if (needs_look)
			TRY(look(search, &candidate, &matches, err));
		if (needs_look && is_late(search))
			return error_set(err, ERR_TOO_LARGE,
				"the search takes too long (--job-search-ms): ask for fewer experiments, or sm-search");
		if (matches)
			TRY(add(search, &candidate, err));
	}
	return OK;
}

static enum status read_experiment(struct run_search *search, int64_t experiment_id, size_t *seen, struct error *err)
{
	const struct mlflow_call *call = search->call;
	const struct tracked_run_place first = {INT64_MAX, INT64_MAX};
	size_t most = call->options->max_search_runs - *seen;
	struct tracked_run_row *rows;
	size_t count;

	TRY(store_read_tracked_runs(
		call->reader, call->arena, experiment_id, search->which, &first, most + 1, &rows, &count, err));
	if (count > most)
		return error_set(err, ERR_TOO_LARGE,
			"the experiments have more than %zu runs (--max-mlflow-runs): ask for fewer of them, or sm-search",
			call->options->max_search_runs);
	*seen += count;
	return take_rows(search, rows, count, err);
}

static bool is_first(const struct json *list, const struct json *at)
{
	const struct json *first = json_first(list);

	while (first != at && !span_equal(json_string_of(first), json_string_of(at)))
		first = json_next(first);
	return first == at;
}

static enum status read_experiments(struct run_search *search, struct error *err)
{
	const struct json *list = json_get(search->call->body, "experiment_ids");
	size_t seen = 0;
	int64_t id;

	if (list && json_count(list) > EXPERIMENTS_MAX)
		return mlflow_error(
			err, ERR_SEMANTIC, MLFLOW_INVALID, "'experiment_ids' has more than %d", EXPERIMENTS_MAX);
	for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at))
		if (is_first(list, at) &&
			mlflow_experiment_id_of(json_string_of(at), &id)) /* what is not there has no runs */
			TRY(read_experiment(search, id, &seen, err));
	return OK;
}

static int by_order(const void *left, const void *right, void *context)
{
	const struct run_search *search = context;
	const struct candidate *a = left, *b = right;

	for (size_t i = 0; i < search->order_count; i++) {
		int order = run_filter_compare(&search->orders[i], &a->values[i], &b->values[i]);
		if (order)
			return order;
	}
	if (a->row->start_ms != b->row->start_ms)
		return a->row->start_ms > b->row->start_ms ? -1 : 1;
	return span_compare(a->row->run_id, b->row->run_id);
}

/* ---- the page ---- */

static enum status write_one(struct run_search *search, const struct candidate *candidate, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct mlflow_call scratch = *search->call;
	struct tracked_run_row row;
	struct mlflow_run run;

	if (!arena)
		return error_no_memory(err);
	scratch.arena = arena;
	enum status status = store_read_tracked_run(scratch.reader, arena, candidate->row->run_id, &row, err);
	if (status == OK)
		status = mlflow_view_run(&scratch, &row, true, &run, err);
	if (status == ERR_NOT_FOUND) /* its job was deleted meanwhile */
		return OK;
	TRY(status);
	mlflow_write_run(&run, &search->call->w);
	return OK;
}

static enum status write_page(struct run_search *search, struct error *err)
{
	struct json_writer *w = &search->call->w;
	size_t at = search->offset < search->count ? search->offset : search->count;
	size_t end = search->count - at > search->limit ? at + search->limit : search->count;
	char next[24];

	json_key(w, "runs");
	json_array(w);
	/* what is left is for the next page: each brings something */
	for (size_t first = at; at < end && (at == first || (w->out->len < PAGE_MAX_BYTES && !is_late(search))); at++)
		TRY(write_one(search, &search->found[at], err));
	json_array_end(w);
	if (at < search->count) {
		snprintf(next, sizeof next, "%zu", at);
		json_put_text(w, "next_page_token", next);
	}
	return OK;
}

enum status mlflow_run_search(struct mlflow_call *call, struct error *err)
{
	struct run_search *search = arena_alloc(call->arena, sizeof *search); /* large for a stack */

	if (!search)
		return error_no_memory(err);
	*search = (struct run_search){.call = call};
	TRY(read_search(search, err));
	TRY(read_experiments(search, err));
	if (search->count)
		qsort_r(search->found, search->count, sizeof *search->found, by_order, search);
	search->until_ms = clock_mono_ms() + call->options->search_ms;
	return write_page(search, err);
}
