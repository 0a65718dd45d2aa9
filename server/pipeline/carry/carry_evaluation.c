#include "pipeline/carry/carry_evaluation.h"

#include "pipeline/carry/carry_want.h"

#include <math.h>

static const int64_t largest = (int64_t)1 << 53;

void carry_write_evaluation(const struct evaluation_score *score, struct json_writer *w)
{
	json_key(w, "step");
	if (score->has_step)
		json_i64(w, score->step);
	else
		json_null(w);
	json_put_i64(w, "step_from", score->step_from);
	json_put_span(w, "path", score->path);
	json_put_span(w, "task", score->task);
	json_put_span(w, "metric", score->metric);
	json_put_double(w, "value", score->value);
	json_put_double(w, "stderr", score->error);
	json_put_i64(w, "n", score->samples);
	json_put_i64(w, "shots", score->shots);
	json_put_bool(w, "is_lower", score->is_lower);
	json_put_i64(w, "lower_from", score->lower_from);
	json_put_bool(w, "is_part", score->is_part);
	json_put_span(w, "suite", score->suite);
	json_put_i64(w, "evaluated_ms", score->evaluated_ms);
	json_put_i64(w, "received_ms", score->received_ms);
	json_put_span(w, "author", score->author);
}

static enum status want_finite(const struct json *object, const char *key, double *out, struct error *err)
{
	TRY(want_double(object, key, out, err));
	return isfinite(*out) ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is not finite", key);
}

static enum status want_enum(const struct json *object, const char *key, int64_t count, int32_t *out, struct error *err)
{
	int64_t value;

	TRY(want_i64(object, key, 0, count - 1, &value, err));
	*out = (int32_t)value;
	return OK;
}

static enum status read_checkpoint(
	const struct json *object, struct arena *arena, struct evaluation_score *score, struct error *err)
{
	const struct json *step;

	TRY(want_node(object, "step", &step, "a whole number or null", err));
	score->has_step = json_kind(step) != JSON_NULL;
	if (score->has_step)
		TRY(want_i64(object, "step", 0, largest, &score->step, err));
	TRY(want_enum(object, "step_from", EVALUATION_STEP_COUNT, &score->step_from, err));
	TRY(want_text(object, "path", EVALUATION_PATH_BYTES, arena, &score->path, err));
	if (score->has_step != (score->step_from != EVALUATION_STEP_UNKNOWN))
		return error_set_field(
			err, ERR_SEMANTIC, "step_from", "step_from is 0 of a step that is null, and of no other");
	return OK;
}

enum status carry_read_evaluation(
	const struct json *object, struct arena *arena, struct evaluation_score *score, struct error *err)
{
	*score = (struct evaluation_score){0};
	TRY(read_checkpoint(object, arena, score, err));
	TRY(want_name(object, "task", 1, arena, &score->task, err));
	TRY(want_name(object, "metric", 1, arena, &score->metric, err));
	TRY(want_finite(object, "value", &score->value, err));
	TRY(want_finite(object, "stderr", &score->error, err));
	TRY(want_i64(object, "n", -1, largest, &score->samples, err));
	TRY(want_i64(object, "shots", -1, largest, &score->shots, err));
	TRY(want_bool(object, "is_lower", &score->is_lower, err));
	TRY(want_enum(object, "lower_from", EVALUATION_LOWER_COUNT, &score->lower_from, err));
	TRY(want_bool(object, "is_part", &score->is_part, err));
	TRY(want_name(object, "suite", 0, arena, &score->suite, err));
	TRY(want_i64(object, "evaluated_ms", 0, largest, &score->evaluated_ms, err));
	TRY(want_i64(object, "received_ms", 0, largest, &score->received_ms, err));
	return want_name(object, "author", 0, arena, &score->author, err);
}
