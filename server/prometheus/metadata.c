/* Which series, labels and values there are; and what this server calls itself. */
#include "prometheus/call.h"

#include "base/map.h"

#include <stdlib.h>

struct collecting {
	struct prom_call *call;
	struct map *seen; /* of texts */
	struct span *texts;
	size_t count, cap;
	struct span label; /* whose values; "": the labels themselves */
	size_t limit; /* of series */
};

static enum status keep(struct collecting *collecting, struct span text, struct error *err)
{
	if (!text.len || map_get(collecting->seen, text))
		return OK;
	if (!mem_grow((void **)&collecting->texts, collecting->count, &collecting->cap, sizeof *collecting->texts) ||
		!map_put(collecting->seen, text, collecting))
		return error_no_memory(err);
	collecting->texts[collecting->count++] = text;
	return OK;
}

static enum status take_texts(void *context, const struct prom_labels *labels, struct error *err)
{
	struct collecting *collecting = context;

	if (collecting->label.len)
		return keep(collecting, labels_get(labels, collecting->label), err);
	for (size_t i = 0; i < labels->count; i++)
		TRY(keep(collecting, labels->at[i].name, err));
	return OK;
}

static enum status take_series(void *context, const struct prom_labels *labels, struct error *err)
{
	struct collecting *collecting = context;
	struct span key;

	TRY(labels_key(labels, collecting->call->arena, &key, err));
	if (map_get(collecting->seen, key))
		return OK;
	if (collecting->count == collecting->limit) {
		collecting->call->is_cut = true;
		return OK;
	}
	collecting->count++;
	if (!map_put(collecting->seen, key, collecting))
		return error_no_memory(err);
	labels_write(labels, &collecting->call->w);
	return OK;
}

static enum status each_match(struct collecting *collecting, const struct promql_node *node,
	const struct series_asked *window, series_take *take, struct error *err)
{
	struct series_asked asked = *window;

	asked.matchers = node->matchers;
	asked.matcher_count = node->matcher_count;
	TRY(matchers_prepare(node->matchers, node->matcher_count, err));
	enum status status =
		series_each(&collecting->call->reading, &asked, collecting->call->arena, take, collecting, err);
	matchers_done(node->matchers, node->matcher_count);
	return status;
}

/* Of each match[]; without one, where that may be, of all. */
static enum status collect(struct collecting *collecting, bool needs_match, series_take *take, struct error *err)
{
	struct prom_call *call = collecting->call;
	static const struct promql_node all = {0};
	struct series_asked window = {0};
	bool has_match = false;

	TRY(call_time(call, "start", 0, &window.from_ms, err));
	TRY(call_time(call, "end", http_request_arrival_ms(call->request), &window.to_ms, err));
	for (size_t i = 0; i < call->parameter_count; i++) {
		struct promql_node *node;
		if (!span_equal(call->parameters[i].name, SPAN("match[]")))
			continue;
		has_match = true;
		TRY(promql_parse_selector(&node, call->parameters[i].value, call->arena, err));
		TRY(each_match(collecting, node, &window, take, err));
	}
	if (has_match)
		return OK;
	return needs_match ? error_set(err, ERR_INVALID, "no match[] parameter provided")
			   : each_match(collecting, &all, &window, take, err);
}

static int by_bytes(const void *left, const void *right)
{
	return span_compare(*(const struct span *)left, *(const struct span *)right);
}

static enum status write_texts(struct prom_call *call, struct span label, struct error *err)
{
	AUTO(map) seen = map_new();
	struct collecting collecting = {.call = call, .seen = seen, .label = label};
	size_t limit;

	if (!seen)
		return error_no_memory(err);
	TRY(call_limit(call, &limit, err));
	enum status status = collect(&collecting, false, take_texts, err);
	if (status == OK && collecting.count)
		qsort(collecting.texts, collecting.count, sizeof *collecting.texts, by_bytes);
	json_array(&call->w);
	call->is_cut = collecting.count > limit;
	for (size_t i = 0; status == OK && i < collecting.count && i < limit; i++)
		json_span(&call->w, collecting.texts[i]);
	json_array_end(&call->w);
	mem_free(collecting.texts);
	return status;
}

enum status call_labels(struct prom_call *call, struct error *err)
{
	return write_texts(call, SPAN(""), err);
}

enum status call_values(struct prom_call *call, struct error *err)
{
	return write_texts(call, http_request_segment(call->request, 0), err);
}

enum status call_series(struct prom_call *call, struct error *err)
{
	AUTO(map) seen = map_new();
	struct collecting collecting = {.call = call, .seen = seen};

	if (!seen)
		return error_no_memory(err);
	TRY(call_limit(call, &collecting.limit, err));
	json_array(&call->w);
	TRY(collect(&collecting, true, take_series, err));
	json_array_end(&call->w);
	return OK;
}

/* None is kept. */
enum status call_metadata(struct prom_call *call, struct error *err)
{
	(void)err;
	json_object(&call->w);
	json_object_end(&call->w);
	return OK;
}

/* Clients choose what they ask by the version: that of the language as it is answered here. */
enum status call_buildinfo(struct prom_call *call, struct error *err)
{
	(void)err;
	json_object(&call->w);
	json_put_text(&call->w, "version", "2.42.0");
	json_put_text(&call->w, "revision", "smfleet-" SM_VERSION);
	json_put_text(&call->w, "branch", "");
	json_put_text(&call->w, "buildUser", "");
	json_put_text(&call->w, "buildDate", "");
	json_put_text(&call->w, "goVersion", "");
	json_object_end(&call->w);
	return OK;
}

/* What Prometheus has and this server has not: in its shape, with what there is. */
enum status call_absent(struct prom_call *call, struct error *err)
{
	struct span rest = span_cut(http_request_segment(call->request, 0), 60);

	return error_set(err, ERR_NOT_FOUND,
		"'%.*s' of Prometheus' API is not here; query, query_range, series, labels, label/NAME/values, format_query, "
		"query_exemplars, metadata, rules and status/buildinfo are (docs/prometheus.md)",
		SPAN_ARGS(rest));
}

/* Rules are this server's own (/api/v1/rules), and none of Prometheus'. */
enum status call_rules(struct prom_call *call, struct error *err)
{
	(void)err;
	json_object(&call->w);
	json_key(&call->w, "groups");
	json_array(&call->w);
	json_array_end(&call->w);
	json_object_end(&call->w);
	return OK;
}

/* A query that is none is told so, as by the others. */
enum status call_exemplars(struct prom_call *call, struct error *err)
{
	struct promql_node *node;

	TRY(promql_parse(&node, call_parameter(call, "query"), call->arena, err));
	json_array(&call->w);
	json_array_end(&call->w);
	return OK;
}
