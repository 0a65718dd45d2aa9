#include "store/sql/search/search_memory.h"

#include "base/clock.h"
#include "base/text/regex.h"
#include "model/query.h"
#include "store/columns/case_fold.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/sql/search/search_pattern.h"

#include <float.h>
#include <strings.h>

enum { LATE_EVERY = 256, WORD_BITS = 64, MAX_FOLDED_BYTES = 1 << 18 };

/* ---- columns ---- */

bool search_is_in_memory(const struct query_node *node, struct arena *arena)
{
	struct search_leaf leaf;

	if (node->kind == QUERY_ONE)
		return false;
	if (node->kind == QUERY_TERM)
		return search_leaf_of(&node->term, arena, &leaf);
	return search_is_in_memory(node->left, arena) && (!node->right || search_is_in_memory(node->right, arena));
}

struct search_memory search_memory_on(struct store_reader *reader, struct arena *arena)
{
	return (struct search_memory){
		.reader = reader, .arena = arena, .cache = connection_search(reader), .now_ms = clock_wall_ms()};
}

static bool is_same(const struct search_source *a, const struct search_source *b)
{
	return a->kind == b->kind && a->role == b->role && a->aggregate == b->aggregate && a->by_hand == b->by_hand &&
	       (a->column == b->column || (a->column && b->column && strcmp(a->column, b->column) == 0)) &&
	       span_equal(a->key, b->key);
}

enum status search_memory_want(struct search_memory *memory, const struct search_source *source, struct error *err)
{
	for (size_t i = 0; i < memory->use_count; i++)
		if (is_same(&memory->uses[i].source, source))
			return OK;
	memory->uses =
		rows_grow(memory->arena, memory->uses, memory->use_count, &memory->use_cap, sizeof *memory->uses);
	if (!memory->uses)
		return error_no_memory(err);
	memory->uses[memory->use_count++] = (struct search_use){.source = *source};
	return OK;
}

enum status search_memory_want_query(struct search_memory *memory, const struct query_node *node, struct error *err)
{
	struct search_leaf leaf;

	if (node->kind != QUERY_TERM) {
		TRY(search_memory_want_query(memory, node->left, err));
		return node->right ? search_memory_want_query(memory, node->right, err) : OK;
	}
	if (!search_leaf_of(&node->term, memory->arena, &leaf))
		return error_set(err, ERR_INTERNAL, "the search keeps no '%.*s' in memory", SPAN_ARGS(node->term.key));
	for (size_t i = 0; i < leaf.count; i++)
		TRY(search_memory_want(memory, &leaf.sources[i], err));
	return OK;
}

enum status search_memory_want_parts(struct search_memory *memory, const struct query_node *node, struct error *err)
{
	struct search_leaf leaf;

	if (node->kind == QUERY_TERM)
		return search_leaf_of(&node->term, memory->arena, &leaf) ? search_memory_want_query(memory, node, err)
									 : OK;
	TRY(search_memory_want_parts(memory, node->left, err));
	return node->right ? search_memory_want_parts(memory, node->right, err) : OK;
}

const struct job_column *search_memory_column(const struct search_memory *memory, const struct search_source *source)
{
	for (size_t i = 0; i < memory->use_count; i++)
		if (is_same(&memory->uses[i].source, source))
			return memory->uses[i].column;
	return NULL;
}

enum status search_memory_enter(struct search_memory *memory, struct error *err)
{
	struct search_source every = search_every_job();

	TRY(search_memory_want(memory, &every, err));
	if (!memory->cache) {
		memory->cache = search_cache_new(NULL, SIZE_MAX);
		memory->owns_cache = true;
		if (!memory->cache)
			return error_no_memory(err);
	}
	TRY(search_cache_enter(memory->cache, memory->reader, memory->uses, memory->use_count, err));
	memory->is_inside = true;
	const struct job_column *jobs = search_memory_column(memory, &every);
	memory->all = bits_new(memory->arena, (jobs->jobs + WORD_BITS - 1) / WORD_BITS);
	if (!memory->all.words)
		return error_no_memory(err);
	for (size_t i = 0; i < jobs->jobs; i++)
		if (!isinf(jobs->numbers[i]))
			bits_add(&memory->all, i);
	return OK;
}

void search_memory_done(struct search_memory *memory)
{
	if (memory->is_inside)
		search_cache_leave(memory->cache, memory->uses, memory->use_count);
	if (memory->owns_cache)
		search_cache_free(memory->cache);
	memory->is_inside = memory->owns_cache = false;
}

bool search_memory_is_late(struct search_memory *memory)
{
	if (memory->deadline_ms && clock_mono_ms() > memory->deadline_ms)
		memory->is_partial = true;
	return memory->is_partial;
}

/* ---- one text against one term ---- */

struct text_test {
	struct search_memory *memory;
	const struct query_term *term;
	bool has_numbers, ignores_case, is_place; /* s3: the place and what is below it */
	struct span *folded; /* of each value */
	struct regex *regex;
	struct regex_scratch *scratch;
	bool gave_up;
	unsigned tests;
};

static void text_test_done(struct text_test *test)
{
	regex_free(test->regex);
	regex_scratch_free(test->scratch);
}
AUTO_DONE_TYPE(text_test)

static bool is_match(const struct query_term *term)
{
	return term->compare == QUERY_MATCHES || term->compare == QUERY_MATCHES_FOLDED ||
	       term->compare == QUERY_MATCHES_NOT;
}

/* '*' is the wildcard: the parts between, each behind the one before. */
static bool holds_parts(struct span text, struct span pattern, bool is_literal)
{
	struct span part;

	if (is_literal)
		return span_find(text, pattern) >= 0;
	while (span_next(&pattern, '*', &part)) {
		ptrdiff_t at = span_find(text, part);
		if (at < 0)
			return false;
		text = span_skip(text, (size_t)at + part.len);
	}
	return true;
}

/* s3:"s3://b/p" is p itself and what is below p/; with a '*' at the end it is any text that begins so. */
static bool is_at_place(struct span text, struct span place)
{
	bool is_prefix = place.len && place.ptr[place.len - 1] == '*';

	place.len -= is_prefix || (place.len && place.ptr[place.len - 1] == '/');
	return span_starts_with(text, place) && (is_prefix || text.len == place.len || text.ptr[place.len] == '/');
}

static bool is_order(enum query_compare compare, int order)
{
	switch (compare) {
	case QUERY_LESS:
		return order < 0;
	case QUERY_AT_MOST:
		return order <= 0;
	case QUERY_MORE:
		return order > 0;
	case QUERY_AT_LEAST:
		return order >= 0;
	default:
		return order == 0;
	}
}

static int compare_ignoring_case(struct span a, struct span b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter ? strncasecmp(a.ptr, b.ptr, shorter) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static enum job_memo test_pattern(struct text_test *test, struct span text)
{
	struct span groups[REGEX_MAX_GROUPS];

	if (!span_is_utf8(text))
		return JOB_MEMO_NO;
	enum regex_result result = regex_search(test->regex, test->scratch, text, 0, groups);
	test->gave_up = result == REGEX_LIMIT;
	return test->gave_up ? JOB_MEMO_UNKNOWN : result == REGEX_MATCH ? JOB_MEMO_YES : JOB_MEMO_NO;
}

static bool satisfies(const struct text_test *test, const struct job_column *column, uint32_t value, size_t i)
{
	const struct query_value *wanted = &test->term->values[i];
	struct span text = job_column_text(column, value);

	if (test->is_place)
		return is_at_place(text, wanted->text);
	if (wanted->is_number && test->has_numbers) {
		double number = job_column_text_number(column, value);
		return !isnan(number) && !isnan(wanted->number) &&
		       is_order(test->term->compare, (number > wanted->number) - (number < wanted->number));
	}
	if (test->term->compare == QUERY_CONTAINS)
		return holds_parts(job_column_folded(column, value), test->folded[i], wanted->is_literal);
	bool is_same = test->term->compare == QUERY_EQUAL && !test->ignores_case;
	return is_same ? span_equal(text, wanted->text)
		       : is_order(test->term->compare, test->ignores_case ? compare_ignoring_case(text, wanted->text)
									  : span_compare(text, wanted->text));
}

static enum job_memo test_value(void *context, const struct job_column *column, uint32_t value)
{
	struct text_test *test = context;
	const struct query_term *term = test->term;

	if (++test->tests % LATE_EVERY == 0 && search_memory_is_late(test->memory))
		return JOB_MEMO_UNKNOWN;
	if (!test->has_numbers && !column->values[value].len) /* of a column of jobs: not there */
		return JOB_MEMO_NO;
	if (term->compare == QUERY_EXISTS)
		return JOB_MEMO_YES;
	if (is_match(term))
		return test_pattern(test, job_column_text(column, value));
	for (size_t i = 0; i < term->value_count; i++)
		if (satisfies(test, column, value, i))
			return JOB_MEMO_YES;
	return JOB_MEMO_NO;
}

static enum status text_test_new(struct text_test *test, struct arena *arena, struct error *err)
{
	const struct query_term *term = test->term;

	if (is_match(term))
		return search_pattern_new(&test->regex, &test->scratch, term, err);
	test->folded = arena_alloc(arena, (term->value_count + 1) * sizeof *test->folded);
	for (size_t i = 0; test->folded && i < term->value_count; i++) {
		AUTO_DONE(buf) folded = BUF_INIT(MAX_FOLDED_BYTES);
		fold_append(&folded, term->values[i].text);
		TRY(buf_status(&folded, err));
		test->folded[i] = arena_copy(arena, buf_span(&folded));
		if (!test->folded[i].ptr)
			test->folded = NULL;
	}
	return test->folded ? OK : error_no_memory(err);
}

/* ---- leaves: each adds to `out` ---- */

/* Numbers that satisfy the comparison are from low to high: equal neighbours make an open end a closed one. */
static void range_of(enum query_compare compare, double number, double *low, double *high)
{
	*low = *high = number;
	if (compare == QUERY_LESS || compare == QUERY_AT_MOST) {
		*low = -DBL_MAX;
		*high = compare == QUERY_LESS ? nextafter(number, -INFINITY) : number;
	} else if (compare == QUERY_MORE || compare == QUERY_AT_LEAST) {
		*low = compare == QUERY_MORE ? nextafter(number, INFINITY) : number;
		*high = DBL_MAX;
	}
	if (*low < -DBL_MAX)
		*low = -DBL_MAX;
	if (*high > DBL_MAX)
		*high = DBL_MAX;
}

static bool are_all_numbers(const struct query_term *term)
{
	for (size_t i = 0; i < term->value_count; i++)
		if (!term->values[i].is_number || isnan(term->values[i].number))
			return false;
	return true;
}

static bool are_no_numbers(const struct query_term *term)
{
	for (size_t i = 0; i < term->value_count; i++)
		if (term->values[i].is_number)
			return false;
	return true;
}

/* What one pass over all values answers better than a look at each; else the memo stays empty. */
static void note_all(const struct text_test *test, const struct job_column *column, unsigned char *memo)
{
	const struct query_term *term = test->term;
	bool is_text = !test->has_numbers || are_no_numbers(term);
	bool is_part = term->compare == QUERY_CONTAINS && term->value_count == 1 && !test->is_place && is_text &&
		       test->folded[0].len && (term->values[0].is_literal || span_find_char(test->folded[0], '*') < 0);
	bool is_range = test->has_numbers && !is_match(term) && term->compare != QUERY_EXISTS && !test->is_place &&
			are_all_numbers(term);
	bool is_same =
		(term->compare == QUERY_EQUAL || term->compare == QUERY_NOT_EQUAL || term->compare == QUERY_IN) &&
		is_text && !test->ignores_case;
	double low, high;

	if (!is_part && !is_range && !is_same && !test->is_place)
		return;
	memset(memo, JOB_MEMO_NO, column->value_count);
	if (is_part)
		job_column_note_part(column, test->folded[0], memo);
	for (size_t i = 0; i < term->value_count; i++) {
		struct span text = term->values[i].text;
		if (is_range) {
			range_of(term->compare, term->values[i].number, &low, &high);
			job_column_note_range(column, low, high, memo);
		} else if (is_same) {
			job_column_note_text(column, text, false, JOB_MEMO_YES, memo);
		} else if (test->is_place) { /* may be, if it begins so */
			text.len -= text.len && (text.ptr[text.len - 1] == '*' || text.ptr[text.len - 1] == '/');
			job_column_note_text(column, text, true, JOB_MEMO_UNKNOWN, memo);
		}
	}
}

static enum status add_texts(struct text_test *test, const struct search_source *source, const struct bits *among,
	struct bits *out, struct error *err)
{
	struct search_memory *memory = test->memory;
	const struct job_column *column = search_memory_column(memory, source);
	AUTO_MEM unsigned char *memo = mem_zeroed(column->value_count);

	if (!memo)
		return error_no_memory(err);
	if (bits_size(among) * 8 > column->value_count)
		note_all(test, column, memo);
	if (!job_column_add_values(column, memo, test_value, test, among, out) && test->gave_up)
		return search_pattern_gave_up(test->term, err);
	return OK;
}

static void add_number(const struct job_column *column, enum query_compare compare, double number,
	const struct bits *among, struct bits *out)
{
	bool is_less_or_more = compare >= QUERY_LESS && compare <= QUERY_AT_LEAST;
	double low, high;

	if (isnan(number)) { /* satisfies no order */
		if (!is_less_or_more)
			job_column_add_present(column, true, among, out);
		return;
	}
	/* Infinities are stored as the largest doubles (see 0001_init.sql), and so are compared as such. */
	range_of(compare, number > DBL_MAX ? DBL_MAX : number < -DBL_MAX ? -DBL_MAX : number, &low, &high);
	if (compare == QUERY_LESS && number <= -DBL_MAX)
		return;
	if (compare == QUERY_MORE && number >= DBL_MAX)
		return;
	job_column_add_range(column, low, high, among, out);
}

static void add_numbers(struct search_memory *memory, const struct search_leaf *leaf, const struct query_term *term,
	const struct bits *among, struct bits *out)
{
	const struct job_column *column = search_memory_column(memory, &leaf->sources[0]);

	if (term->compare == QUERY_EXISTS)
		job_column_add_present(column, false, among, out);
	for (size_t i = 0; i < term->value_count; i++)
		if (term->values[i].is_number || leaf->kind == SEARCH_LEAF_FIGURE)
			add_number(column, term->compare, term->values[i].number, among, out);
}

/* In seconds; of a job that runs: so far. What began and ended in one moment has none. */
static void add_durations(struct search_memory *memory, const struct search_leaf *leaf, const struct query_term *term,
	const struct bits *among, struct bits *out)
{
	const struct job_column *started = search_memory_column(memory, &leaf->sources[0]);
	const struct job_column *ended = search_memory_column(memory, &leaf->sources[1]); /* or was over */

	for (size_t i = 0; i < among->count; i++)
		for (uint64_t left = among->words[i]; left; left &= left - 1) {
			size_t job = WORD_BITS * i + bits_first(left);
			double start = job_column_number(started, job), end = job_column_number(ended, job);
			double seconds = ((isinf(end) ? (double)memory->now_ms : end) - start) / 1000.0;
			bool is_hit = term->compare == QUERY_EXISTS;
			for (size_t k = 0; k < term->value_count; k++) {
				double wanted = term->values[k].number;
				is_hit |= term->values[k].is_number && !isnan(wanted) &&
					  is_order(term->compare, (seconds > wanted) - (seconds < wanted));
			}
			if (is_hit && !isinf(start) && (isinf(end) || end > start))
				bits_add(out, job);
		}
}

static enum status add_leaf(struct search_memory *memory, const struct search_leaf *leaf, const struct query_term *term,
	const struct bits *among, struct bits *out, struct error *err)
{
	AUTO_DONE(text_test)
	test = {.memory = memory,
		.term = term,
		.has_numbers = leaf->kind == SEARCH_LEAF_TEXTS,
		.ignores_case = leaf->ignores_case,
		.is_place = term->family == QUERY_PROPERTY && term->compare == QUERY_CONTAINS &&
			    span_equal(term->key, SPAN("s3"))};

	switch (leaf->kind) {
	case SEARCH_LEAF_TIME:
	case SEARCH_LEAF_FIGURE:
		add_numbers(memory, leaf, term, among, out);
		return OK;
	case SEARCH_LEAF_DURATION:
		add_durations(memory, leaf, term, among, out);
		return OK;
	case SEARCH_LEAF_TEXTS:
	case SEARCH_LEAF_COLUMN:
	case SEARCH_LEAF_WORD:
		break;
	}
	TRY(text_test_new(&test, memory->arena, err));
	for (size_t i = 0; i < leaf->count; i++)
		TRY(add_texts(&test, &leaf->sources[i], among, out, err));
	return OK;
}

/* ---- the tree ---- */

/* What it costs to look at all jobs, roughly. */
static int cost_of(const struct query_node *node)
{
	if (node->kind != QUERY_TERM) {
		int left = cost_of(node->left), right = node->right ? cost_of(node->right) : 0;
		return left > right ? left : right;
	}
	return is_match(&node->term) ? 3 : node->term.compare == QUERY_CONTAINS ? 2 : 1;
}

static void subtract(const struct bits *from, struct bits *out)
{
	for (size_t i = 0; i < out->count; i++)
		out->words[i] = from->words[i] & ~out->words[i];
}

static enum status find_joined(struct search_memory *memory, const struct query_node *node, const struct bits *among,
	struct bits *out, struct error *err)
{
	bool swaps = cost_of(node->right) < cost_of(node->left);
	const struct query_node *first = swaps ? node->right : node->left, *second = swaps ? node->left : node->right;
	struct bits found, rest;

	TRY(search_memory_find(memory, first, among, &found, err));
	if (node->kind == QUERY_AND)
		return search_memory_find(memory, second, &found, out, err);
	rest = bits_new(memory->arena, among->count);
	if (!rest.words)
		return error_no_memory(err);
	memcpy(rest.words, found.words, found.count * sizeof *found.words);
	subtract(among, &rest);
	TRY(search_memory_find(memory, second, &rest, out, err));
	for (size_t i = 0; i < out->count; i++)
		out->words[i] |= found.words[i];
	return OK;
}

enum status search_memory_find(struct search_memory *memory, const struct query_node *node, const struct bits *among,
	struct bits *out, struct error *err)
{
	struct search_leaf leaf;
	bool is_negated = node->kind == QUERY_NOT;

	if (node->kind == QUERY_AND || node->kind == QUERY_OR)
		return find_joined(memory, node, among, out, err);
	if (is_negated) {
		TRY(search_memory_find(memory, node->left, among, out, err));
	} else {
		*out = bits_new(memory->arena, among->count);
		if (!out->words || !search_leaf_of(&node->term, memory->arena, &leaf))
			return error_no_memory(err);
		TRY(add_leaf(memory, &leaf, &node->term, among, out, err));
		/* Plain negation: also jobs without the key. */
		is_negated = node->term.compare == QUERY_NOT_EQUAL || node->term.compare == QUERY_MATCHES_NOT;
	}
	if (is_negated && memory->is_partial) /* what was not looked at must not count as what does not match */
		memset(out->words, 0, out->count * sizeof *out->words);
	else if (is_negated)
		subtract(among, out);
	return OK;
}
