/* A run's config, {"lr": {"value": 0.1}, "_wandb": {"value": {…}}}: hyperparameters, and what the client says of itself. */
#include "base/json/json_write.h"
#include "base/secret.h"
#include "base/text/iso8601.h"
#include "model/jobs/job_time.h"
#include "wandb/flat.h"
#include "wandb/internal.h"

enum {
	VALUE_MAX_BYTES = 8000, /* of one setting: what is longer is cut */
	ALL_MAX_BYTES = 1 << 20, /* of all: what is beyond is left out, since no config ends a training */
	FEATURE_SHARED = 67, /* what its telemetry calls mode="shared", from 0.19 on */
};

struct reading {
	struct arena *arena;
	struct wandb_settings *out;
	struct json_writer config;
	size_t bytes;
	struct span axes; /* JSON of define_metric; "": none */
};

/* "model.value.layers" -> "model.layers" */
static enum status cut_value(struct reading *r, struct span path, struct span *out, struct error *err)
{
	const struct span word = SPAN(".value");
	ptrdiff_t at = span_find(path, word);
	struct span rest = at < 0 ? SPAN("") : span_skip(path, (size_t)at + word.len);
	AUTO_DONE(buf) name = BUF_INIT(FLAT_PATH_MAX_BYTES);

	*out = SPAN("");
	if (at <= 0 || (rest.len && rest.ptr[0] != '.'))
		return OK;
	buf_append(&name, path.ptr, (size_t)at);
	buf_append_span(&name, rest);
	TRY(buf_status(&name, err));
	*out = arena_copy(r->arena, buf_span(&name));
	return out->ptr ? OK : error_no_memory(err);
}

/* init(fork_from=…): the run that this one goes on from, and the last step that it shares with it. */
static enum status take_origin(struct reading *r, const struct flat_leaf *leaf, struct error *err)
{
	if (span_equal(leaf->path, SPAN("_wandb.value.branch_point.step")) && leaf->kind == FLAT_NUMBER)
		r->out->origin_step = leaf->number;
	if (!span_equal(leaf->path, SPAN("_wandb.value.branch_point.run_id")) || leaf->kind != FLAT_TEXT)
		return OK;
	r->out->origin = arena_copy(r->arena, leaf->text);
	return r->out->origin.ptr ? OK : error_no_memory(err);
}

static bool has_number(struct span list, double wanted)
{
	AUTO(json) numbers = NULL;
	double number;

	if (json_parse(&numbers, list, NULL) != OK)
		return false;
	for (const struct json *at = json_first(numbers); at; at = json_next(at))
		if (json_number_of(at, &number) && number == wanted)
			return true;
	return false;
}

/* What the client says of itself. */
static enum status take_own(struct reading *r, const struct flat_leaf *leaf, struct error *err)
{
	int64_t start_ms = 0;

	if (span_equal(leaf->path, SPAN("_wandb.value.m")) && leaf->kind == FLAT_LIST) {
		r->axes = arena_copy(r->arena, leaf->raw);
		return r->axes.ptr ? OK : error_no_memory(err);
	}
	if (span_starts_with(leaf->path, SPAN("_wandb.value.branch_point.")))
		return take_origin(r, leaf, err);
	if (span_equal(leaf->path, SPAN("_wandb.value.t.3")) && leaf->kind == FLAT_LIST) {
		r->out->is_shared = has_number(leaf->raw, FEATURE_SHARED);
		return OK;
	}
	if (span_equal(leaf->path, SPAN("_wandb.value.start_time")) && leaf->kind == FLAT_NUMBER)
		start_ms = leaf->number > 0 && leaf->number < 1e10 ? (int64_t)(leaf->number * 1000) : 0;
	else if (span_ends_with(leaf->path, SPAN(".startedAt")) && !iso8601_parse(leaf->text, &start_ms))
		start_ms = 0;
	/* of a run that was resumed each process has its own */
	if (start_ms >= JOB_EARLIEST_MS && start_ms < JOB_LATEST_MS &&
		(!r->out->start_ms || start_ms < r->out->start_ms))
		r->out->start_ms = start_ms;
	return OK;
}

/* A client that goes on is given its config again; a secret it has itself. */
static void put_config(struct reading *r, struct span name, const struct flat_leaf *leaf, struct span text)
{
	if (secret_is_name(name) || secret_is_value(text) || secret_is_in_url(text))
		return;
	json_key_span(&r->config, name);
	json_object(&r->config);
	json_key(&r->config, "value");
	json_raw(&r->config, leaf->raw);
	json_object_end(&r->config);
}

static enum status take_leaf(void *context, const struct flat_leaf *leaf, struct error *err)
{
	struct reading *r = context;
	struct span name, text = leaf->kind == FLAT_TEXT ? leaf->text : leaf->raw;

	if (span_starts_with(leaf->path, SPAN("_wandb."))) {
		r->out->has_own = true;
		return take_own(r, leaf, err);
	}
	TRY(cut_value(r, leaf->path, &name, err));
	if (!name.len || r->bytes + name.len + leaf->raw.len > ALL_MAX_BYTES || !span_is_utf8(name) ||
		!span_is_utf8(text) || memchr(text.ptr, 0, text.len))
		return OK;
	r->bytes += name.len + leaf->raw.len;
	put_config(r, name, leaf, text);
	struct span value = arena_copy(r->arena, span_cut(text, VALUE_MAX_BYTES));
	return value.ptr && tracked_pairs_add(r->arena, &r->out->pairs, name, value) ? OK : error_no_memory(err);
}

/* ---- axes ---- */

/* {"1": metric, "2": "eval/" and a star, "4": axis, "5": which entry is its axis, from 1}: numbers are those of W&B's protobuf. */
static void put_axis(struct json_writer *w, const struct json *list, const struct json *entry)
{
	struct span metric = json_string_of(json_get(entry, "1")), axis = json_string_of(json_get(entry, "4"));
	double index;

	if (!metric.len)
		metric = json_string_of(json_get(entry, "2"));
	if (json_get(entry, "5") && json_number_of(json_get(entry, "5"), &index) && index >= 1) {
		const struct json *of = json_first(list);
		for (uint32_t at = 1; of && at < index; at++)
			of = json_next(of);
		axis = of ? json_string_of(json_get(of, "1")) : axis;
	}
	if (!metric.len || !axis.len || metric.len > FLAT_PATH_MAX_BYTES || axis.len > FLAT_PATH_MAX_BYTES)
		return;
	json_array(w);
	json_span(w, metric);
	json_span(w, axis);
	json_array_end(w);
}

static bool is_said(const struct json *list, struct span metric)
{
	for (const struct json *at = list ? json_first(list) : NULL; at; at = json_next(at))
		if (span_equal(json_string_of(json_get(at, "1")), metric) ||
			span_equal(json_string_of(json_get(at, "2")), metric))
			return true;
	return false;
}

/* A process that goes on with the run says its own alone: what the others said is behind them. */
static void put_axes_before(struct json_writer *w, const struct json *list, const struct json *before, size_t count)
{
	const struct json *axes = before ? json_get(before, "axes") : NULL;

	for (const struct json *at = axes ? json_first(axes) : NULL; at && count < HISTORY_AXES_MAX;
		at = json_next(at)) {
		const struct json *metric = json_first(at), *axis = metric ? json_next(metric) : NULL;
		if (!axis || is_said(list, json_string_of(metric)))
			continue;
		json_array(w);
		json_span(w, json_string_of(metric));
		json_span(w, json_string_of(axis));
		json_array_end(w);
		count++;
	}
}

static enum status put_axes(struct json_writer *w, struct span axes, const struct json *before, struct error *err)
{
	AUTO(json) list = NULL;
	size_t count = 0;

	json_key(w, "axes");
	json_array(w);
	if (axes.len && json_parse(&list, axes, NULL) == ERR_MEMORY)
		return error_no_memory(err);
	for (const struct json *at = list ? json_first(list) : NULL; at && count < HISTORY_AXES_MAX;
		at = json_next(at), count++)
		put_axis(w, list, at);
	put_axes_before(w, list, before, count);
	json_array_end(w);
	return OK;
}

static enum status write_note(const struct reading *r, const struct wandb_noting *noting, struct error *err)
{
	struct json_writer w = json_writer_on(&r->out->note);

	json_object(&w);
	json_put_span(&w, "host", noting->host);
	json_put_i64(&w, "start", r->out->start_ms);
	json_put_bool(&w, "sync", noting->is_sync);
	json_put_i64(&w, "session", noting->session);
	TRY(put_axes(&w, r->axes, noting->before, err));
	json_object_end(&w);
	return buf_status(&r->out->note, err);
}

void wandb_settings_done(struct wandb_settings *settings)
{
	buf_done(&settings->config);
	buf_done(&settings->note);
}

enum status settings_read(struct arena *arena, struct span config, const struct wandb_noting *noting,
	struct wandb_settings *out, struct error *err)
{
	struct reading r = {.arena = arena, .out = out, .axes = SPAN("")};
	size_t left_out = 0;

	*out = (struct wandb_settings){
		.origin = SPAN(""), .config = BUF_INIT(4 * ALL_MAX_BYTES), .note = BUF_INIT(4 * ALL_MAX_BYTES)};
	r.config = json_writer_on(&out->config);
	json_object(&r.config);
	if (config.len) {
		enum status status = flat_read(config, take_leaf, &r, &left_out, err);
		if (status == ERR_INVALID)
			return error_set_field(
				err, ERR_SEMANTIC, "config", "'config' is no JSON object: %s", err->text);
		TRY(status);
	}
	json_object_end(&r.config);
	TRY(buf_status(&out->config, err));
	return write_note(&r, noting, err);
}

/* Its own name before all with a star, of these the longest: clients list them in any order. */
static bool goes_before(const struct history_axis *one, const struct history_axis *other)
{
	bool has_star = span_ends_with(one->metric, SPAN("*")), has_other = span_ends_with(other->metric, SPAN("*"));

	return has_star == has_other ? has_star && one->metric.len > other->metric.len : !has_star;
}

static void put_in_order(struct history_axis *axes, size_t count, struct history_axis one)
{
	for (; count && goes_before(&one, &axes[count - 1]); count--)
		axes[count] = axes[count - 1];
	axes[count] = one;
}

enum status wandb_note_axes(
	struct arena *arena, const struct json *note, struct history_axis **out, size_t *count, struct error *err)
{
	const struct json *axes = json_get(note, "axes");

	*count = 0;
	if (!(*out = arena_alloc(arena, HISTORY_AXES_MAX * sizeof **out)))
		return error_no_memory(err);
	for (const struct json *at = axes ? json_first(axes) : NULL; at && *count < HISTORY_AXES_MAX;
		at = json_next(at)) {
		const struct json *metric = json_first(at), *axis = metric ? json_next(metric) : NULL;
		if (!axis)
			continue;
		const struct history_axis one = {
			arena_copy(arena, json_string_of(metric)), arena_copy(arena, json_string_of(axis))};
		if (!one.metric.ptr || !one.axis.ptr)
			return error_no_memory(err);
		put_in_order(*out, (*count)++, one);
	}
	return OK;
}

enum status wandb_read_axes(
	struct wandb_call *call, int64_t job_id, struct history_axis **out, size_t *count, struct error *err)
{
	struct tracked_file_row row;
	AUTO(json) note = NULL;

	TRY(store_read_tracked_file(call->reader, call->arena, job_id, SPAN(WANDB_RUN_FILE), &row, err));
	TRY(json_parse(&note, row.content.len ? row.content : SPAN("{}"), err));
	return wandb_note_axes(call->arena, note, out, count, err);
}
