/* A run's history as wandb.Api() asks for it: pages of steps, and rows that stand for all. */
#include "wandb/rows.h"

enum { SPECS_MAX = 16, SPEC_MAX_BYTES = 64 << 10, ANSWER_MAX_BYTES = 16 << 20, SAMPLES = 500 };

/* ---- what is asked ---- */

/* *row NULL: there is no such run. */
static enum status find_run(struct wandb_call *call, const struct graphql_request *request, const char *name,
	struct tracked_run_row *row, bool *is_there, struct error *err)
{
	struct span project, id;
	struct wandb_run run;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, name, WANDB_ID_MAX_BYTES, &id, err));
	TRY(wandb_identify(call, project, id, &run, err));
	enum status status = wandb_find_run(call, &run, row, err);
	*is_there = status == OK;
	return status == ERR_NOT_FOUND ? OK : status;
}

/* minStep is of the page, maxStep behind it. */
static enum status read_range(const struct json *from, struct history_rows_query *query, struct error *err)
{
	const int64_t most = INT64_C(1) << 53;
	int64_t first = -most, behind = most;

	TRY(graphql_integer(from, "minStep", -most, most, &first, err));
	TRY(graphql_integer(from, "maxStep", -most, most, &behind, err));
	query->first_step = first;
	query->last_step = behind - 1;
	return OK;
}

static enum status read_samples(
	const struct wandb_call *call, const struct json *from, struct history_rows_query *query, struct error *err)
{
	int64_t samples = SAMPLES < call->options->max_samples ? SAMPLES : call->options->max_samples;

	TRY(graphql_integer(from, "samples", 1, call->options->max_samples, &samples, err));
	query->samples = (size_t)samples;
	return OK;
}

/* ---- what is answered ---- */

static enum status check_size(const struct wandb_call *call, struct error *err)
{
	if (call->w.out->len <= ANSWER_MAX_BYTES)
		return OK;
	return error_set(err, ERR_SEMANTIC,
		"the answer has more than %d bytes: ask for fewer steps a page (page_size), or for some keys",
		ANSWER_MAX_BYTES);
}

/* is_text: each row is JSON in a text, as W&B has it where no keys are named. */
static enum status write_rows(struct wandb_call *call, const struct history_rows *rows, bool is_text, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ANSWER_MAX_BYTES);

	json_array(&call->w);
	for (size_t at = 0, end; at < rows->count; at = end) {
		struct json_writer w = json_writer_on(&text);
		end = history_rows_end(rows, at);
		buf_reset(&text);
		history_rows_write_row(rows, at, end, is_text ? &w : &call->w);
		TRY(buf_status(&text, err));
		if (is_text)
			json_span(&call->w, buf_span(&text));
		TRY(check_size(call, err));
	}
	json_array_end(&call->w);
	return OK;
}

/* {"project": {"run": {NAME: … */
static void open_run(struct wandb_call *call, const char *name)
{
	json_key(&call->w, "project");
	json_object(&call->w);
	json_key(&call->w, "run");
	json_object(&call->w);
	json_key(&call->w, name);
}

static void close_run(struct wandb_call *call)
{
	json_object_end(&call->w);
	json_object_end(&call->w);
}

static enum status answer_no_run(struct wandb_call *call)
{
	json_key(&call->w, "project");
	json_object(&call->w);
	json_key(&call->w, "run");
	json_null(&call->w);
	json_object_end(&call->w);
	return OK;
}

static enum status answer_rows(struct wandb_call *call, const struct tracked_run_row *run,
	const struct history_rows_query *query, struct error *err)
{
	AUTO_DONE(history_rows) rows = {0};

	TRY(history_rows_read(call, run, query, &rows, err));
	open_run(call, "history");
	TRY(write_rows(call, &rows, true, err));
	close_run(call);
	return OK;
}

/* Run.scan_history(): every row from minStep on, up to maxStep. */
enum status wandb_read_history(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct history_rows_query query = {.samples = 0};
	struct tracked_run_row run;
	bool is_there;

	TRY(find_run(call, request, "run", &run, &is_there, err));
	TRY(read_range(request->variables, &query, err));
	return is_there ? answer_rows(call, &run, &query, err) : answer_no_run(call);
}

/* Run.history() without keys. */
enum status wandb_sample_history(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct history_rows_query query = {.samples = 0};
	struct tracked_run_row run;
	bool is_there;

	if (span_find(request->query, SPAN("events(")) >= 0)
		return error_set(err, ERR_UNSUPPORTED,
			"this server gives no system metrics to W&B's clients: GET /api/v1/jobs/JOB/points has them");
	TRY(find_run(call, request, "name", &run, &is_there, err));
	TRY(read_range(NULL, &query, err));
	TRY(read_samples(call, request->variables, &query, err));
	return is_there ? answer_rows(call, &run, &query, err) : answer_no_run(call);
}

/* ---- by keys ---- */

struct spec {
	struct history_rows_query query;
	struct span keys[ROWS_KEYS_MAX];
};

static enum status read_keys(struct wandb_call *call, const struct json *list, struct spec *spec, struct error *err)
{
	for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at)) {
		struct span key = json_string_of(at);
		if (json_kind(at) != JSON_STRING)
			return error_set_field(err, ERR_SEMANTIC, "keys", "'keys' must be a list of texts");
		if (key.len && key.ptr[0] == '_')
			continue; /* W&B's own: in each row */
		if (spec->query.key_count == ROWS_KEYS_MAX)
			return error_set_field(
				err, ERR_SEMANTIC, "keys", "'keys' has more than %d names", ROWS_KEYS_MAX);
		bool is_known = false;
		for (size_t i = 0; i < spec->query.key_count; i++)
			is_known |= span_equal(spec->keys[i], key);
		if (is_known)
			continue;
		if (!(key = arena_copy(call->arena, key)).ptr)
			return error_no_memory(err);
		spec->keys[spec->query.key_count++] = key;
	}
	spec->query.keys = spec->query.key_count ? spec->keys : NULL;
	return OK;
}

static enum status answer_spec(
	struct wandb_call *call, const struct tracked_run_row *run, struct span text, struct error *err)
{
	struct spec *spec = arena_alloc(call->arena, sizeof *spec);
	AUTO_DONE(history_rows) rows = {0};
	AUTO(json) document = NULL;

	if (!spec)
		return error_no_memory(err);
	*spec = (struct spec){.query = {.key_count = 0}};
	if (text.len > SPEC_MAX_BYTES || json_parse(&document, text, NULL) != OK)
		return error_set_field(err, ERR_SEMANTIC, "specs",
			"'specs' must be JSON objects in texts of at most %d bytes", SPEC_MAX_BYTES);
	TRY(read_keys(call, json_get(document, "keys"), spec, err));
	TRY(read_range(document, &spec->query, err));
	TRY(read_samples(call, document, &spec->query, err));
	/* Here W&B counts maxStep in. But older clients mean the page behind by it, of which no row is to come twice. */
	if (spec->query.last_step - spec->query.first_step + 1 < (int64_t)spec->query.samples)
		spec->query.last_step++;
	TRY(history_rows_read(call, run, &spec->query, &rows, err));
	return write_rows(call, &rows, false, err);
}

/* Run.history(keys=…), and scan_history(keys=…) of older clients: each spec has a list of rows. */
enum status wandb_sample_history_by_keys(
	struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	const struct json *specs = request->variables ? json_get(request->variables, "specs") : NULL;
	const struct json *one = request->variables ? json_get(request->variables, "spec") : NULL;
	struct tracked_run_row run;
	bool is_there;

	TRY(find_run(call, request, one ? "run" : "name", &run, &is_there, err));
	if (!is_there)
		return answer_no_run(call);
	if (!one && (!specs || json_kind(specs) != JSON_ARRAY || json_count(specs) > SPECS_MAX))
		return error_set_field(
			err, ERR_SEMANTIC, "specs", "'specs' must be a list of at most %d texts", SPECS_MAX);
	open_run(call, "sampledHistory");
	json_array(&call->w);
	if (one)
		TRY(answer_spec(call, &run, json_string_of(one), err));
	for (const struct json *at = one ? NULL : json_first(specs); at; at = json_next(at))
		TRY(answer_spec(call, &run, json_string_of(at), err));
	json_array_end(&call->w);
	close_run(call);
	return OK;
}

/* ---- what there is ---- */

enum status wandb_write_history_keys(struct wandb_call *call, const struct tracked_run_row *run, struct error *err)
{
	const struct series_view *series;
	size_t count;
	int64_t last;

	TRY(history_rows_read_keys(call, run, &last, &series, &count, err));
	json_object(&call->w);
	json_put_i64(&call->w, "lastStep", last);
	json_key(&call->w, "keys");
	json_object(&call->w);
	for (size_t i = 0; i < count; i++) {
		json_key_span(&call->w, series[i].metric);
		json_object(&call->w);
		json_object_end(&call->w);
	}
	json_object_end(&call->w);
	json_object_end(&call->w);
	return check_size(call, err);
}

enum status wandb_read_history_keys(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct tracked_run_row run;
	bool is_there;

	TRY(find_run(call, request, "name", &run, &is_there, err));
	if (!is_there)
		return answer_no_run(call);
	open_run(call, "historyKeys");
	TRY(wandb_write_history_keys(call, &run, err));
	close_run(call);
	return OK;
}

/* Where W&B has written out a part of the history: nowhere, so that its client reads all of it page by page. */
enum status wandb_read_parquet(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct tracked_run_row run;
	bool is_there;

	TRY(find_run(call, request, "runName", &run, &is_there, err));
	if (!is_there)
		return answer_no_run(call);
	open_run(call, "parquetHistory");
	json_object(&call->w);
	json_key(&call->w, "parquetUrls");
	json_array(&call->w);
	json_array_end(&call->w);
	json_key(&call->w, "liveData");
	json_array(&call->w);
	json_array_end(&call->w);
	json_object_end(&call->w);
	close_run(call);
	return OK;
}
