#include "http/request.h"

#include "http/guard.h"

#include <inttypes.h>

struct method_name {
	const char *name;
	enum http_method method;
};

static const struct method_name method_names[] = {
	{"GET", HTTP_GET},
	{"HEAD", HTTP_GET},
	{"POST", HTTP_POST},
	{"PUT", HTTP_PUT},
	{"PATCH", HTTP_PATCH},
	{"DELETE", HTTP_DELETE},
	{"OPTIONS", HTTP_OPTIONS},
};

enum status request_init(struct http_request *request, struct error *err)
{
	*request = (struct http_request){.arena = arena_new()};
	return request->arena ? OK : error_no_memory(err);
}

void request_done(struct http_request *request)
{
	buf_done(&request->body);
	arena_free(request->arena);
	request->arena = NULL;
}

void request_set_method(struct http_request *request, struct span method)
{
	for (size_t i = 0; i < sizeof method_names / sizeof *method_names; i++)
		if (span_equal(method, span_from(method_names[i].name)))
			request->method = method_names[i].method;
	request->is_head = span_equal(method, SPAN("HEAD"));
}

static enum status add_pair(struct http_request *request, struct request_pairs *pairs, struct span name,
	struct span value, struct error *err)
{
	struct request_pair *pair = arena_alloc(request->arena, sizeof *pair);

	if (!pair)
		return error_no_memory(err);
	*pair = (struct request_pair){.name = name, .value = value};
	if (pairs->last)
		pairs->last->next = pair;
	else
		pairs->first = pair;
	pairs->last = pair;
	return OK;
}

enum status request_add_header(struct http_request *request, struct span name, struct span value, struct error *err)
{
	name = arena_copy(request->arena, name);
	value = arena_copy(request->arena, value);
	if (!name.ptr || !value.ptr)
		return error_no_memory(err);
	return add_pair(request, &request->headers, name, value, err);
}

/* Decodes raw into *at (which has room for as many bytes) and moves it on. */
static enum status decode(struct span raw, bool plus_is_space, char **at, struct span *out, struct error *err)
{
	char *start = *at, *to = *at;

	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];
		if (c == '%') {
			int high = raw.len - i > 2 ? span_hex_digit(raw.ptr[i + 1]) : -1;
			int low = high < 0 ? -1 : span_hex_digit(raw.ptr[i + 2]);
			if (low < 0)
				return error_set(err, ERR_INVALID, "'%%' without two hexadecimal digits in '%.*s'",
					(int)(raw.len > 100 ? 100 : raw.len), raw.ptr);
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if (c == 0)
			return error_set(err, ERR_INVALID, "a NUL byte (%%00) in the request's target");
		*to++ = c;
	}
	*out = span_of(start, (size_t)(to - start));
	*at = to;
	if (!span_is_utf8(*out))
		return error_set(err, ERR_INVALID, "the request's target is not UTF-8 when decoded");
	return OK;
}

/* Segments are decoded one behind the other with '/' between them: they are the decoded path at the same time. */
static enum status parse_path(struct http_request *request, struct span raw, char **at, struct error *err)
{
	struct span rest = span_skip(raw, 1), part;
	char *start = *at;
	bool goes_on = true;

	*(*at)++ = '/';
	while (goes_on) {
		ptrdiff_t slash = span_find_char(rest, '/');
		goes_on = slash >= 0;
		TRY(decode(goes_on ? span_of(rest.ptr, (size_t)slash) : rest, false, at, &part, err));
		if (request->segment_count < REQUEST_MAX_SEGMENTS)
			request->segments[request->segment_count] = part;
		request->segment_count++;
		if (goes_on) {
			*(*at)++ = '/';
			rest = span_skip(rest, (size_t)slash + 1);
		}
	}
	request->path = span_of(start, (size_t)(*at - start));
	if (part.len == 0) /* "/jobs/" is "/jobs", and "/" has no segment */
		request->segment_count--;
	return OK;
}

static enum status parse_query(struct http_request *request, struct span raw, char **at, struct error *err)
{
	struct span part, name, value;

	for (size_t count = 0; span_next(&raw, '&', &part);) {
		if (part.len == 0)
			continue;
		if (count++ == REQUEST_MAX_ARGUMENTS)
			return error_set(err, ERR_INVALID, "the request has more than %d query parameters",
				REQUEST_MAX_ARGUMENTS);
		ptrdiff_t equals = span_find_char(part, '=');
		struct span raw_name = equals < 0 ? part : span_of(part.ptr, (size_t)equals);
		struct span raw_value = equals < 0 ? span_skip(part, part.len) : span_skip(part, (size_t)equals + 1);
		TRY(decode(raw_name, true, at, &name, err));
		TRY(decode(raw_value, true, at, &value, err));
		TRY(add_pair(request, &request->query, name, value, err));
	}
	return OK;
}

struct span request_target_authority(struct span target)
{
	if (!span_starts_with(target, SPAN("http://")) && !span_starts_with(target, SPAN("https://")))
		return span_of(NULL, 0);
	struct span rest = span_skip(target, (size_t)span_find(target, SPAN("//")) + 2);
	size_t len = 0;
	while (len < rest.len && !strchr("/?#", rest.ptr[len]))
		len++;
	return span_of(rest.ptr, len);
}

/* RFC 9112, 3.2.2: a server must accept the absolute form. */
static struct span without_authority(struct span target)
{
	if (target.len && target.ptr[0] == '/')
		return target;
	struct span authority = request_target_authority(target);
	if (!authority.ptr)
		return span_of(NULL, 0);
	struct span rest = span_skip(target, (size_t)(authority.ptr + authority.len - target.ptr));
	return rest.len && rest.ptr[0] == '/' ? rest : SPAN("/");
}

enum status request_parse_target(struct http_request *request, struct span target, struct error *err)
{
	struct span raw = without_authority(target);
	ptrdiff_t mark = span_find_char(raw, '?');
	struct span query = mark < 0 ? span_of(NULL, 0) : span_skip(raw, (size_t)mark + 1);

	if (raw.len == 0)
		return error_set(err, ERR_INVALID, "the request's target does not begin with '/'");
	char *text = arena_alloc(request->arena, raw.len + 1);
	if (!text)
		return error_no_memory(err);
	TRY(parse_path(request, mark < 0 ? raw : span_of(raw.ptr, (size_t)mark), &text, err));
	return parse_query(request, query, &text, err);
}

enum http_method http_request_method(const struct http_request *request)
{
	return request->method;
}

struct span http_request_segment(const struct http_request *request, unsigned i)
{
	return i < request->parameter_count ? request->parameters[i] : SPAN("");
}

struct span http_request_path(const struct http_request *request)
{
	return request->path;
}

bool http_request_query(const struct http_request *request, const char *name, struct span *value)
{
	for (const struct request_pair *pair = request->query.first; pair; pair = pair->next)
		if (span_equal(pair->name, span_from(name))) {
			*value = pair->value;
			return true;
		}
	return false;
}

bool http_request_query_at(const struct http_request *request, size_t i, struct span *name, struct span *value)
{
	const struct request_pair *pair = request->query.first;

	while (pair && i--)
		pair = pair->next;
	if (!pair)
		return false;
	*name = pair->name;
	*value = pair->value;
	return true;
}

struct span http_request_header(const struct http_request *request, const char *name)
{
	for (const struct request_pair *pair = request->headers.first; pair; pair = pair->next)
		if (span_equal_fold(pair->name, span_from(name)))
			return pair->value;
	return SPAN("");
}

struct span http_request_cookie(const struct http_request *request, const char *name)
{
	return guard_cookie(http_request_header(request, "Cookie"), span_from(name));
}

size_t http_request_headers(const struct http_request *request, struct http_header *out, size_t most)
{
	size_t count = 0;

	for (const struct request_pair *pair = request->headers.first; pair; pair = pair->next, count++)
		if (count < most)
			out[count] = (struct http_header){pair->name, pair->value};
	return count;
}

struct span http_request_address(const struct http_request *request)
{
	return span_from(request->address);
}

struct span http_request_network(const struct http_request *request)
{
	return span_from(request->network ? request->network : "");
}

struct span http_request_body(const struct http_request *request)
{
	return buf_span(&request->body);
}

const struct principal *http_request_principal(const struct http_request *request)
{
	return &request->principal;
}

int64_t http_request_arrival_ms(const struct http_request *request)
{
	return request->arrival_ms;
}

enum status http_query_i64(
	const struct http_request *request, const char *name, int64_t min, int64_t max, int64_t *out, struct error *err)
{
	struct span text;
	int64_t value;

	if (!http_request_query(request, name, &text))
		return OK;
	if (!span_parse_i64(text, &value) || value < min || value > max)
		return error_set_field(err, ERR_INVALID, name,
			"'%s' must be an integer from %" PRId64 " to %" PRId64 ", not '%.*s'", name, min, max,
			(int)(text.len > 40 ? 40 : text.len), text.ptr);
	*out = value;
	return OK;
}

enum status http_query_bool(const struct http_request *request, const char *name, bool *out, struct error *err)
{
	struct span text;

	if (!http_request_query(request, name, &text))
		return OK;
	bool is_true = span_equal(text, SPAN("true")) || span_equal(text, SPAN("1"));
	if (!is_true && !span_equal(text, SPAN("false")) && !span_equal(text, SPAN("0")))
		return error_set_field(err, ERR_INVALID, name, "'%s' must be true or false, not '%.*s'", name,
			(int)(text.len > 40 ? 40 : text.len), text.ptr);
	*out = is_true;
	return OK;
}
