#include "query/names.h"
#include "query/query.h"

static void print_quoted(struct span text, struct buf *out)
{
	buf_append_char(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			buf_append_char(out, '\\');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}

/* As it was read: a number bare, so that it stays one, if it can be. */
static void print_value(const struct query_value *value, struct buf *out)
{
	bool is_bare = value->is_number || value_is_plain_text(value->text);

	for (size_t i = 0; i < value->text.len; i++)
		if (!lexer_is_bare(value->text.ptr[i]) && value->text.ptr[i] != ':')
			is_bare = false; /* a time that was quoted for its space */
	if (is_bare && value->text.len)
		buf_append_span(out, value->text);
	else
		print_quoted(value->text, out);
}

static void print_key(struct span key, struct buf *out)
{
	bool is_bare = true;

	for (size_t i = 0; i < key.len; i++)
		is_bare = is_bare && lexer_is_bare(key.ptr[i]);
	if (is_bare)
		buf_append_span(out, key);
	else
		print_quoted(key, out);
}

static void print_name(const struct query_term *term, struct buf *out)
{
	static const char *const prefixes[] = {[QUERY_METRIC] = "metric.",
		[QUERY_HP] = "hp.",
		[QUERY_TAG] = "tag.",
		[QUERY_ENV] = "env.",
		[QUERY_LABEL] = "label."};

	if (term->family == QUERY_PROPERTY) {
		buf_append_span(out, term->key);
		return;
	}
	if (!term->is_role)
		buf_append_text(out, prefixes[term->family]);
	print_key(term->key, out);
	if (term->family == QUERY_METRIC)
		buf_printf(out, ".%s", query_aggregate_name(term->aggregate));
}

static void print_term(const struct query_term *term, struct buf *out)
{
	static const char *const operators[] = {
		[QUERY_CONTAINS] = ":",
		[QUERY_EQUAL] = "=",
		[QUERY_NOT_EQUAL] = "!=",
		[QUERY_LESS] = "<",
		[QUERY_AT_MOST] = "<=",
		[QUERY_MORE] = ">",
		[QUERY_AT_LEAST] = ">=",
		[QUERY_MATCHES] = "~",
		[QUERY_MATCHES_FOLDED] = "~*",
		[QUERY_MATCHES_NOT] = "!~",
		[QUERY_IN] = " in (",
		[QUERY_EXISTS] = " exists",
	};

	if (term->family != QUERY_TEXT) {
		print_name(term, out);
		buf_append_text(out, operators[term->compare]);
		/* "~" and a value "*" would read as "~*" */
		if (term->compare == QUERY_MATCHES && term->values[0].text.len && term->values[0].text.ptr[0] == '*') {
			print_quoted(term->values[0].text, out);
			return;
		}
	}
	for (size_t i = 0; i < term->value_count; i++) {
		if (i)
			buf_append_text(out, ", ");
		print_value(&term->values[i], out);
	}
	if (term->compare == QUERY_IN)
		buf_append_char(out, ')');
}

static void print_operand(const struct query_node *node, bool needs_parentheses, struct buf *out)
{
	if (needs_parentheses)
		buf_append_char(out, '(');
	query_print(node, out);
	if (needs_parentheses)
		buf_append_char(out, ')');
}

void query_print(const struct query_node *node, struct buf *out)
{
	if (!node)
		return;
	switch (node->kind) {
	case QUERY_TERM:
		print_term(&node->term, out);
		break;
	case QUERY_NOT:
		buf_append_text(out, "not ");
		print_operand(node->left, node->left->kind == QUERY_AND || node->left->kind == QUERY_OR, out);
		break;
	case QUERY_ONE: /* of SearchExpression alone: no query text says it */
		buf_append_text(out, "one ");
		buf_append_span(out, node->term.key);
		buf_append_text(out, " (");
		query_print(node->left, out);
		buf_append_char(out, ')');
		break;
	case QUERY_AND:
		print_operand(node->left, node->left->kind == QUERY_OR, out);
		buf_append_text(out, " and ");
		print_operand(node->right, node->right->kind == QUERY_OR || node->right->kind == QUERY_AND, out);
		break;
	case QUERY_OR:
		print_operand(node->left, false, out);
		buf_append_text(out, " or ");
		print_operand(node->right, node->right->kind == QUERY_OR, out);
		break;
	}
}
