#include "tracker/graphql.h"

#include <math.h>

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct span take_name(struct span *rest)
{
	size_t len = 0;

	while (len < rest->len && is_name_char(rest->ptr[len]))
		len++;
	struct span name = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len);
	return name;
}

/* "query Viewer {", "mutation UpsertBucket(": fragments may stand before it. */
static struct span first_name(struct span query)
{
	struct span rest = query;

	while (rest.len) {
		struct span word = take_name(&rest);
		if (!word.len) {
			rest = span_skip(rest, 1);
			continue;
		}
		if (!span_equal(word, SPAN("query")) && !span_equal(word, SPAN("mutation")))
			continue;
		rest = span_trim(rest);
		return take_name(&rest);
	}
	return SPAN("");
}

/* "query { viewer { id } }" of older clients has no name, and means the operation that has. */
static bool is_nameless_viewer(struct span query)
{
	struct span rest = span_trim(query);

	span_take(&rest, SPAN("query"));
	rest = span_trim(rest);
	if (!span_take(&rest, SPAN("{")))
		return false;
	rest = span_trim(rest);
	return span_equal(take_name(&rest), SPAN("viewer"));
}

enum status graphql_read(const struct json *body, struct graphql_request *out, struct error *err)
{
	*out = (struct graphql_request){.operation = SPAN(""), .query = SPAN("")};
	if (json_kind(body) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "the body must be an object with 'query'");
	TRY(json_want_string(body, "operationName", &out->operation, err));
	const struct json *query = json_get(body, "query"), *variables = json_get(body, "variables");
	out->query = json_string_of(query);
	if (!out->operation.len)
		out->operation = first_name(out->query);
	if (!out->operation.len && is_nameless_viewer(out->query))
		out->operation = SPAN("Viewer");
	if (!out->operation.len)
		return error_set(err, ERR_SEMANTIC,
			"'query' must name its operation, as in 'query Viewer { … }'; this door answers by that name");
	if (variables && json_kind(variables) != JSON_NULL && json_kind(variables) != JSON_OBJECT)
		return error_set(err, ERR_SEMANTIC, "'variables' must be an object");
	out->variables = variables && json_kind(variables) == JSON_OBJECT ? variables : NULL;
	return OK;
}

enum status graphql_text(
	const struct graphql_request *request, const char *name, size_t max_bytes, struct span *out, struct error *err)
{
	const struct json *node = request->variables ? json_get(request->variables, name) : NULL;

	*out = SPAN("");
	if (!node || json_kind(node) == JSON_NULL)
		return OK;
	if (json_kind(node) != JSON_STRING)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' must be a text", name);
	*out = json_string_of(node);
	if (out->len > max_bytes)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' has %zu bytes; at most %zu are taken", name,
			out->len, max_bytes);
	return span_is_utf8(*out) ? OK : error_set_field(err, ERR_SEMANTIC, name, "'%s' is not UTF-8", name);
}

enum status graphql_integer(
	const struct json *from, const char *name, int64_t least, int64_t most, int64_t *out, struct error *err)
{
	const struct json *node = from ? json_get(from, name) : NULL;
	double number;

	if (!node || json_kind(node) == JSON_NULL)
		return OK;
	if (!json_number_of(node, &number) || number != floor(number) || number < (double)least ||
		number > (double)most)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' must be a whole number from %lld to %lld", name,
			(long long)least, (long long)most);
	*out = (int64_t)number;
	return OK;
}
