/*
 * Records as requests to the server. Points of one run that follow each other go together: a loop that logs at each step is then no
 * request a step. The same records are the same request: they may be sent again.
 */
#include "cli/relay/relay_mlflow.h"

enum { BATCH_METRICS_MAX = 1000 }; /* MLflow's own limit */

struct record {
	struct span call;
	struct json *body;
	size_t bytes; /* with its line end */
};

static void record_done(struct record *record)
{
	json_free(record->body);
}
AUTO_DONE_TYPE(record)

/* "mlflow CALL BODY". */
static enum status read_record(struct span records, struct record *out, struct error *err)
{
	struct span line, dialect, rest = records;

	*out = (struct record){0};
	if (!span_next(&rest, '\n', &line))
		return error_set(err, ERR_INVALID, "a record of the spool is damaged");
	out->bytes = line.len + 1 <= records.len ? line.len + 1 : records.len;
	if (!span_next(&line, ' ', &dialect) || !span_equal(dialect, SPAN("mlflow")) ||
		!span_next(&line, ' ', &out->call) || json_parse(&out->body, line, NULL) != OK ||
		json_kind(out->body) != JSON_OBJECT || !json_count(out->body)) {
		json_free(TAKE(out->body));
		return error_set(err, ERR_INVALID, "a record of the spool is damaged");
	}
	return OK;
}

static struct span run_of(const struct record *record)
{
	struct span id = json_string_of(json_get(record->body, "run_id"));

	return id.len ? id : json_string_of(json_get(record->body, "run_uuid"));
}

static bool has_items(const struct record *record, const char *name)
{
	return json_first(json_get(record->body, name)) != NULL;
}

/* Points and nothing else; how many. */
static bool is_points(const struct record *record, size_t *count)
{
	*count = 1;
	if (span_equal(record->call, SPAN("runs/log-metric")))
		return true;
	*count = json_count(json_get(record->body, "metrics"));
	return span_equal(record->call, SPAN("runs/log-batch")) && *count && !has_items(record, "params") &&
	       !has_items(record, "tags");
}

static void put_node(struct json_writer *w, const struct json *node, struct relay_sending *out)
{
	AUTO_DONE(buf) text = BUF_INIT(out->body.max_bytes);

	json_print(node, &text);
	if (text.failure != OK)
		out->body.failure = text.failure;
	json_raw(w, buf_span(&text));
}

static void put_points(struct json_writer *w, const struct record *record, struct relay_sending *out)
{
	if (span_equal(record->call, SPAN("runs/log-metric"))) {
		put_node(w, record->body, out);
		return;
	}
	for (const struct json *at = json_first(json_get(record->body, "metrics")); at; at = json_next(at))
		put_node(w, at, out);
}

static void compose_points(struct span records, const struct record *first, size_t count, struct relay_sending *out)
{
	struct json_writer w = json_writer_on(&out->body);
	size_t more;

	json_object(&w);
	json_put_span(&w, "run_id", run_of(first));
	json_key(&w, "metrics");
	json_array(&w);
	put_points(&w, first, out);
	while (records.len > out->bytes) {
		AUTO_DONE(record) next = {0};
		if (read_record(span_skip(records, out->bytes), &next, NULL) != OK || !is_points(&next, &more) ||
			!span_equal(run_of(&next), run_of(first)) || count + more > BATCH_METRICS_MAX)
			break;
		put_points(&w, &next, out);
		count += more;
		out->bytes += next.bytes;
	}
	json_array_end(&w);
	buf_append_text(&out->path, MLFLOW_PREFIX "runs/log-batch");
}

static bool is_nested(const struct json *body)
{
	for (const struct json *tag = json_first(json_get(body, "tags")); tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "key")), SPAN("mlflow.parentRunId")))
			return true;
	return false;
}

bool relay_mlflow_is_run(struct span call, const struct json *body)
{
	bool has_status = span_equal(call, SPAN("runs/update")) && json_get(body, "status");

	return has_status || (span_equal(call, SPAN("runs/create")) && !is_nested(body));
}

enum status relay_mlflow_compose(
	struct span records, const struct relay_terms *terms, struct relay_sending *out, struct error *err)
{
	AUTO_DONE(record) record = {0};
	size_t count;
	enum status status = read_record(records, &record, err);

	out->bytes = record.bytes;
	TRY(status);
	if (is_points(&record, &count)) {
		compose_points(records, &record, count, out);
		return OK;
	}
	out->is_run = relay_mlflow_is_run(record.call, record.body);
	out->needs_job = out->is_run && span_equal(record.call, SPAN("runs/create"));
	if (out->needs_job) {
		if (!json_set_string(record.body, "job_name", span_from(terms->job)))
			return error_no_memory(err);
	}
	if (terms->is_shipped && span_equal(record.call, SPAN("runs/update")) &&
		!json_set_string(record.body, "shipped_job", span_from(terms->job)))
		return error_no_memory(err);
	buf_append_text(&out->path, MLFLOW_PREFIX);
	buf_append_span(&out->path, record.call);
	json_print(record.body, &out->body);
	if (out->body.failure == OK)
		out->body.len--; /* its brace */
	return OK;
}
