#include "model/jobs/gpu_trace.h"

#include "model/json_form.h"

#include <math.h>

/* Each byte of its texts may become \u00XX. */
enum { DOCUMENT_BYTES_MAX = 6 * (GPU_TRACE_FILE_BYTES + 2 * GPU_TRACE_NAME_BYTES) + 2048 };

static const int64_t largest = (int64_t)1 << 53, time_max_ms = (int64_t)1 << 45;

const char *const gpu_trace_kinds[GPU_TRACE_KINDS] = {"compute", "communication", "memory", "other"};

/* ---- members ---- */

/* Whole, from 0 on; it stays as it was where the document does not say, which a member without which nothing is known may not do. */
static enum status read_number(
	const struct json *object, const char *key, bool must_be, int64_t most, int64_t *out, struct error *err)
{
	const struct json *node = json_get(object, key);
	int64_t value = *out;

	if (!node || json_kind(node) == JSON_NULL)
		return must_be ? error_set_field(err, ERR_SEMANTIC, key, "%s is missing: a whole number", key) : OK;
	TRY(json_want_i64(object, key, &value, err));
	if (value < 0 || value > most)
		return error_set_field(err, ERR_SEMANTIC, key, "%s is %lld; it takes 0 to %lld", key, (long long)value,
			(long long)most);
	*out = value;
	return OK;
}

static enum status read_text(const struct json *object, const char *key, bool must_be, size_t most, struct arena *arena,
	struct span *out, struct error *err)
{
	struct span text = SPAN("");

	TRY(json_want_string(object, key, &text, err));
	if (must_be && !text.len)
		return error_set_field(err, ERR_SEMANTIC, key, "%s is missing, or empty", key);
	TRY(json_check_name(text, most, key, key, err));
	*out = arena_copy(arena, text);
	return out->ptr ? OK : error_no_memory(err);
}

static enum status read_names(
	const struct json *document, struct arena *arena, struct gpu_trace *out, struct error *err)
{
	TRY(read_text(document, "stream", true, GPU_TRACE_NAME_BYTES, arena, &out->stream, err));
	TRY(read_text(document, "trace", true, GPU_TRACE_NAME_BYTES, arena, &out->trace, err));
	TRY(read_text(document, "file", false, GPU_TRACE_FILE_BYTES, arena, &out->file, err));
	TRY(read_number(document, "rank", false, largest, &out->rank, err));
	TRY(read_number(document, "devices", false, largest, &out->devices, err));
	return read_number(document, "profiled_ms", false, time_max_ms, &out->profiled_ms, err);
}

static enum status read_steps(const struct json *document, struct gpu_trace *out, struct error *err)
{
	TRY(read_number(document, "first_step", false, largest, &out->first_step, err));
	TRY(read_number(document, "last_step", false, largest, &out->last_step, err));
	TRY(read_number(document, "steps", false, largest, &out->steps, err));
	TRY(read_number(document, "step_us", false, largest, &out->step_us, err));
	TRY(json_want_bool(document, "last_left_out", &out->is_last_left_out, err));
	if ((out->first_step < 0) != (out->last_step < 0) || out->first_step > out->last_step)
		return error_set_field(err, ERR_SEMANTIC, "last_step",
			"first_step and last_step are both there, in this order, or neither");
	return OK;
}

static enum status read_times(const struct json *document, struct gpu_trace *out, struct error *err)
{
	TRY(read_number(document, "kernels", true, largest, &out->kernels, err));
	TRY(read_number(document, "kernel_us", true, largest, &out->kernel_us, err));
	TRY(read_number(document, "idle_us", true, out->kernel_us, &out->idle_us, err));
	TRY(read_number(document, "compute_us", true, out->kernel_us - out->idle_us, &out->compute_us, err));
	TRY(read_number(
		document, "communication_us", true, out->kernel_us - out->idle_us, &out->communication_us, err));
	int64_t least = out->compute_us < out->communication_us ? out->compute_us : out->communication_us;
	TRY(read_number(document, "overlap_us", true, least, &out->overlap_us, err));
	if (out->compute_us + out->communication_us - out->overlap_us > out->kernel_us - out->idle_us)
		return error_set_field(err, ERR_SEMANTIC, "overlap_us",
			"compute_us and communication_us without overlap_us are more than kernel_us without idle_us");
	return OK;
}

static enum status read_kinds(const struct json *document, struct gpu_trace *out, struct error *err)
{
	const struct json *kinds = json_get(document, "by_kind_us");

	if (kinds && json_kind(kinds) != JSON_OBJECT && json_kind(kinds) != JSON_NULL)
		return error_set_field(err, ERR_SEMANTIC, "by_kind_us", "by_kind_us is no object");
	for (size_t i = 0; kinds && i < GPU_TRACE_KINDS; i++)
		TRY(read_number(kinds, gpu_trace_kinds[i], false, largest, &out->by_kind_us[i], err));
	return OK;
}

enum status gpu_trace_read(struct gpu_trace *out, const struct json *document, struct arena *arena, struct error *err)
{
	*out = (struct gpu_trace){.rank = -1,
		.first_step = -1,
		.last_step = -1,
		.step_us = -1,
		.devices = -1,
		.by_kind_us = {-1, -1, -1, -1}};
	if (json_kind(document) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "the summary of a trace is an object");
	TRY(read_names(document, arena, out, err));
	TRY(read_steps(document, out, err));
	TRY(read_times(document, out, err));
	return read_kinds(document, out, err);
}

/* ---- back ---- */

static void put_known(struct json_writer *w, const char *key, int64_t value, int64_t unknown)
{
	json_key(w, key);
	if (value == unknown)
		json_null(w);
	else
		json_i64(w, value);
}

static void write_times(const struct gpu_trace *trace, struct json_writer *w)
{
	json_put_i64(w, "kernels", trace->kernels);
	json_put_i64(w, "kernel_us", trace->kernel_us);
	json_put_i64(w, "idle_us", trace->idle_us);
	json_put_i64(w, "compute_us", trace->compute_us);
	json_put_i64(w, "communication_us", trace->communication_us);
	json_put_i64(w, "overlap_us", trace->overlap_us);
	json_key(w, "by_kind_us");
	json_object(w);
	for (size_t i = 0; i < GPU_TRACE_KINDS; i++)
		put_known(w, gpu_trace_kinds[i], trace->by_kind_us[i], -1);
	json_object_end(w);
}

void gpu_trace_write(const struct gpu_trace *trace, struct json_writer *w)
{
	json_put_span(w, "stream", trace->stream);
	json_put_span(w, "trace", trace->trace);
	json_key(w, "file");
	if (trace->file.len)
		json_span(w, trace->file);
	else
		json_null(w);
	put_known(w, "rank", trace->rank, -1);
	put_known(w, "devices", trace->devices, -1);
	put_known(w, "profiled_ms", trace->profiled_ms, 0);
	put_known(w, "first_step", trace->first_step, -1);
	put_known(w, "last_step", trace->last_step, -1);
	json_put_i64(w, "steps", trace->steps);
	put_known(w, "step_us", trace->step_us, -1);
	json_put_bool(w, "last_left_out", trace->is_last_left_out);
	write_times(trace, w);
}

enum status gpu_trace_print(const struct gpu_trace *trace, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_BYTES_MAX);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	gpu_trace_write(trace, &w);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

double gpu_trace_share(const struct gpu_trace *trace, int64_t us)
{
	return trace->kernel_us ? (double)us / (double)trace->kernel_us : NAN;
}

int64_t gpu_trace_exposed_us(const struct gpu_trace *trace)
{
	return trace->communication_us - trace->overlap_us;
}
