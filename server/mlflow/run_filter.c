#include "mlflow/run_filter.h"

#include <ctype.h>
#include <math.h>

struct reader {
	struct span rest;
	struct arena *arena;
};

/* ---- words ---- */

static enum status not_understood(const char *wanted, struct span rest, struct error *err)
{
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
		"the filter is not understood: %s is expected at '%.*s' (comparisons joined by AND: metrics.loss < 3 AND params.lr = '0.1')",
		wanted, SPAN_ARGS(span_cut(rest, 60)));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '/' || c == ':' || (c & 0x80);
}

static void skip_blanks(struct reader *r)
{
	while (r->rest.len && isspace((unsigned char)r->rest.ptr[0]))
		r->rest = span_skip(r->rest, 1);
}

/* Between quotes of that kind, in which there is no way to write the quote itself. */
static bool take_quoted(struct reader *r, const char *quotes, struct span *out)
{
	if (!r->rest.len || !strchr(quotes, r->rest.ptr[0]) || !r->rest.ptr[0])
		return false;
	struct span inner = span_skip(r->rest, 1);
	ptrdiff_t end = span_find_char(inner, r->rest.ptr[0]);
	if (end < 0)
		return false;
	*out = span_of(inner.ptr, (size_t)end);
	r->rest = span_skip(inner, (size_t)end + 1);
	return true;
}

static bool take_word(struct reader *r, bool has_dots, struct span *out)
{
	size_t len = 0;

	while (len < r->rest.len && (is_word(r->rest.ptr[len]) || (has_dots && r->rest.ptr[len] == '.')))
		len++;
	*out = span_of(r->rest.ptr, len);
	r->rest = span_skip(r->rest, len);
	return len > 0;
}

/* Case does not count, and the word ends there. */
static bool take_keyword(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	skip_blanks(r);
	if (r->rest.len < len || !span_equal_fold(span_of(r->rest.ptr, len), span_from(word)) ||
		(r->rest.len > len && is_word(r->rest.ptr[len])))
		return false;
	r->rest = span_skip(r->rest, len);
	return true;
}

static bool take_sign(struct reader *r, const char *sign)
{
	skip_blanks(r);
	return span_take(&r->rest, span_from(sign));
}

/* ---- fields ---- */

static const struct {
	const char *word;
	enum run_filter_entity entity;
} entities[] = {{"metric", FILTER_METRIC}, {"metrics", FILTER_METRIC}, {"param", FILTER_PARAM},
	{"params", FILTER_PARAM}, {"parameter", FILTER_PARAM}, {"parameters", FILTER_PARAM}, {"tag", FILTER_TAG},
	{"tags", FILTER_TAG}, {"attribute", FILTER_ATTRIBUTE}, {"attributes", FILTER_ATTRIBUTE},
	{"attr", FILTER_ATTRIBUTE}, {"run", FILTER_ATTRIBUTE}};

static const char *const attributes[] = {
	"run_id", "run_name", "status", "user_id", "artifact_uri", "start_time", "end_time", "created"};

static enum status check_attribute(struct run_filter_field *field, struct error *err)
{
	if (span_equal_fold(field->key, SPAN("run name")))
		field->key = SPAN("run_name");
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (span_equal_fold(field->key, span_from(attributes[i]))) {
			field->key = span_from(attributes[i]);
			return OK;
		}
	return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
		"'%.*s' is no attribute of a run: run_id, run_name, status, user_id, artifact_uri, start_time and end_time are",
		SPAN_ARGS(span_cut(field->key, 60)));
}

static enum status find_entity(struct span word, struct run_filter_field *out, struct error *err)
{
	for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
		if (span_equal_fold(word, span_from(entities[i].word))) {
			out->entity = entities[i].entity;
			return OK;
		}
	return not_understood("metrics., params., tags. or attributes.", word, err);
}

static enum status take_field(struct reader *r, struct run_filter_field *out, struct error *err)
{
	struct span word, at;

	skip_blanks(r);
	at = r->rest;
	*out = (struct run_filter_field){.entity = FILTER_ATTRIBUTE};
	if (take_quoted(r, "`\"", &out->key))
		return check_attribute(out, err);
	if (!take_word(r, false, &word))
		return not_understood("a field", at, err);
	if (!span_take(&r->rest, SPAN("."))) {
		out->key = word;
		return check_attribute(out, err);
	}
	TRY(find_entity(word, out, err));
	if (!take_quoted(r, "`\"", &out->key) && !take_word(r, true, &out->key))
		return not_understood("a name", at, err);
	return out->entity == FILTER_ATTRIBUTE ? check_attribute(out, err) : OK;
}

static bool is_numeric(const struct run_filter_field *field)
{
	return field->entity == FILTER_METRIC ||
	       (field->entity == FILTER_ATTRIBUTE &&
		       (span_equal(field->key, SPAN("start_time")) || span_equal(field->key, SPAN("end_time")) ||
			       span_equal(field->key, SPAN("created"))));
}

/* ---- comparisons ---- */

static bool take_operator(struct reader *r, enum run_filter_operator *out)
{
	static const struct {
		const char *sign;
		enum run_filter_operator how;
	} signs[] = {{"!=", FILTER_NOT_EQUAL}, {"<=", FILTER_LESS_OR_EQUAL}, {">=", FILTER_MORE_OR_EQUAL},
		{"==", FILTER_EQUAL}, {"=", FILTER_EQUAL}, {"<", FILTER_LESS}, {">", FILTER_MORE}};

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (take_sign(r, signs[i].sign)) {
			*out = signs[i].how;
			return true;
		}
	if (take_keyword(r, "LIKE"))
		*out = FILTER_LIKE;
	else if (take_keyword(r, "ILIKE"))
		*out = FILTER_ILIKE;
	else if (take_keyword(r, "IN"))
		*out = FILTER_IN;
	else if (take_keyword(r, "NOT"))
		*out = FILTER_NOT_IN;
	else if (take_keyword(r, "IS"))
		*out = FILTER_IS_NULL;
	else
		return false;
	return *out != FILTER_NOT_IN || take_keyword(r, "IN");
}

static enum status take_text(struct reader *r, struct run_filter_term *term, struct error *err)
{
	skip_blanks(r);
	if (term->text_count == FILTER_VALUES_MAX)
		return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID, "a list of the filter holds more than %d values",
			FILTER_VALUES_MAX);
	return take_quoted(r, "'\"", &term->texts[term->text_count++])
		       ? OK
		       : not_understood("a text between quotes", r->rest, err);
}

static enum status take_list(struct reader *r, struct run_filter_term *term, struct error *err)
{
	if (!take_sign(r, "("))
		return not_understood("(", r->rest, err);
	do
		TRY(take_text(r, term, err));
	while (take_sign(r, ","));
	return take_sign(r, ")") ? OK : not_understood(")", r->rest, err);
}

static enum status take_number(struct reader *r, struct run_filter_term *term, struct error *err)
{
	size_t len = 0;
	struct span quoted;

	skip_blanks(r);
	if (take_quoted(r, "'\"", &quoted))
		return span_parse_double(quoted, &term->number) ? OK : not_understood("a number", quoted, err);
	while (len < r->rest.len && (isalnum((unsigned char)r->rest.ptr[len]) || strchr("+-.", r->rest.ptr[len])))
		len++;
	if (!span_parse_double(span_of(r->rest.ptr, len), &term->number))
		return not_understood("a number", r->rest, err);
	r->rest = span_skip(r->rest, len);
	return OK;
}

static enum status take_value(struct reader *r, struct run_filter_term *term, struct error *err)
{
	if (term->how == FILTER_IS_NULL) {
		term->how = take_keyword(r, "NOT") ? FILTER_IS_NOT_NULL : FILTER_IS_NULL;
		return take_keyword(r, "NULL") ? OK : not_understood("NULL", r->rest, err);
	}
	bool is_list = term->how == FILTER_IN || term->how == FILTER_NOT_IN;
	bool is_pattern = term->how == FILTER_LIKE || term->how == FILTER_ILIKE;
	term->is_number = is_numeric(&term->field);
	if (term->is_number && (is_list || is_pattern))
		return not_understood("a comparison of numbers", term->field.key, err);
	if (term->is_number)
		return take_number(r, term, err);
	if (!is_list && !is_pattern && term->how != FILTER_EQUAL && term->how != FILTER_NOT_EQUAL)
		return not_understood("=, !=, LIKE, ILIKE or IN, as of all texts,", term->field.key, err);
	term->texts = arena_alloc(r->arena, (is_list ? FILTER_VALUES_MAX : 1) * sizeof *term->texts);
	if (!term->texts)
		return error_no_memory(err);
	return is_list ? take_list(r, term, err) : take_text(r, term, err);
}

enum status run_filter_parse(struct run_filter *out, struct arena *arena, struct span text, struct error *err)
{
	struct reader r = {.rest = text, .arena = arena};

	out->count = 0;
	skip_blanks(&r);
	if (!r.rest.len)
		return OK;
	do {
		if (out->count == FILTER_TERMS_MAX)
			return mlflow_error(err, ERR_SEMANTIC, MLFLOW_INVALID,
				"the filter has more than %d comparisons", FILTER_TERMS_MAX);
		struct run_filter_term *term = &out->terms[out->count++];
		*term = (struct run_filter_term){0};
		TRY(take_field(&r, &term->field, err));
		if (!take_operator(&r, &term->how))
			return not_understood("a comparison", r.rest, err);
		TRY(take_value(&r, term, err));
	} while (take_keyword(&r, "AND"));
	skip_blanks(&r);
	return r.rest.len ? not_understood("AND", r.rest, err) : OK;
}

enum status run_filter_parse_order(struct run_filter_order *out, struct span text, struct error *err)
{
	struct reader r = {.rest = text};

	TRY(take_field(&r, &out->field, err));
	out->is_descending = take_keyword(&r, "DESC");
	if (!out->is_descending)
		take_keyword(&r, "ASC");
	skip_blanks(&r);
	return r.rest.len ? not_understood("ASC or DESC", r.rest, err) : OK;
}

/* ---- what a run has ---- */

static struct run_filter_value text_value(struct span text)
{
	return (struct run_filter_value){.is_there = true, .text = text};
}

static struct run_filter_value time_value(int64_t ms)
{
	return (struct run_filter_value){.is_there = ms != 0, .is_number = true, .number = (double)ms};
}

static struct run_filter_value attribute_of(struct span key, const struct mlflow_run *run)
{
	if (span_equal(key, SPAN("run_id")))
		return text_value(run->row.run_id);
	if (span_equal(key, SPAN("run_name")))
		return text_value(run->row.name);
	if (span_equal(key, SPAN("status")))
		return text_value(run->status);
	if (span_equal(key, SPAN("user_id")))
		return text_value(run->row.user_name);
	if (span_equal(key, SPAN("artifact_uri")))
		return text_value(run->row.artifacts);
	return time_value(span_equal(key, SPAN("end_time")) ? run->row.end_ms : run->row.start_ms);
}

struct run_filter_value run_filter_value_of(const struct run_filter_field *field, const struct mlflow_run *run)
{
	const struct tracked_pairs *pairs = field->entity == FILTER_PARAM ? &run->params : &run->tags;

	if (field->entity == FILTER_ATTRIBUTE)
		return attribute_of(field->key, run);
	if (field->entity == FILTER_METRIC) {
		for (size_t i = 0; i < run->metric_count; i++)
			if (span_equal(run->metrics[i].key, field->key))
				return (struct run_filter_value){true, true, run->metrics[i].value, SPAN("")};
		return (struct run_filter_value){0};
	}
	for (size_t i = 0; i < pairs->count; i++)
		if (span_equal(pairs->items[i].key, field->key))
			return text_value(pairs->items[i].value);
	return (struct run_filter_value){0};
}

/* %: any number of characters, _: one. Steps back to the last % alone, so that it takes at most len x len steps. */
static bool is_like(struct span pattern, struct span text, bool folds)
{
	size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;

	while (t < text.len) {
		char want = p < pattern.len ? pattern.ptr[p] : 0, have = text.ptr[t];
		bool is_same = folds ? tolower((unsigned char)want) == tolower((unsigned char)have) : want == have;
		if (p < pattern.len && want == '%') {
			star = p++;
			star_text = t;
		} else if (p < pattern.len && (want == '_' || is_same)) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '%')
		p++;
	return p == pattern.len;
}

static bool matches_number(const struct run_filter_term *term, double number)
{
	switch (term->how) {
	case FILTER_EQUAL:
		return number == term->number;
	case FILTER_NOT_EQUAL:
		return number != term->number;
	case FILTER_LESS:
		return number < term->number;
	case FILTER_LESS_OR_EQUAL:
		return number <= term->number;
	case FILTER_MORE:
		return number > term->number;
	default:
		return number >= term->number;
	}
}

static bool matches_text(const struct run_filter_term *term, struct span text)
{
	if (term->how == FILTER_LIKE || term->how == FILTER_ILIKE)
		return is_like(term->texts[0], text, term->how == FILTER_ILIKE);
	bool is_listed = false;
	for (size_t i = 0; i < term->text_count && !is_listed; i++)
		is_listed = span_equal(term->texts[i], text);
	return is_listed == (term->how == FILTER_EQUAL || term->how == FILTER_IN);
}

bool run_filter_matches(const struct run_filter *filter, const struct mlflow_run *run)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct run_filter_term *term = &filter->terms[i];
		struct run_filter_value value = run_filter_value_of(&term->field, run);
		bool is = term->how == FILTER_IS_NULL ? !value.is_there : value.is_there;
		if (is && term->how != FILTER_IS_NULL && term->how != FILTER_IS_NOT_NULL)
			is = value.is_number ? matches_number(term, value.number) : matches_text(term, value.text);
		if (!is)
			return false;
	}
	return true;
}

/* NaN is behind all numbers, either way. */
static int compare_numbers(double a, double b, bool is_descending)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	int order = (a > b) - (a < b);
	return is_descending ? -order : order;
}

int run_filter_compare(
	const struct run_filter_order *order, const struct run_filter_value *a, const struct run_filter_value *b)
{
	if (!a->is_there || !b->is_there)
		return b->is_there - a->is_there;
	if (a->is_number)
		return compare_numbers(a->number, b->number, order->is_descending);
	int texts = span_compare(a->text, b->text);
	return order->is_descending ? -texts : texts;
}
