/* What a call says: members of its body, or parameters of its address. */
#include "mlflow/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum status mlflow_error(struct error *err, enum status status, const char *code, const char *format, ...)
{
	char text[ERROR_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	error_fill(err, status, "%s", text);
	if (err)
		err->code = code;
	return status;
}

static const struct json *member(const struct mlflow_call *call, const char *name)
{
	const struct json *node = call->body ? json_get(call->body, name) : NULL;

	return node && json_kind(node) != JSON_NULL ? node : NULL;
}

static enum status check_text(const char *name, struct span text, size_t max_bytes, struct error *err)
{
	if (text.len > max_bytes)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'%s' has %zu bytes; at most %zu are taken",
			name, text.len, max_bytes);
	return span_is_utf8(text) && !memchr(text.ptr, 0, text.len)
		       ? OK
		       : mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'%s' is not UTF-8", name);
}

enum status mlflow_text(
	const struct mlflow_call *call, const char *name, size_t max_bytes, struct span *out, struct error *err)
{
	const struct json *node = member(call, name);

	if (call->body && !node)
		return OK;
	if (node && json_kind(node) != JSON_STRING)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'%s' must be a text", name);
	if (node)
		*out = json_string_of(node);
	else if (!http_request_query(call->request, name, out))
		return OK;
	return out->len ? check_text(name, *out, max_bytes, err) : OK;
}

enum status mlflow_want_text(
	const struct mlflow_call *call, const char *name, size_t max_bytes, struct span *out, struct error *err)
{
	*out = SPAN("");
	TRY(mlflow_text(call, name, max_bytes, out, err));
	return out->len ? OK
			: mlflow_error(
				  err, ERR_SEMANTIC, MLFLOW_INVALID, "Missing value for required parameter '%s'", name);
}

bool mlflow_integer_of(const struct json *node, int64_t *out)
{
	static const double most = 0x1p53; /* whole numbers up to it are exact */
	double number;

	if (json_kind(node) == JSON_STRING)
		return span_parse_i64(json_string_of(node), out);
	if (!json_number_of(node, &number) || !(fabs(number) <= most) || number != floor(number))
		return false;
	*out = (int64_t)number;
	return true;
}

enum status mlflow_integer(
	const struct mlflow_call *call, const char *name, int64_t min, int64_t max, int64_t *out, struct error *err)
{
	const struct json *node = member(call, name);
	struct span text;
	int64_t value;

	if (call->body && !node)
		return OK;
	if (!node && !http_request_query(call->request, name, &text))
		return OK;
	bool is = node ? mlflow_integer_of(node, &value) : span_parse_i64(text, &value);
	if (!is || value < min || value > max)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'%s' must be a whole number from %lld to %lld",
			name, (long long)min, (long long)max);
	*out = value;
	return OK;
}

/* Older clients have run_uuid alone. */
enum status mlflow_run_id(const struct mlflow_call *call, struct span *out, struct error *err)
{
	*out = SPAN("");
	TRY(mlflow_text(call, "run_id", MLFLOW_KEY_MAX_BYTES, out, err));
	return out->len ? OK : mlflow_want_text(call, "run_uuid", MLFLOW_KEY_MAX_BYTES, out, err);
}

bool mlflow_experiment_id_of(struct span text, int64_t *out)
{
	return span_parse_i64(text, out) && *out >= 0;
}

enum status mlflow_experiment_id(const struct mlflow_call *call, int64_t *out, struct error *err)
{
	struct span text = SPAN("0");

	TRY(mlflow_text(call, "experiment_id", MLFLOW_KEY_MAX_BYTES, &text, err));
	if (mlflow_experiment_id_of(text, out))
		return OK;
	return mlflow_error(err, ERR_NOT_FOUND, NULL, "there is no experiment with the id '%.*s'", SPAN_ARGS(text));
}

static enum status read_pair(const struct mlflow_call *call, const char *name, const struct json *node,
	size_t value_max_bytes, struct tracked_pairs *out, struct error *err)
{
	const struct json *value = json_get(node, "value");
	struct span key = json_string_of(json_get(node, "key"));

	if (!key.len || (value && json_kind(value) != JSON_STRING && json_kind(value) != JSON_NULL))
		return mlflow_error(
			err, ERR_SEMANTIC, MLFLOW_INVALID, "each of '%s' needs 'key' and 'value', both texts", name);
	struct span text = value ? json_string_of(value) : SPAN("");
	TRY(check_text(name, key, MLFLOW_KEY_MAX_BYTES, err));
	TRY(check_text(name, text, value_max_bytes, err));
	if (!text.ptr)
		text = SPAN("");
	return tracked_pairs_add(call->arena, out, key, text) ? OK : error_no_memory(err);
}

enum status mlflow_pairs(const struct mlflow_call *call, const char *name, size_t most, size_t value_max_bytes,
	struct tracked_pairs *out, struct error *err)
{
	const struct json *list = member(call, name);

	if (!list)
		return OK;
	if (json_kind(list) != JSON_ARRAY)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "'%s' must be a list", name);
	if (json_count(list) > most)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
			"a request can hold at most %zu %s; this has %zu", most, name, json_count(list));
	for (const struct json *node = json_first(list); node; node = json_next(node))
		TRY(read_pair(call, name, node, value_max_bytes, out, err));
	return OK;
}
