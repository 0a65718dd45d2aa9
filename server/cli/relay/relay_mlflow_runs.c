/* Runs: made with an id that stays, written into the spool, read from the server or from what is known. */
#include "cli/relay/relay_mlflow.h"

#include "base/clock.h"
#include "base/crypto.h"

#include <inttypes.h>
#include <stdio.h>

enum { TEXT_MAX_BYTES = 8 << 10, TAGS_MAX_BYTES = 64 << 10, SEARCH_MAX_BYTES = 1 << 20 };

static const char run_name_tag[] = "mlflow.runName";

/* ---- writing ---- */

static bool read_run_id(const struct relay_call *call, struct buf *out)
{
	return relay_text(call, "run_id", out) || relay_text(call, "run_uuid", out);
}

static enum status want_run_id(const struct relay_call *call, struct buf *out, struct error *err)
{
	return read_run_id(call, out) ? OK
				      : error_set(err, ERR_INVALID, "Missing value for required parameter 'run_id'");
}

enum status relay_run_record(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) name = BUF_INIT(64);

	TRY(want_run_id(call, &id, err));
	buf_append_span(&name, call->name);
	buf_append_char(&name, 0);
	TRY(buf_status(&name, err));
	relay_mlflow_put(call->core, name.ptr, call->body);
	return OK;
}

static void write_info(struct json_writer *w, const struct known_run *run)
{
	json_key(w, "info");
	json_object(w);
	json_put_text(w, "run_id", run->id);
	json_put_text(w, "run_uuid", run->id);
	json_put_text(w, "run_name", run->name);
	json_put_text(w, "experiment_id", run->experiment_id);
	json_put_text(w, "user_id", run->user);
	json_put_text(w, "status", run->status);
	json_put_i64(w, "start_time", run->start_ms);
	if (run->end_ms)
		json_put_i64(w, "end_time", run->end_ms);
	json_put_text(w, "artifact_uri", run->artifacts);
	json_put_text(w, "lifecycle_stage", "active");
	json_object_end(w);
}

static void write_run(struct json_writer *w, const struct known_run *run)
{
	json_key(w, "run");
	json_object(w);
	write_info(w, run);
	json_key(w, "data");
	json_object(w);
	json_key(w, "tags");
	json_raw(w, span_from(run->tags));
	json_object_end(w);
	json_object_end(w);
}

/* ---- making ---- */

static char *copy_text(const struct json *body, const char *name)
{
	struct span text = json_string_of(json_get(body, name));

	return mem_copy_bytes(text.len ? text.ptr : "", text.len);
}

static char *copy_name(const struct json *body, const char *id)
{
	struct span name = json_string_of(json_get(body, "run_name"));
	AUTO_DONE(buf) made = BUF_INIT(64);

	for (const struct json *tag = json_first(json_get(body, "tags")); tag && !name.len; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "key")), span_from(run_name_tag)))
			name = json_string_of(json_get(tag, "value"));
	buf_printf(&made, "run-%.8s", id);
	name = name.len ? name : buf_span(&made);
	return mem_copy_bytes(name.ptr, name.len);
}

/* The tags as they came; those that are too long to be kept are with the server alone. */
static char *copy_tags(const struct json *body, const char *name)
{
	AUTO_DONE(buf) text = BUF_INIT(TAGS_MAX_BYTES);
	const struct json *tags = json_get(body, "tags");
	bool has_name = false;
	struct json_writer w = json_writer_on(&text);

	json_array(&w);
	for (const struct json *tag = json_first(tags); tag; tag = json_next(tag)) {
		AUTO_DONE(buf) one = BUF_INIT(TAGS_MAX_BYTES);
		has_name = has_name || span_equal(json_string_of(json_get(tag, "key")), span_from(run_name_tag));
		json_print(tag, &one);
		json_raw(&w, buf_span(&one));
	}
	if (!has_name) {
		json_object(&w);
		json_put_text(&w, "key", run_name_tag);
		json_put_text(&w, "value", name);
		json_object_end(&w);
	}
	json_array_end(&w);
	return text.failure == OK ? mem_copy_bytes(text.ptr, text.len) : mem_copy_bytes("[]", 2);
}

static int64_t read_ms(const struct json *body, const char *name, int64_t otherwise_ms)
{
	const struct json *node = json_get(body, name);
	double number;
	int64_t value;

	if (span_parse_i64(json_string_of(node), &value))
		return value;
	return json_number_of(node, &number) && number >= 0 && number < 0x1p53 ? (int64_t)number : otherwise_ms;
}

static void fill_run(const struct json *body, struct span experiment_id, struct span location, struct known_run *run)
{
	unsigned char bytes[KNOWN_RUN_ID_DIGITS / 2];
	AUTO_DONE(buf) artifacts = BUF_INIT(TEXT_MAX_BYTES);

	*run = (struct known_run){.status = "RUNNING", .start_ms = read_ms(body, "start_time", clock_wall_ms())};
	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, run->id);
	run->experiment_id = mem_copy_bytes(experiment_id.ptr, experiment_id.len);
	run->user = copy_text(body, "user_id");
	run->name = copy_name(body, run->id);
	buf_printf(&artifacts, "%.*s/%s/artifacts", SPAN_ARGS(location), run->id);
	run->artifacts = artifacts.failure == OK ? mem_copy_bytes(artifacts.ptr, artifacts.len) : NULL;
	run->tags = run->name ? copy_tags(body, run->name) : NULL;
}

/* What the server needs so that the run becomes what the client was told. */
static bool complete_body(struct json *body, const struct known_run *run, struct span experiment)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%lld", (long long)run->start_ms);
	return json_set_string(body, "client_run_id", span_from(run->id)) &&
	       json_set_string(body, "run_name", span_from(run->name)) &&
	       json_set_string(body, "start_time", span_from(digits)) &&
	       json_set_string(body, "artifact_uri", span_from(run->artifacts)) &&
	       (!experiment.len || json_set_string(body, "experiment_name", experiment));
}

static enum status make_run(
	struct relay_call *call, const struct relay_experiment *experiment, struct span id, struct error *err)
{
	struct known_run run;

	fill_run(call->body, id, buf_span(&experiment->location), &run);
	if (!run.experiment_id || !run.name || !run.user || !run.artifacts || !run.tags ||
		!complete_body(call->body, &run, buf_span(&experiment->name))) {
		known_run_done(&run);
		return error_no_memory(err);
	}
	write_run(&call->w, &run);
	pthread_mutex_lock(&call->core->mutex);
	bool is_known = known_add_run(call->core->known[RELAY_MLFLOW], &run);
	pthread_mutex_unlock(&call->core->mutex);
	if (!is_known)
		return error_no_memory(err);
	relay_mlflow_put(call->core, "runs/create", call->body);
	return OK;
}

enum status relay_run_create(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	struct relay_experiment experiment;

	if (!relay_text(call, "experiment_id", &id))
		buf_append_text(&id, "0");
	relay_find_experiment(call, buf_span(&id), &experiment);
	enum status status = make_run(call, &experiment, buf_span(&id), err);
	buf_done(&experiment.name);
	buf_done(&experiment.location);
	return status;
}

/* ---- changing ---- */

static const char *status_of(struct span text)
{
	static const char *const statuses[] = {"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_equal(text, span_from(statuses[i])))
			return statuses[i];
	return NULL;
}

static void change(struct known_run *run, const struct json *body)
{
	const char *status = status_of(json_string_of(json_get(body, "status")));
	struct span name = json_string_of(json_get(body, "run_name"));

	if (status) {
		run->status = status;
		run->end_ms = read_ms(body, "end_time", 0);
	}
	char *copy = name.len ? mem_copy_bytes(name.ptr, name.len) : NULL;
	if (!copy)
		return;
	mem_free(run->name);
	run->name = copy;
}

/* One that another process made, or an earlier one. */
static bool fill_unknown(struct relay_call *call, struct span id, struct known_run *run)
{
	*run = (struct known_run){.status = "RUNNING", .start_ms = clock_wall_ms()};
	snprintf(run->id, sizeof run->id, "%.*s", SPAN_ARGS(id));
	pthread_mutex_lock(&call->core->mutex);
	const struct known_experiment *last = known_last(call->core->known[RELAY_MLFLOW]);
	run->experiment_id = mem_copy_string(last ? last->id : "0");
	pthread_mutex_unlock(&call->core->mutex);
	run->name = mem_copy_string(run->id);
	run->user = mem_copy_string("");
	run->tags = mem_copy_string("[]");
	run->artifacts = mem_copy_string("./mlflow-artifacts");
	return run->experiment_id && run->name && run->user && run->tags && run->artifacts;
}

/* What is known of the run, by `write`; false: no memory. */
static bool write_by(struct relay_call *call, struct span id, const struct json *changes,
	void (*write)(struct json_writer *w, const struct known_run *run))
{
	struct known_run unknown;

	pthread_mutex_lock(&call->core->mutex);
	struct known_run *run = known_run(call->core->known[RELAY_MLFLOW], id);
	if (run && changes)
		change(run, changes);
	if (run)
		write(&call->w, run);
	pthread_mutex_unlock(&call->core->mutex);
	if (run)
		return true;
	bool is_filled = fill_unknown(call, id, &unknown);
	if (is_filled && changes)
		change(&unknown, changes);
	if (is_filled)
		write(&call->w, &unknown);
	known_run_done(&unknown);
	return is_filled;
}

static void write_run_info(struct json_writer *w, const struct known_run *run)
{
	AUTO_DONE(buf) info = BUF_INIT(TAGS_MAX_BYTES);
	struct json_writer inner = json_writer_on(&info);

	json_object(&inner);
	write_info(&inner, run);
	json_object_end(&inner);
	/* {"info": {…}} is how a run has it; here it has another name */
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(TAGS_MAX_BYTES);
	if (json_parse(&document, buf_span(&info), NULL) != OK)
		return;
	json_print(json_get(document, "info"), &text);
	json_key(w, "run_info");
	json_raw(w, buf_span(&text));
}

static bool is_end(struct span status)
{
	return span_equal(status, SPAN("FINISHED")) || span_equal(status, SPAN("FAILED")) ||
	       span_equal(status, SPAN("KILLED"));
}

/* What the client would print, but of the server, which is there when the training is over. The page finds the run by its id alone. */
static void tell_place(struct relay_call *call, struct span run_id)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
	int64_t number = 0;

	if (call->core->is_quiet || !is_end(json_string_of(json_get(call->body, "status"))))
		return;
	pthread_mutex_lock(&call->core->mutex);
	const struct known_run *known = known_run(call->core->known[RELAY_MLFLOW], run_id);
	if (known)
		buf_append_text(&id, known->experiment_id);
	pthread_mutex_unlock(&call->core->mutex);
	if (!span_parse_i64(buf_span(&id), &number) || number < 0)
		number = 0;
	client_say(call->core->program, "MLflow's run is at %s/#/experiments/%" PRId64 "/runs/%.*s", call->core->server,
		number, SPAN_ARGS(span_cut(run_id, 64)));
}

/* The server may hear of it later, and what is printed from now on is of this run. False: out of memory. */
static bool date_resumption(struct relay_call *call)
{
	char ms[24];

	bool goes_on = span_equal(json_string_of(json_get(call->body, "status")), SPAN("RUNNING"));

	if (!goes_on || json_get(call->body, "resumed_time"))
		return true;
	snprintf(ms, sizeof ms, "%" PRId64, clock_wall_ms());
	return json_set_string(call->body, "resumed_time", span_from(ms));
}

enum status relay_run_update(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);

	TRY(want_run_id(call, &id, err));
	if (!date_resumption(call))
		return error_no_memory(err);
	relay_mlflow_put(call->core, "runs/update", call->body);
	tell_place(call, buf_span(&id));
	return write_by(call, buf_span(&id), call->body, write_run_info) ? OK : error_no_memory(err);
}

/* ---- reading ---- */

/* The id of the experiment as the client knows it. */
static enum status rename_experiment(struct relay_call *call, struct span run_id, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(RELAY_REPLY_MAX_BYTES);
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);

	if (call->reply->status != 200 || json_parse(&document, buf_span(&call->reply->body), NULL) != OK)
		return OK;
	const struct json *node = json_get_path(document, "run.info.experiment_id");
	pthread_mutex_lock(&call->core->mutex);
	const struct known_run *known = known_run(call->core->known[RELAY_MLFLOW], run_id);
	if (known)
		buf_append_text(&id, known->experiment_id);
	const struct known_experiment *last = known_last(call->core->known[RELAY_MLFLOW]);
	bool is_ours = last && last->is_ours;
	pthread_mutex_unlock(&call->core->mutex);
	if (!known && is_ours)
		relay_client_id(call, json_string_of(node), &id);
	if (!node || !id.len || span_equal(json_string_of(node), buf_span(&id)))
		return OK;
	buf_append_char(&id, 0);
	if (id.failure != OK || !json_replace_string(node, id.ptr))
		return error_no_memory(err);
	json_print(document, &text);
	TRY(buf_status(&text, err));
	relay_reply_with(call, 200, buf_span(&text));
	return OK;
}

enum status relay_run_get(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);

	TRY(want_run_id(call, &id, err));
	bool is_sent = relay_await_sent(call->core);
	pthread_mutex_lock(&call->core->mutex);
	bool is_known = known_run(call->core->known[RELAY_MLFLOW], buf_span(&id)) != NULL;
	pthread_mutex_unlock(&call->core->mutex);
	if ((is_sent || !is_known) && relay_pass(call, err) == OK)
		return rename_experiment(call, buf_span(&id), err);
	return write_by(call, buf_span(&id), NULL, write_run) ? OK : error_no_memory(err);
}

/* Experiments of ours by the server's ids; those that it has not yet have no runs there. */
static enum status name_experiments(struct relay_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SEARCH_MAX_BYTES);
	AUTO(json) list = NULL;
	struct json_writer w = json_writer_on(&text);

	json_array(&w);
	for (const struct json *node = json_first(json_get(call->body, "experiment_ids")); node;
		node = json_next(node)) {
		AUTO_DONE(buf) id = BUF_INIT(TEXT_MAX_BYTES);
		bool is_other = relay_server_id(call, json_string_of(node), &id);
		json_span(&w, is_other ? buf_span(&id) : json_string_of(node));
	}
	json_array_end(&w);
	TRY(buf_status(&text, err));
	TRY(json_parse(&list, buf_span(&text), err));
	return json_set_copy(call->body, "experiment_ids", list) ? OK : error_no_memory(err);
}

enum status relay_run_search(struct relay_call *call, struct error *err)
{
	(void)relay_await_sent(call->core);
	if (json_get(call->body, "experiment_ids"))
		TRY(name_experiments(call, err));
	if (relay_pass(call, err) != OK)
		client_say(call->core->program, "a search of runs finds nothing while %s", err->text);
	return OK;
}
