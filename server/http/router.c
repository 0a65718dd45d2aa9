#include "http/router.h"

#include <stdio.h>

enum kind { LITERAL, PARAMETER, REST };

struct pattern_segment {
	enum kind kind;
	struct span text;
};

struct pattern {
	const struct http_route *route;
	size_t count; /* REST included */
	bool has_rest;
	struct pattern_segment segments[REQUEST_MAX_SEGMENTS];
};

/* A request is held against those that have as many segments as it, and those with a rest. */
struct router {
	size_t count;
	size_t begins[REQUEST_MAX_SEGMENTS +
		      2]; /* where those with so many segments begin; the last: those with a rest */
	struct pattern patterns[];
};

static enum status parse_segment(struct pattern *pattern, struct span part, unsigned *parameters, struct error *err)
{
	struct pattern_segment *segment = &pattern->segments[pattern->count++];

	*segment = (struct pattern_segment){LITERAL, part};
	if (part.len > 2 && part.ptr[0] == '{' && part.ptr[part.len - 1] == '}') {
		pattern->has_rest = span_ends_with(part, SPAN("...}"));
		segment->kind = pattern->has_rest ? REST : PARAMETER;
		if (++*parameters > REQUEST_MAX_PARAMETERS)
			return error_set(
				err, ERR_INTERNAL, "the pattern '%s' has too many parameters", pattern->route->pattern);
	}
	return OK;
}

static enum status parse_pattern(struct pattern *pattern, const struct http_route *route, struct error *err)
{
	struct span rest = span_from(route->pattern), part;
	unsigned parameters = 0;

	*pattern = (struct pattern){.route = route};
	if (rest.len == 0 || rest.ptr[0] != '/')
		return error_set(err, ERR_INTERNAL, "the pattern '%s' does not begin with '/'", route->pattern);
	rest = span_skip(rest, 1);
	while (rest.len && span_next(&rest, '/', &part)) {
		if (pattern->has_rest || pattern->count == REQUEST_MAX_SEGMENTS)
			return error_set(err, ERR_INTERNAL, "the pattern '%s' goes on too long", route->pattern);
		TRY(parse_segment(pattern, part, &parameters, err));
	}
	return OK;
}

static enum status add_patterns(struct router *router, const struct http_route *routes, size_t count, bool has_rest,
	size_t segments, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct pattern *pattern = &router->patterns[router->count];
		TRY(parse_pattern(pattern, &routes[i], err));
		router->count += pattern->has_rest == has_rest && (has_rest || pattern->count == segments);
	}
	return OK;
}

enum status router_new(struct router **out, const struct http_route *routes, size_t count, struct error *err)
{
	/* one more: what does not belong where it was read is written over by the next */
	AUTO(router) router = mem_zeroed(sizeof *router + (count + 1) * sizeof *router->patterns);

	if (!router)
		return error_no_memory(err);
	for (size_t segments = 0; segments <= REQUEST_MAX_SEGMENTS; segments++) {
		router->begins[segments] = router->count;
		TRY(add_patterns(router, routes, count, false, segments, err));
	}
	router->begins[REQUEST_MAX_SEGMENTS + 1] = router->count;
	TRY(add_patterns(router, routes, count, true, 0, err));
	*out = TAKE(router);
	return OK;
}

void router_free(struct router *router)
{
	mem_free(router);
}

/* "/{rest...}" has every path; it must not turn a path that is unknown into one whose method is wrong. */
static bool has_every_path(const struct pattern *pattern)
{
	return pattern->has_rest && pattern->count == 1;
}

/* A rest has something: "/files" is no file of "/files/{path...}", and does not take its methods. */
static bool has_fitting_length(const struct pattern *pattern, const struct http_request *request)
{
	return pattern->has_rest ? request->segment_count >= pattern->count || has_every_path(pattern)
				 : request->segment_count == pattern->count;
}

static bool matches(const struct pattern *pattern, const struct http_request *request)
{
	size_t fixed = pattern->count - pattern->has_rest;

	if (!has_fitting_length(pattern, request) || (pattern->route->is_meant && !pattern->route->is_meant(request)))
		return false;
	/* from the end: the front is that of many others */
	for (size_t i = fixed; i-- > 0;) {
		const struct pattern_segment *segment = &pattern->segments[i];
		if (segment->kind == LITERAL ? !span_equal(segment->text, request->segments[i])
					     : !request->segments[i].len)
			return false;
	}
	return true;
}

/* At the first difference a literal beats a parameter, and that beats the rest. */
static bool is_more_specific(const struct pattern *a, const struct pattern *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++)
		if (a->segments[i].kind != b->segments[i].kind)
			return a->segments[i].kind < b->segments[i].kind;
	if (a->count == b->count)
		return a->route->is_meant && !b->route->is_meant;
	return a->count < b->count; /* the longer one has nothing but its rest there */
}

static void set_parameters(const struct pattern *pattern, struct http_request *request)
{
	const char *end = request->path.ptr + request->path.len;

	request->parameter_count = 0;
	for (size_t i = 0; i < pattern->count; i++) {
		struct span value = i < request->segment_count ? request->segments[i] : span_of(end, 0);
		if (pattern->segments[i].kind == REST)
			value.len = (size_t)(end - value.ptr);
		if (pattern->segments[i].kind != LITERAL)
			request->parameters[request->parameter_count++] = value;
	}
}

/* What is known so far of the patterns that a request fits. */
struct search {
	struct http_request *request;
	const struct pattern *best;
	unsigned allowed, allowed_by_all;
};

static void look_through(struct search *search, const struct pattern *pattern, const struct pattern *end)
{
	for (; pattern < end; pattern++) {
		if (!matches(pattern, search->request))
			continue;
		*(has_every_path(pattern) ? &search->allowed_by_all : &search->allowed) |= pattern->route->methods;
		if ((pattern->route->methods & search->request->method) &&
			(!search->best || is_more_specific(pattern, search->best)))
			search->best = pattern;
	}
}

struct router_match router_find(const struct router *router, struct http_request *request)
{
	struct search search = {.request = request};
	const struct pattern *all = router->patterns;
	const size_t *begins = router->begins, segments = request->segment_count;

	if (segments <= REQUEST_MAX_SEGMENTS)
		look_through(&search, all + begins[segments], all + begins[segments + 1]);
	look_through(&search, all + begins[REQUEST_MAX_SEGMENTS + 1], all + router->count);
	if (search.best && has_every_path(search.best) && search.allowed)
		search.best = NULL;
	if (!search.best)
		return (struct router_match){NULL,
			search.allowed || request->method != HTTP_OPTIONS ? search.allowed : search.allowed_by_all};
	set_parameters(search.best, request);
	return (struct router_match){search.best->route, search.allowed | search.allowed_by_all};
}

void router_allow_text(unsigned methods, char out[ROUTER_ALLOW_BYTES])
{
	static const struct {
		unsigned method;
		const char *text;
	} names[] = {{HTTP_GET, "GET, HEAD, "}, {HTTP_POST, "POST, "}, {HTTP_PUT, "PUT, "}, {HTTP_PATCH, "PATCH, "},
		{HTTP_DELETE, "DELETE, "}};
	size_t len = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (methods & names[i].method)
			len += (size_t)snprintf(out + len, ROUTER_ALLOW_BYTES - len, "%s", names[i].text);
	snprintf(out + len, ROUTER_ALLOW_BYTES - len, "OPTIONS");
}

enum { MAX_COMPARED = 40 };

/* Levenshtein's, with one row. */
static size_t edit_distance(struct span a, struct span b)
{
	size_t row[MAX_COMPARED + 1];

	if (a.len > MAX_COMPARED || b.len > MAX_COMPARED)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t least = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
			diagonal = row[j];
			least = least < row[j] + 1 ? least : row[j] + 1;
			row[j] = least < row[j - 1] + 1 ? least : row[j - 1] + 1;
		}
	}
	return row[b.len];
}

/* The name itself when it is known; the nearest otherwise; empty when nothing is near. */
static struct span nearest_name(struct span known, struct span name)
{
	struct span best = {0}, part;
	size_t best_distance = name.len / 2 + 2;

	for (struct span rest = known; span_next(&rest, ' ', &part);)
		if (span_equal(part, name))
			return part;
	while (span_next(&known, ' ', &part)) {
		size_t distance = part.len ? edit_distance(part, name) : SIZE_MAX;
		if (distance < best_distance) {
			best = part;
			best_distance = distance;
		}
	}
	return best;
}

static enum status unknown_parameter(struct span known, struct span name, struct span nearest, struct error *err)
{
	char field[sizeof err->field];
	int len = (int)(name.len > 40 ? 40 : name.len);

	snprintf(field, sizeof field, "%.*s", len, name.ptr);
	if (nearest.len)
		return error_set_field(err, ERR_INVALID, field, "unknown query parameter '%.*s'; did you mean '%.*s'?",
			len, name.ptr, SPAN_ARGS(nearest));
	if (known.len)
		return error_set_field(err, ERR_INVALID, field, "unknown query parameter '%.*s'; known are: %.*s", len,
			name.ptr, SPAN_ARGS(known));
	return error_set_field(
		err, ERR_INVALID, field, "unknown query parameter '%.*s'; this path takes none", len, name.ptr);
}

enum status router_check_query(const struct http_route *route, const struct http_request *request, struct error *err)
{
	struct span known = span_from(route->query ? route->query : "");

	if (span_equal(known, SPAN("*")))
		return OK;
	for (const struct request_pair *pair = request->query.first; pair; pair = pair->next) {
		struct span nearest = nearest_name(known, pair->name);
		if (!nearest.len || !span_equal(nearest, pair->name))
			return unknown_parameter(known, pair->name, nearest, err);
	}
	return OK;
}
