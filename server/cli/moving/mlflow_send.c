#include "cli/moving/mlflow_send.h"

#include "base/json/json_write.h"
#include "base/map.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/moving/mlflow_talk.h"

#include <math.h>

/* The server's limits on a request (docs/mlflow.md), and on what is in it. */
enum {
	BATCH_POINTS = 1000,
	BATCH_TEXTS = 100,
	BODY_MAX_BYTES = 4 << 20,
	KEY_MAX_BYTES = 250,
	PARAM_MAX_BYTES = 6000,
	TAG_MAX_BYTES = 8000,
	IDENTITY_BYTES = 3 * sizeof(int64_t),
};
static const int64_t STEP_LIMIT = (int64_t)1 << 53;
static const int64_t EARLIEST_MS = 631152000000; /* 1990 */
static const int64_t ANY_STEP = INT64_MIN;

struct sending_run {
	struct mlflow_sending *sum;
	struct mlflow_talk talk;
	const struct mlflow_past_run *run;
	struct json *there; /* the run as the server has it */
	struct buf body; /* points that wait */
	size_t count; /* of them */
	struct span metric;
	struct map *known; /* its points */
	bool is_refused; /* by the server */
	int64_t ended_ms; /* when the run had ended, as the server has it; 0: it had not */
	int64_t went_on_ms; /* its first point behind that; 0: there is none */
	bool goes_on; /* some of those are new */
};

static void sending_run_done(struct sending_run *r)
{
	json_free(r->there);
	buf_done(&r->body);
	map_free(r->known);
}
AUTO_DONE_TYPE(sending_run)

static enum status post(struct sending_run *r, const char *call, const struct buf *body, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(256);

	buf_printf(&path, MLFLOW_CALLS "%s", call);
	TRY(buf_status(body, err));
	return mlflow_talk(&r->talk, buf_span(&path), buf_span(body), NULL, err);
}

/* ---- the run ---- */

static enum status read_there(struct sending_run *r, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(4096);

	url_put_value(&path, MLFLOW_CALLS "runs/get?run_id=", r->run->id);
	TRY(buf_status(&path, err));
	json_free(TAKE(r->there));
	return mlflow_talk(&r->talk, buf_span(&path), SPAN(""), &r->there, err);
}

static struct span name_of(const struct mlflow_past_run *run)
{
	const struct mlflow_pair *tag = mlflow_pairs_find(&run->tags, "mlflow.runName");

	return run->name.len || !tag ? run->name : tag->value;
}

static enum status make(struct sending_run *r, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
	struct json_writer w = json_writer_on(&body);
	const struct mlflow_past_run *run = r->run;

	json_object(&w);
	json_put_span(&w, "client_run_id", run->id);
	json_put_span(&w, "experiment_name", run->experiment);
	if (name_of(run).len)
		json_put_span(&w, "run_name", span_cut(name_of(run), 500));
	if (run->user.len)
		json_put_span(&w, "user_id", span_cut(run->user, 256));
	if (run->artifacts.len && run->artifacts.len <= 2000)
		json_put_span(&w, "artifact_uri", run->artifacts);
	if (run->start_ms >= EARLIEST_MS)
		json_put_i64(&w, "start_time", run->start_ms);
	json_object_end(&w);
	return post(r, "runs/create", &body, err);
}

static enum status find_or_make(struct sending_run *r, struct error *err)
{
	enum status status = read_there(r, err);

	if (status == ERR_NOT_FOUND) {
		TRY(make(r, err));
		return read_there(r, err);
	}
	r->sum->runs_there += status == OK;
	return status;
}

/* ---- params and tags ---- */

static enum status known_texts(struct sending_run *r, const char *what, struct map *known, struct error *err)
{
	const struct json *data = json_get(json_get(r->there, "run"), "data");

	for (const struct json *at = json_first(json_get(data, what)); at; at = json_next(at)) {
		AUTO_DONE(buf) text = BUF_INIT(BODY_MAX_BYTES);
		buf_append_span(&text, json_string_of(json_get(at, "key")));
		buf_append_char(&text, 0);
		buf_append_span(&text, json_string_of(json_get(at, "value")));
		TRY(buf_status(&text, err));
		if (!map_put(known, buf_span(&text), known))
			return error_no_memory(err);
	}
	return OK;
}

static enum status is_known(const struct map *known, const struct mlflow_pair *pair, bool *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(pair->key.len + pair->value.len + 1);

	buf_append_span(&text, pair->key);
	buf_append_char(&text, 0);
	buf_append_span(&text, pair->value);
	*out = map_get(known, buf_span(&text)) != NULL;
	return buf_status(&text, err);
}

struct texts {
	const char *what; /* "params" */
	const struct mlflow_pairs *pairs;
	size_t max_bytes;
	struct map *known;
};

/* Up to BATCH_TEXTS of them, from *at on, as a request; *count: how many are in it. */
static enum status write_texts(struct sending_run *r, const struct texts *texts, size_t *at, struct buf *body,
	size_t *count, struct error *err)
{
	struct json_writer w = json_writer_on(body);
	bool known;

	json_object(&w);
	json_put_span(&w, "run_id", r->run->id);
	json_key(&w, texts->what);
	json_array(&w);
	for (*count = 0; *at < texts->pairs->count && *count < BATCH_TEXTS; ++*at) {
		const struct mlflow_pair *pair = &texts->pairs->items[*at];
		TRY(is_known(texts->known, pair, &known, err));
		bool is_long = pair->key.len > KEY_MAX_BYTES || pair->value.len > texts->max_bytes;
		r->sum->texts_long += is_long;
		if (known || is_long)
			continue;
		json_object(&w);
		json_put_span(&w, "key", pair->key);
		json_put_span(&w, "value", pair->value);
		json_object_end(&w);
		++*count;
	}
	json_array_end(&w);
	json_object_end(&w);
	return OK;
}

static enum status send_texts(
	struct sending_run *r, const char *what, const struct mlflow_pairs *pairs, size_t max_bytes, struct error *err)
{
	AUTO(map) known = map_new();
	struct texts texts = {what, pairs, max_bytes, known};

	if (!known)
		return error_no_memory(err);
	TRY(known_texts(r, what, known, err));
	for (size_t at = 0; at < pairs->count;) {
		AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
		size_t count;
		TRY(write_texts(r, &texts, &at, &body, &count, err));
		if (count)
			TRY(post(r, "runs/log-batch", &body, err));
	}
	return OK;
}

/* ---- points ---- */

/* The server counts points of step 0 (docs/mlflow.md), so that those may have another step there. */
static struct span identity_of(const struct mlflow_point *point, int64_t step, char out[IDENTITY_BYTES])
{
	double value = isnan(point->value) ? (double)NAN : point->value == 0 ? 0 : point->value;

	memcpy(out, &point->ts_ms, sizeof point->ts_ms);
	memcpy(out + sizeof(int64_t), &step, sizeof step);
	memcpy(out + 2 * sizeof(int64_t), &value, sizeof value);
	return span_of(out, IDENTITY_BYTES);
}

static enum status note_there(void *context, const struct mlflow_point *point, struct error *err)
{
	struct sending_run *r = context;
	char identity[IDENTITY_BYTES];

	if (!map_put(r->known, identity_of(point, point->step, identity), r) ||
		!map_put(r->known, identity_of(point, ANY_STEP, identity), r))
		return error_no_memory(err);
	return OK;
}

static enum status flush(struct sending_run *r, struct error *err)
{
	if (!r->count)
		return OK;
	buf_append_text(&r->body, "]}");
	r->is_refused = true;
	TRY(post(r, "runs/log-batch", &r->body, err));
	r->is_refused = false;
	r->sum->points_new += r->count;
	r->count = 0;
	buf_reset(&r->body);
	return OK;
}

static enum status write_point(struct sending_run *r, const struct mlflow_point *point, struct error *err)
{
	if (!r->count) {
		buf_append_text(&r->body, "{\"run_id\":");
		struct json_writer id = json_writer_on(&r->body);
		json_span(&id, r->run->id);
		buf_append_text(&r->body, ",\"metrics\":[");
	} else {
		buf_append_char(&r->body, ',');
	}
	struct json_writer w = json_writer_on(&r->body);
	json_object(&w);
	json_put_span(&w, "key", r->metric);
	json_put_double(&w, "value", point->value);
	json_put_i64(&w, "timestamp", point->ts_ms);
	json_put_i64(&w, "step", point->step);
	json_object_end(&w);
	r->count++;
	return r->count == BATCH_POINTS ? flush(r, err) : OK;
}

static void note_behind_end(struct sending_run *r, int64_t ts_ms)
{
	if (r->ended_ms && ts_ms > r->ended_ms && (!r->went_on_ms || ts_ms < r->went_on_ms))
		r->went_on_ms = ts_ms;
}

static enum status send_point(void *context, const struct mlflow_point *point, struct error *err)
{
	struct sending_run *r = context;
	char identity[IDENTITY_BYTES];
	struct span id = identity_of(point, point->step ? point->step : ANY_STEP, identity);

	if (point->ts_ms < EARLIEST_MS || point->step < -STEP_LIMIT || point->step > STEP_LIMIT) {
		r->sum->points_odd++;
		return OK;
	}
	note_behind_end(r, point->ts_ms);
	if (map_get(r->known, id)) {
		r->sum->points_there++;
		return OK;
	}
	if (!map_put(r->known, id, r))
		return error_no_memory(err);
	r->goes_on |= r->ended_ms && point->ts_ms > r->ended_ms;
	return write_point(r, point, err);
}

static enum status send_metrics(
	struct sending_run *r, const struct mlflow_source *source, bool was_there, struct error *err)
{
	const struct mlflow_pairs *metrics = &r->run->metrics;

	for (size_t i = 0; i < metrics->count; i++) {
		map_free(r->known);
		if (!(r->known = map_new()))
			return error_no_memory(err);
		r->metric = metrics->items[i].key;
		if (was_there)
			TRY(mlflow_talk_history(&r->talk, r->run->id, r->metric, note_there, r, err));
		enum status status =
			source->kind->points(source->state, r->run, &metrics->items[i], send_point, r, err);
		if (status == ERR_INVALID && !r->is_refused) {
			r->sum->metrics_damaged++;
			client_say(r->sum->program, "%s", err->text);
			continue;
		}
		TRY(status);
	}
	return flush(r, err);
}

/* ---- its end ---- */

static bool is_end(struct span status)
{
	return span_equal(status, SPAN("FINISHED")) || span_equal(status, SPAN("FAILED")) ||
	       span_equal(status, SPAN("KILLED"));
}

static void read_end(struct sending_run *r)
{
	const struct json *info = json_get(json_get(r->there, "run"), "info");

	if (is_end(json_string_of(json_get(info, "status"))))
		mlflow_talk_integer(json_get(info, "end_time"), &r->ended_ms);
}

static enum status send_status(
	struct sending_run *r, const char *when, struct span status, int64_t at_ms, struct error *err)
{
	AUTO_DONE(buf) body = BUF_INIT(BODY_MAX_BYTES);
	struct json_writer w = json_writer_on(&body);

	json_object(&w);
	json_put_span(&w, "run_id", r->run->id);
	json_put_span(&w, "status", status);
	if (at_ms >= EARLIEST_MS)
		json_put_i64(&w, when, at_ms);
	json_object_end(&w);
	return post(r, "runs/update", &body, err);
}

/* It had ended when it came last. By hand, maybe, where MLflow says no end: that holds until something is new behind it. */
static enum status send_resumption(struct sending_run *r, struct error *err)
{
	bool has_ended = is_end(r->run->status);

	if (!r->went_on_ms || (has_ended ? r->run->end_ms <= r->ended_ms : !r->goes_on))
		return OK;
	return send_status(r, "resumed_time", SPAN("RUNNING"), r->went_on_ms, err);
}

static enum status send_end(struct sending_run *r, struct error *err)
{
	const struct mlflow_past_run *run = r->run;
	const struct json *info = json_get(json_get(r->there, "run"), "info");

	TRY(send_resumption(r, err));
	if (!is_end(run->status)) {
		r->sum->runs_open++;
		return OK;
	}
	if (span_equal(json_string_of(json_get(info, "status")), run->status) &&
		(r->ended_ms == run->end_ms || run->end_ms < EARLIEST_MS))
		return OK;
	return send_status(r, "end_time", run->status, run->end_ms, err);
}

static enum status send_all(struct sending_run *r, const struct mlflow_source *source, struct error *err)
{
	size_t before = r->sum->runs_there;

	TRY(find_or_make(r, err));
	read_end(r);
	TRY(send_texts(r, "tags", &r->run->tags, TAG_MAX_BYTES, err));
	TRY(send_texts(r, "params", &r->run->params, PARAM_MAX_BYTES, err));
	TRY(send_metrics(r, source, r->sum->runs_there > before, err));
	return send_end(r, err);
}

enum status mlflow_send_run(struct mlflow_sending *sending, const struct mlflow_source *source,
	const struct mlflow_past_run *run, struct error *err)
{
	AUTO_DONE(sending_run)
	r = {.sum = sending,
		.run = run,
		.talk = {.client = sending->client, .patience_ms = sending->patience_ms, .wait = sending->wait},
		.body = BUF_INIT(BODY_MAX_BYTES)};

	enum status status = send_all(&r, source, err);
	sending->is_stopped |= r.talk.is_stopped;
	return status;
}
