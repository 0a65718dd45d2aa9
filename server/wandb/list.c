/* What wandb.Api() is told of the runs of a project. */
#include "wandb/internal.h"

#include <stdio.h>

enum { PAGE_RUNS_MAX = 200, SCAN_RUNS = 500, FILTER_MAX_BYTES = 64 << 10, FILTER_DEPTH = 4 };

struct listing {
	struct wandb_call *call;
	const struct graphql_request *request;
	struct span prefix; /* of the ids of the project's runs of this door */
	int64_t project_id;
	const struct json *filters; /* an object; NULL: none */
	bool is_downward;
	bool is_full;
	size_t most; /* of a page */
};

static struct span member_of(const struct tracked_run_row *row, struct span id, struct span name)
{
	if (span_equal(name, SPAN("state")))
		return span_from(wandb_state_of(row->status));
	if (span_equal(name, SPAN("name")))
		return id;
	if (span_equal(name, SPAN("display_name")) || span_equal(name, SPAN("displayName")))
		return row->name;
	return (struct span){0};
}

static bool is_among(const struct json *value, struct span text)
{
	if (json_kind(value) == JSON_STRING)
		return span_equal(json_string_of(value), text);
	for (const struct json *at = json_first(value); at; at = json_next(at))
		if (span_equal(json_string_of(at), text))
			return true;
	return false;
}

/* {"state": "finished", "display_name": {"$in": ["a", "b"]}}; "$and" may hold several. */
static bool matches(const struct listing *list, const struct json *filters, const struct tracked_run_row *row)
{
	struct span id = span_skip(row->run_id, list->prefix.len);

	for (const struct json *at = filters ? json_first(filters) : NULL; at; at = json_next(at)) {
		struct span name = json_key_of(at);
		if (span_equal(name, SPAN("$and"))) {
			for (const struct json *each = json_first(at); each; each = json_next(each))
				if (!matches(list, each, row))
					return false;
			continue;
		}
		const struct json *in = json_kind(at) == JSON_OBJECT ? json_first(at) : at;
		if (!is_among(in, member_of(row, id, name)))
			return false;
	}
	return true;
}

static enum status check_value(struct span name, const struct json *value, struct error *err)
{
	const struct json *in = json_kind(value) == JSON_OBJECT ? json_first(value) : NULL;
	bool is_in =
		in && json_count(value) == 1 && json_kind(in) == JSON_ARRAY && span_equal(json_key_of(in), SPAN("$in"));
	bool is_equal = in && json_count(value) == 1 && json_kind(in) == JSON_STRING &&
			span_equal(json_key_of(in), SPAN("$eq"));

	if (json_kind(value) == JSON_STRING || is_in || is_equal)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "filters",
		"a filter of '%.*s' must be a text, {\"$eq\": TEXT} or {\"$in\": [TEXT…]}",
		SPAN_ARGS(span_cut(name, 100)));
}

static enum status check_filters(const struct json *filters, unsigned depth, struct error *err)
{
	static const struct tracked_run_row none = {.status = SPAN(""), .name = SPAN(""), .run_id = SPAN("")};

	if (json_kind(filters) != JSON_OBJECT || depth > FILTER_DEPTH)
		return error_set_field(
			err, ERR_SEMANTIC, "filters", "'filters' must be a JSON object, %d deep at most", FILTER_DEPTH);
	for (const struct json *at = json_first(filters); at; at = json_next(at)) {
		struct span name = json_key_of(at);
		if (span_equal(name, SPAN("$and")) && json_kind(at) == JSON_ARRAY) {
			for (const struct json *each = json_first(at); each; each = json_next(each))
				TRY(check_filters(each, depth + 1, err));
			continue;
		}
		if (!member_of(&none, SPAN(""), name).ptr)
			return error_set_field(err, ERR_SEMANTIC, "filters",
				"runs are filtered by state, name and display_name here, not by '%.*s': "
				"GET /api/v1/jobs?q= searches by configs and metrics",
				SPAN_ARGS(span_cut(name, 100)));
		TRY(check_value(name, at, err));
	}
	return OK;
}

/* The runs behind the place, up to `most` and one more, for each of which `row` is the caller's. */
typedef enum status take_run(void *context, const struct tracked_run_row *row, bool *is_enough, struct error *err);

static enum status read_more(const struct listing *list, struct arena *arena, const struct tracked_run_place *place,
	struct tracked_run_row **rows, size_t *count, struct error *err)
{
	struct store_reader *reader = list->call->reader;

	if (!list->is_downward)
		return store_read_tracked_runs_upward(
			reader, arena, list->project_id, place, SCAN_RUNS, rows, count, err);
	return store_read_tracked_runs(
		reader, arena, list->project_id, TRACKED_ACTIVE, place, SCAN_RUNS, rows, count, err);
}

static enum status each_run(
	const struct listing *list, struct tracked_run_place place, take_run *take, void *context, struct error *err)
{
	bool is_enough = false;
	size_t count = SCAN_RUNS;

	while (count == SCAN_RUNS && !is_enough) {
		AUTO(arena) arena = arena_new();
		struct tracked_run_row *rows;
		if (!arena)
			return error_no_memory(err);
		TRY(read_more(list, arena, &place, &rows, &count, err));
		for (size_t i = 0; i < count && !is_enough; i++) {
			place = (struct tracked_run_place){rows[i].start_ms, rows[i].job_id};
			if (span_starts_with(rows[i].run_id, list->prefix) && matches(list, list->filters, &rows[i]))
				TRY(take(context, &rows[i], &is_enough, err));
		}
		if (http_request_is_over(list->call->request))
			return error_set(err, ERR_UNAVAILABLE, "nobody waits for the answer any more");
	}
	return OK;
}

static enum status count_run(void *context, const struct tracked_run_row *row, bool *is_enough, struct error *err)
{
	uint64_t *count = context;

	(void)row;
	(void)is_enough;
	(void)err;
	++*count;
	return OK;
}

struct page {
	const struct listing *list;
	size_t count;
	bool has_more;
	char cursor[48]; /* of the last one */
};

static enum status write_edge(void *context, const struct tracked_run_row *row, bool *is_enough, struct error *err)
{
	struct page *page = context;
	struct wandb_call *call = page->list->call;
	const struct wandb_run run = {.key = row->run_id, .id = span_skip(row->run_id, page->list->prefix.len)};

	*is_enough = page->has_more = page->count == page->list->most;
	if (page->has_more)
		return OK;
	page->count++;
	snprintf(page->cursor, sizeof page->cursor, "%lld %lld", (long long)row->start_ms, (long long)row->job_id);
	json_object(&call->w);
	json_put_text(&call->w, "cursor", page->cursor);
	json_key(&call->w, "node");
	if (page->list->is_full) {
		TRY(wandb_write_run(call, &run, row, err));
	} else {
		json_object(&call->w);
		TRY(wandb_write_members(call, &run, row, err));
		json_object_end(&call->w);
	}
	json_object_end(&call->w);
	return OK;
}

static enum status read_cursor(const struct listing *list, const struct graphql_request *request,
	struct tracked_run_place *out, struct error *err)
{
	int64_t from = list->is_downward ? INT64_MAX : INT64_MIN;
	struct span cursor, first;

	*out = (struct tracked_run_place){from, from};
	TRY(graphql_text(request, "cursor", 64, &cursor, err));
	if (!cursor.len)
		return OK;
	struct span rest = cursor;
	if (!span_next(&rest, ' ', &first) || !span_parse_i64(first, &out->start_ms) ||
		!span_parse_i64(rest, &out->job_id))
		return error_set_field(err, ERR_SEMANTIC, "cursor", "'cursor' is none of this server's");
	return OK;
}

static enum status read_listing(struct listing *list, struct json **filters, struct error *err)
{
	const struct graphql_request *request = list->request;
	struct span order, text;
	double most = 50;

	TRY(graphql_text(request, "order", 200, &order, err));
	TRY(graphql_text(request, "filters", FILTER_MAX_BYTES, &text, err));
	list->is_downward = span_equal(order, SPAN("-created_at"));
	list->is_full = span_find(request->query, SPAN("summaryMetrics")) >= 0;
	if (order.len && !list->is_downward && !span_equal(order, SPAN("+created_at")) &&
		!span_equal(order, SPAN("created_at")))
		return error_set_field(err, ERR_SEMANTIC, "order",
			"runs are in the order of +created_at or -created_at here, not of '%.*s'", SPAN_ARGS(order));
	const struct json *per_page = request->variables ? json_get(request->variables, "perPage") : NULL;
	if (per_page && json_kind(per_page) != JSON_NULL && (!json_number_of(per_page, &most) || !(most >= 1)))
		return error_set_field(err, ERR_SEMANTIC, "perPage", "'perPage' must be a number from 1");
	list->most = most < PAGE_RUNS_MAX ? (size_t)most : PAGE_RUNS_MAX;
	if (!text.len)
		return OK;
	if (json_parse(filters, text, NULL) != OK)
		return error_set_field(err, ERR_SEMANTIC, "filters", "'filters' is no JSON");
	list->filters = *filters;
	return check_filters(*filters, 0, err);
}

static enum status write_page(const struct listing *list, struct error *err)
{
	struct json_writer *w = &list->call->w;
	struct page page = {.list = list};
	struct tracked_run_place place,
		first = {list->is_downward ? INT64_MAX : INT64_MIN, list->is_downward ? INT64_MAX : INT64_MIN};
	uint64_t total = 0;

	TRY(read_cursor(list, list->request, &place, err));
	TRY(each_run(list, first, count_run, &total, err));
	json_put_i64(w, "runCount", (int64_t)total);
	json_key(w, "runs");
	json_object(w);
	json_key(w, "edges");
	json_array(w);
	TRY(each_run(list, place, write_edge, &page, err));
	json_array_end(w);
	json_key(w, "pageInfo");
	json_object(w);
	json_put_text(w, "endCursor", page.cursor);
	json_put_bool(w, "hasNextPage", page.has_more);
	json_object_end(w);
	json_object_end(w);
	return OK;
}

/* Api.runs(): a project that is not there is null, for which the client has words. */
enum status wandb_read_runs(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct listing list = {.call = call, .request = request};
	struct tracked_project_row project;
	AUTO(json) filters = NULL;
	struct wandb_run any;
	struct span name;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &name, err));
	TRY(wandb_identify(call, name, SPAN("x"), &any, err));
	list.prefix = span_of(any.key.ptr, any.key.len - 1);
	TRY(read_listing(&list, &filters, err));
	enum status status =
		store_find_tracked_project(call->reader, call->arena, call->team, any.project, &project, err);
	json_key(&call->w, "project");
	if (status == ERR_NOT_FOUND) {
		json_null(&call->w);
		return OK;
	}
	TRY(status);
	list.project_id = project.project_id;
	json_object(&call->w);
	json_put_i64(&call->w, "internalId", project.project_id);
	json_put_bool(&call->w, "readOnly", true);
	TRY(write_page(&list, err));
	json_object_end(&call->w);
	return OK;
}
