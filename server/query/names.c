#include "query/names.h"

#include "model/metrics/metric.h"

/* Short names; a SageMaker property begins with a capital letter and is taken as it is. */
static const char *const properties[] = {"name", "status", "secondary", "instance", "instances", "image", "role",
	"created", "started", "ended", "modified", "duration", "billable", "cost", "goodput", "pool", "run", "team",
	"owner", "project", "incident", "label", "s3", "log", "attempts", "failure", "silent", "continued"};

static const struct {
	const char *prefix;
	enum query_family family;
} families[] = {{"hp.", QUERY_HP}, {"tag.", QUERY_TAG}, {"env.", QUERY_ENV}, {"label.", QUERY_LABEL},
	{"metric.", QUERY_METRIC}};

static bool is_property(struct span name)
{
	for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
		if (span_equal(name, span_from(properties[i])))
			return true;
	return name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z';
}

static bool resolve_family(struct span name, struct query_term *term)
{
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
		struct span prefix = span_from(families[i].prefix);
		if (!span_starts_with(name, prefix) || name.len == prefix.len)
			continue;
		term->family = families[i].family;
		term->key = span_skip(name, prefix.len);
		if (term->family == QUERY_METRIC)
			query_take_aggregate(&term->key, &term->aggregate);
		return true;
	}
	return false;
}

static bool is_role(struct span name)
{
	enum role role;

	return role_parse(name, &role) && role != ROLE_OTHER;
}

static enum status unknown(const struct lexer *lexer, size_t at, struct span name)
{
	int len = name.len < 80 ? (int)name.len : 80;

	error_set(lexer->err, ERR_SEMANTIC,
		"column %zu: unknown property '%.*s'; a metric is written metric.%.*s, a hyperparameter hp.%.*s",
		at + 1, len, name.ptr, len, name.ptr, len, name.ptr);
	if (lexer->err)
		lexer->err->column = (int64_t)at + 1;
	return ERR_SEMANTIC;
}

enum status name_resolve(const struct lexer *lexer, size_t at, struct span name, struct query_term *term)
{
	struct span metric = name;
	enum query_aggregate aggregate = AGGREGATE_LAST;

	term->aggregate = AGGREGATE_LAST;
	if (resolve_family(name, term))
		return OK;
	if (is_property(name)) {
		term->family = QUERY_PROPERTY;
		term->key = name;
		return OK;
	}
	bool has_aggregate = query_take_aggregate(&metric, &aggregate);
	if (!has_aggregate && !is_role(name))
		return unknown(lexer, at, name);
	term->family = QUERY_METRIC;
	term->key = metric;
	term->is_role = is_role(metric);
	term->aggregate = aggregate;
	return OK;
}

/* ".min" and no more. */
static bool is_aggregate(struct span suffix, enum query_aggregate *aggregate)
{
	char text[32] = "x"; /* a name in front of it */

	if (suffix.len > sizeof text - 1)
		return false;
	memcpy(text + 1, suffix.ptr, suffix.len);
	struct span name = span_of(text, suffix.len + 1);
	return query_take_aggregate(&name, aggregate) && name.len == 1;
}

enum status name_resolve_quoted(const struct lexer *lexer, size_t at, struct span family, struct span key,
	struct span suffix, struct query_term *term)
{
	term->aggregate = AGGREGATE_LAST;
	term->key = key;
	term->family = QUERY_METRIC;
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (span_equal(family, span_from(families[i].prefix)))
			term->family = families[i].family;
	bool is_known = family.len == 0 || term->family != QUERY_METRIC || span_equal(family, SPAN("metric."));
	if (!is_known)
		return lexer_expected(lexer, at, "hp., tag., env., label. or metric. before a quoted key");
	if (key.len == 0)
		return lexer_expected(lexer, at, "a name that is not empty");
	if (suffix.len == 0)
		return OK;
	if (term->family != QUERY_METRIC || !is_aggregate(suffix, &term->aggregate))
		return lexer_expected(
			lexer, at, "an operator, or last, min, max, mean, count, step, best, best_step, final");
	return OK;
}

enum status name_take(struct lexer *lexer, struct name *name)
{
	*name = (struct name){.at = lexer->at, .bare = lexer_take_bare(lexer)};
	bool is_open = name->bare.len == 0 || name->bare.ptr[name->bare.len - 1] == '.';
	if (lexer_peek(lexer) != '"' || !is_open)
		return name->bare.len ? OK : lexer_expected(lexer, lexer->at, "a term");
	TRY(lexer_take_quoted(lexer, &name->quoted));
	name->suffix = lexer_take_bare(lexer);
	return OK;
}

enum status name_resolve_any(const struct lexer *lexer, const struct name *name, struct query_term *term)
{
	if (name->quoted.ptr)
		return name_resolve_quoted(lexer, name->at, name->bare, name->quoted, name->suffix, term);
	return name_resolve(lexer, name->at, name->bare, term);
}
