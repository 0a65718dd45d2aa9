/*
 * { $.a.b[0] = "x" && ($.n > 3 || $.gone NOT EXISTS) }: && binds tighter than ||. A selector that comes to an object or array, or to
 * nothing, matches no comparison; [*] and .* are any element.
 */
#include "aws/logs/filter_program.h"
#include "base/json/json_read.h"

#include <ctype.h>

enum node_kind { NODE_AND, NODE_OR, NODE_COMPARE, NODE_IS_NULL, NODE_IS_TRUE, NODE_IS_FALSE, NODE_NOT_EXISTS };
enum { ANY_INDEX = -1, STEPS_MAX = 32, NUMBER_MAX_BYTES = 512 };

struct step {
	struct span key; /* a NUL behind it; ptr NULL: an index */
	int64_t index;
};

struct filter_node {
	enum node_kind kind;
	struct filter_node *left, *right; /* of AND and OR */
	struct step *steps;
	size_t step_count;
	enum filter_op op;
	struct filter_value value;
};

/* ---- reading ---- */

static enum status new_node(struct filter_reader *r, enum node_kind kind, struct filter_node **out, struct error *err)
{
	*out = arena_alloc(r->pattern->arena, sizeof **out);
	if (!*out)
		return error_no_memory(err);
	**out = (struct filter_node){.kind = kind};
	return OK;
}

static bool is_key_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || (unsigned char)c >= 0x80;
}

static enum status take_key(struct filter_reader *r, struct span key, struct step *step, struct error *err)
{
	char *copy = arena_alloc(r->pattern->arena, key.len + 1);

	if (!copy)
		return error_no_memory(err);
	if (span_find_char(key, 0) >= 0)
		return filter_wrong(r, r->at, "a NUL in the name in front, which no member has", err);
	memcpy(copy, key.ptr, key.len);
	copy[key.len] = 0;
	*step = (struct step){.key = span_of(copy, key.len)};
	return OK;
}

static enum status read_name(struct filter_reader *r, struct step *step, struct error *err)
{
	size_t begin = ++r->at;

	if (filter_take(r, "*")) {
		*step = (struct step){.index = ANY_INDEX};
		return OK;
	}
	while (is_key_char(filter_peek(r)))
		r->at++;
	if (r->at == begin)
		return filter_wrong(r, begin, "no name behind '.'", err);
	return take_key(r, span_of(r->text.ptr + begin, r->at - begin), step, err);
}

static enum status read_index(struct filter_reader *r, struct step *step, struct error *err)
{
	size_t begin = ++r->at;

	if (filter_peek(r) == '"') {
		struct span key = SPAN("");
		TRY(filter_quoted(r, &key, err));
		TRY(take_key(r, key, step, err));
	} else if (filter_take(r, "*")) {
		*step = (struct step){.index = ANY_INDEX};
	} else {
		while (isdigit((unsigned char)filter_peek(r)))
			r->at++;
		*step = (struct step){.index = 0};
		if (!span_parse_i64(span_of(r->text.ptr + begin, r->at - begin), &step->index))
			return filter_wrong(r, begin, "no index between [ and ]", err);
	}
	return filter_take(r, "]") ? OK : filter_wrong(r, r->at, "no ] behind an index", err);
}

static enum status read_selector(struct filter_reader *r, struct filter_node *node, struct error *err)
{
	filter_skip_blanks(r);
	if (!filter_take(r, "$"))
		return filter_wrong(r, r->at, "no selector ($.name)", err);
	node->steps = arena_alloc(r->pattern->arena, STEPS_MAX * sizeof *node->steps);
	if (!node->steps)
		return error_no_memory(err);
	while (filter_peek(r) == '.' || filter_peek(r) == '[') {
		if (node->step_count == STEPS_MAX)
			return filter_wrong(r, r->at, "a selector of more than 32 parts", err);
		struct step *step = &node->steps[node->step_count++];
		TRY(filter_peek(r) == '.' ? read_name(r, step, err) : read_index(r, step, err));
	}
	return node->step_count ? OK : filter_wrong(r, r->at, "a selector without a name ($.name)", err);
}

static bool take_word(struct filter_reader *r, const char *word)
{
	size_t len = strlen(word);
	struct span rest;

	filter_skip_blanks(r);
	rest = span_skip(r->text, r->at);
	if (rest.len < len || !span_equal_fold(span_of(rest.ptr, len), span_from(word)) ||
		(rest.len > len && is_key_char(rest.ptr[len])))
		return false;
	r->at += len;
	return true;
}

static enum status read_condition(struct filter_reader *r, struct filter_node **out, struct error *err)
{
	TRY(new_node(r, NODE_COMPARE, out, err));
	struct filter_node *node = *out;
	TRY(read_selector(r, node, err));
	if (take_word(r, "NOT")) {
		node->kind = NODE_NOT_EXISTS;
		return take_word(r, "EXISTS") ? OK : filter_wrong(r, r->at, "no EXISTS behind NOT", err);
	}
	if (take_word(r, "IS")) {
		node->kind = take_word(r, "NULL") ? NODE_IS_NULL : take_word(r, "TRUE") ? NODE_IS_TRUE : NODE_IS_FALSE;
		if (node->kind == NODE_IS_FALSE && !take_word(r, "FALSE"))
			return filter_wrong(r, r->at, "no NULL, TRUE or FALSE behind IS", err);
		return OK;
	}
	TRY(filter_read_op(r, &node->op, err));
	return filter_read_value(r, ")}", node->op, &node->value, err);
}

static enum status read_or(struct filter_reader *r, struct filter_node **out, struct error *err);

static enum status read_unit(struct filter_reader *r, struct filter_node **out, struct error *err)
{
	filter_skip_blanks(r);
	if (!filter_take(r, "("))
		return read_condition(r, out, err);
	if (++r->depth > FILTER_DEPTH)
		return filter_wrong(r, r->at, "more than 32 parentheses in each other", err);
	TRY(read_or(r, out, err));
	r->depth--;
	filter_skip_blanks(r);
	return filter_take(r, ")") ? OK : filter_wrong(r, r->at, "no ) for a (", err);
}

static enum status join(struct filter_reader *r, enum node_kind kind, struct filter_node **left,
	struct filter_node *right, struct error *err)
{
	struct filter_node *node;

	TRY(new_node(r, kind, &node, err));
	node->left = *left;
	node->right = right;
	*left = node;
	return OK;
}

static enum status read_and(struct filter_reader *r, struct filter_node **out, struct error *err)
{
	struct filter_node *right;

	TRY(read_unit(r, out, err));
	for (;;) {
		filter_skip_blanks(r);
		if (!filter_take(r, "&&"))
			return OK;
		TRY(read_unit(r, &right, err));
		TRY(join(r, NODE_AND, out, right, err));
	}
}

static enum status read_or(struct filter_reader *r, struct filter_node **out, struct error *err)
{
	struct filter_node *right;

	TRY(read_and(r, out, err));
	for (;;) {
		filter_skip_blanks(r);
		if (!filter_take(r, "||"))
			return OK;
		TRY(read_and(r, &right, err));
		TRY(join(r, NODE_OR, out, right, err));
	}
}

/* Characters that every writer of JSON leaves as they are. */
static struct filter_needle needle_plain(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isalnum((unsigned char)text.ptr[i]) && !strchr("_-. :=,", text.ptr[i]))
			return (struct filter_needle){.count = 0};
	return filter_needle_text(text);
}

static struct filter_needle needle_key(const struct filter_node *node)
{
	struct filter_needle best = {.count = 0};

	for (size_t i = 0; i < node->step_count; i++) {
		struct filter_needle key = needle_plain(node->steps[i].key);
		best = filter_needle_and(&best, &key);
	}
	return best;
}

/* Chains of && and || lean to the left, and are as long as the pattern at most. */
static struct filter_needle needle_of(const struct filter_node *node)
{
	struct filter_needle left, right;

	switch (node->kind) {
	case NODE_AND:
	case NODE_OR:
		left = needle_of(node->left);
		right = needle_of(node->right);
		return node->kind == NODE_AND ? filter_needle_and(&left, &right) : filter_needle_or(&left, &right);
	case NODE_NOT_EXISTS:
		return (struct filter_needle){.count = 0};
	case NODE_COMPARE:
		left = needle_key(node);
		if (node->op != FILTER_EQUAL)
			return left;
		right = filter_needle_of(&node->value);
		right = right.count ? needle_plain(right.texts[0]) : right;
		return filter_needle_and(&right, &left);
	default:
		return needle_key(node);
	}
}

enum status filter_json_read(struct filter_reader *r, struct error *err)
{
	r->at++;
	TRY(read_or(r, &r->pattern->json, err));
	filter_skip_blanks(r);
	if (!filter_take(r, "}"))
		return filter_wrong(r, r->at, "no && || or } behind a condition", err);
	r->pattern->needle = needle_of(r->pattern->json);
	return OK;
}

/* ---- matching ---- */

static bool compares(const struct filter_node *node, const struct json *leaf, struct regex_scratch *scratch)
{
	AUTO_DONE(buf) text = BUF_INIT(NUMBER_MAX_BYTES);
	double number = 0;

	switch (json_kind(leaf)) {
	case JSON_STRING:
		return filter_compare(node->op, &node->value, json_string_of(leaf), false, 0, scratch);
	case JSON_NUMBER:
		if (node->value.is_quoted)
			return node->op == FILTER_NOT_EQUAL;
		json_print(leaf, &text);
		return json_number_of(leaf, &number) &&
		       filter_compare(node->op, &node->value, buf_span(&text), true, number, scratch);
	case JSON_BOOL:
		return filter_compare(
			node->op, &node->value, json_is_true(leaf) ? SPAN("true") : SPAN("false"), false, 0, scratch);
	default:
		return false;
	}
}

static bool takes(const struct filter_node *node, const struct json *leaf, struct regex_scratch *scratch)
{
	switch (node->kind) {
	case NODE_IS_NULL:
		return json_kind(leaf) == JSON_NULL;
	case NODE_IS_TRUE:
	case NODE_IS_FALSE:
		return json_kind(leaf) == JSON_BOOL && json_is_true(leaf) == (node->kind == NODE_IS_TRUE);
	case NODE_COMPARE:
		return compares(node, leaf, scratch);
	default:
		return true; /* NOT EXISTS looks for any */
	}
}

static const struct json *child(const struct json *at, const struct step *step)
{
	if (step->key.ptr)
		return json_kind(at) == JSON_OBJECT ? json_get(at, step->key.ptr) : NULL;
	if (json_kind(at) != JSON_ARRAY)
		return NULL;
	const struct json *item = json_first(at);
	for (int64_t i = 0; item && i < step->index; i++)
		item = json_next(item);
	return item;
}

/* Is there a node that the selector means and the condition takes? Depth: parts of the selector. */
static bool finds(const struct filter_node *node, const struct json *at, size_t from, struct regex_scratch *scratch)
{
	for (; from < node->step_count; from++) {
		const struct step *step = &node->steps[from];
		if (!step->key.ptr && step->index == ANY_INDEX) {
			if (json_kind(at) != JSON_ARRAY && json_kind(at) != JSON_OBJECT)
				return false;
			for (const struct json *item = json_first(at); item; item = json_next(item))
				if (finds(node, item, from + 1, scratch))
					return true;
			return false;
		}
		if (!(at = child(at, step)))
			return false;
	}
	return takes(node, at, scratch);
}

static bool holds(const struct filter_node *node, const struct json *document, struct regex_scratch *scratch)
{
	switch (node->kind) {
	case NODE_AND:
		return holds(node->left, document, scratch) && holds(node->right, document, scratch);
	case NODE_OR:
		return holds(node->left, document, scratch) || holds(node->right, document, scratch);
	case NODE_NOT_EXISTS:
		return !finds(node, document, 0, scratch);
	default:
		return finds(node, document, 0, scratch);
	}
}

bool filter_json_matches(const struct filter_node *node, struct regex_scratch *scratch, struct span line)
{
	AUTO(json) document = NULL;
	struct span text = span_trim(line);
	struct error ignored;

	if (!text.len || text.ptr[0] != '{' || json_parse(&document, text, &ignored) != OK)
		return false;
	return holds(node, document, scratch);
}
