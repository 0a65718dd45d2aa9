#include "store/sql/search/search_compare.h"

#include "model/query.h"
#include "store/columns/case_fold.h"
#include "store/sql/search/search_pattern.h"

/* %…% with what is special to LIKE escaped; '*' is the wildcard. */
static struct span like_pattern(struct search_sql *sql, struct span value, bool is_literal)
{
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	AUTO_DONE(buf) pattern = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	fold_append(&folded, value);
	buf_append_char(&pattern, '%');
	for (size_t i = 0; i < folded.len; i++) {
		char c = folded.ptr[i];
		if (c == '%' || c == '_' || c == '\\')
			buf_append_char(&pattern, '\\');
		buf_append_char(&pattern, c == '*' && !is_literal ? '%' : c);
	}
	buf_append_char(&pattern, '%');
	if (folded.failure || pattern.failure)
		return span_of(NULL, 0);
	return arena_copy(sql->arena, buf_span(&pattern));
}

static void add_like(struct search_sql *sql, const struct search_operand *operand, const struct query_value *value)
{
	search_add(sql, operand->folded ? "" : "lower(");
	search_add(sql, operand->folded ? operand->folded : operand->text);
	search_add(sql, operand->folded ? "" : ")");
	search_add_text(sql, " LIKE ? ESCAPE '\\'", like_pattern(sql, value->text, value->is_literal));
}

/* ptr NULL: out of memory. */
static struct span lowered(struct search_sql *sql, struct span text)
{
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	fold_append_ascii(&folded, text);
	return folded.failure ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&folded));
}

static const char *order_sign(enum query_compare compare)
{
	switch (compare) {
	case QUERY_LESS:
		return " < ";
	case QUERY_AT_MOST:
		return " <= ";
	case QUERY_MORE:
		return " > ";
	case QUERY_AT_LEAST:
		return " >= ";
	default:
		return " = ";
	}
}

/* Is the comparison one of texts? Then there must be a text. */
static bool needs_text(
	const struct search_operand *operand, const struct query_term *term, const struct query_value *value)
{
	return search_is_pattern(term) || !value->is_number || !operand->number;
}

/* One comparison with one value, positive. */
static enum status add_comparison(struct search_sql *sql, const struct search_operand *operand,
	const struct query_term *term, const struct query_value *value, struct error *err)
{
	if (!operand->text && needs_text(operand, term, value))
		return search_mistake(err, term, "'%.*s' is compared with numbers, and '%.*s' is none",
			SPAN_ARGS(term->key), SPAN_ARGS(value->text));
	switch (term->compare) {
	case QUERY_MATCHES:
	case QUERY_MATCHES_FOLDED:
	case QUERY_MATCHES_NOT:
		search_add(sql, "job_matches(");
		TRY(search_add_match(sql, "?, ", term, err));
		search_add(sql, operand->text);
		search_add(sql, ")");
		return OK;
	case QUERY_CONTAINS:
		if (!value->is_number || !operand->number) {
			add_like(sql, operand, value);
			return OK;
		}
		break;
	default:
		break;
	}
	bool is_number = value->is_number && operand->number;
	bool is_lowered = operand->ignores_case && !is_number;
	search_add(sql, is_lowered ? "lower(" : "");
	search_add(sql, is_number ? operand->number : operand->text);
	search_add(sql, is_lowered ? ")" : "");
	search_add(sql, order_sign(term->compare));
	if (is_number)
		search_add_double(sql, "?", value->number);
	else
		search_add_text(sql, "?", is_lowered ? lowered(sql, value->text) : value->text);
	return OK;
}

enum status search_add_comparisons(
	struct search_sql *sql, const struct search_operand *operand, const struct query_term *term, struct error *err)
{
	search_add(sql, "(");
	for (size_t i = 0; i < term->value_count; i++) {
		if (i)
			search_add(sql, " OR ");
		TRY(add_comparison(sql, operand, term, &term->values[i], err));
	}
	search_add(sql, ")");
	return OK;
}
