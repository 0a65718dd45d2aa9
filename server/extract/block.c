#include "extract/block.h"
#include "extract/state.h"

enum { BLOCK_MAX_BYTES = 16 << 20, WORDS = (DEFINITIONS_MAX + 63) / 64 };

/* A stretch of the block: a line, or one of the forms that it is tried in. */
struct piece {
	uint32_t start;
	uint32_t line;
};

struct candidates {
	uint64_t words[WORDS];
};

struct extract_block {
	struct buf text;
	struct piece *pieces;
	size_t piece_count, piece_cap;
	struct candidates *lines; /* one a line */
	size_t line_count, line_cap;
	const struct definition_list *list; /* that the candidates are of; NULL: none */
	bool has_failed;
};

struct extract_block *extract_block_new(void)
{
	struct extract_block *block = mem_zeroed(sizeof *block);

	if (block)
		block->text = BUF_INIT(BLOCK_MAX_BYTES);
	return block;
}

void extract_block_free(struct extract_block *block)
{
	if (!block)
		return;
	buf_done(&block->text);
	mem_free(block->pieces);
	mem_free(block->lines);
	mem_free(block);
}

/* A search over the block and one on each line that it finds costs less than one on each line only if it finds few. */
bool extract_block_helps(const struct extractor *extractor, const struct definition_set *set)
{
	enum { LEADERS_MIN = 12 };
	const struct definition_list *list = definition_set_list(set, extractor->choice.preset);
	size_t leaders = 0;

	if (list->count < LEADERS_MIN)
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		leaders += list->items[i].leader == i;
	return leaders >= LEADERS_MIN;
}

void extract_block_reset(struct extract_block *block)
{
	buf_reset(&block->text);
	block->piece_count = block->line_count = 0;
	block->list = NULL;
	block->has_failed = false;
}

static void add_piece(struct extract_block *block, struct span text)
{
	if (!mem_grow((void **)&block->pieces, block->piece_count, &block->piece_cap, sizeof *block->pieces)) {
		block->has_failed = true;
		return;
	}
	block->pieces[block->piece_count++] =
		(struct piece){(uint32_t)block->text.len, (uint32_t)(block->line_count - 1)};
	buf_append_span(&block->text, text);
	buf_append_char(&block->text, '\n');
}

void extract_block_add(struct extract_block *block, struct span text)
{
	struct prefix prefix;

	if (block->has_failed ||
		!mem_grow((void **)&block->lines, block->line_count, &block->line_cap, sizeof *block->lines)) {
		block->has_failed = true;
		return;
	}
	struct candidates *line = &block->lines[block->line_count++];
	/* Escapes and segments are rare in bulk: such lines are tried by all. */
	bool is_plain = text.len && !memchr(text.ptr, 0x1b, text.len) && !memchr(text.ptr, '\r', text.len);
	memset(line, is_plain ? 0 : 0xff, sizeof *line);
	if (!is_plain)
		return;
	struct span peeled = line_peel(text, &prefix);
	add_piece(block, peeled);
	if (peeled.len != text.len)
		add_piece(block, text);
	block->has_failed |= block->text.failure != OK;
}

/* The piece that holds the byte, from `from` on. */
static size_t piece_at(const struct extract_block *block, size_t from, size_t byte)
{
	size_t low = from, high = block->piece_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (block->pieces[middle].start <= byte)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void add_candidates_from(struct extract_block *block, size_t piece, uint32_t leader)
{
	for (; piece < block->piece_count; piece++)
		block->lines[block->pieces[piece].line].words[leader / 64] |= UINT64_C(1) << leader % 64;
}

static void look_for(
	struct extract_block *block, const struct regex *regex, struct regex_scratch *scratch, uint32_t leader)
{
	struct span text = buf_span(&block->text), groups[REGEX_MAX_GROUPS];
	size_t piece = 0;

	while (piece < block->piece_count) {
		enum regex_result result = regex_search(regex, scratch, text, block->pieces[piece].start, groups);
		if (result == REGEX_NO_MATCH)
			return;
		if (result == REGEX_LIMIT) { /* not told: each line alone decides */
			add_candidates_from(block, piece, leader);
			return;
		}
		piece = piece_at(block, piece, (size_t)(groups[0].ptr - text.ptr));
		block->lines[block->pieces[piece].line].words[leader / 64] |= UINT64_C(1) << leader % 64;
		piece++;
	}
}

void extract_block_match(struct extract_block *block, const struct extractor *extractor,
	const struct definition_set *set, struct regex_scratch *scratch)
{
	const struct definition_list *list = definition_set_list(set, extractor->choice.preset);

	if (block->has_failed || block->line_count == 0)
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].leader != i)
			continue;
		if (list->items[i].block_regex)
			look_for(block, list->items[i].block_regex, scratch, i);
		else
			add_candidates_from(block, 0, i);
	}
	block->list = list;
}

const uint64_t *block_candidates(const struct extract_block *block, const struct definition_list *list, size_t line)
{
	return block->list == list && line < block->line_count ? block->lines[line].words : NULL;
}

bool block_ends_at(const struct extract_block *block, size_t line)
{
	return line + 1 >= block->line_count;
}

static bool is_one_of(char c, const char *characters)
{
	return c && strchr(characters, c);
}

/* The length of "(?i)", "(?i:", "(?:", "(?<name>", "(?P<name>", "(?=" or of a "(" alone; 0: something else. */
static size_t length_of_group(struct span s)
{
	static const struct span known[] = {SPAN("(?i)"), SPAN("(?i:"), SPAN("(?:"), SPAN("(?=")};

	if (s.len < 2 || s.ptr[1] != '?')
		return s.len > 1 && s.ptr[1] == '*' ? 0 : 1;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (span_starts_with(s, known[i]))
			return known[i].len;
	bool is_named = span_starts_with(s, SPAN("(?<")) || span_starts_with(s, SPAN("(?P<"));
	ptrdiff_t end = is_named ? span_find_char(s, '>') : -1;
	return end < 0 || is_one_of(s.ptr[3], "=!") ? 0 : (size_t)end + 1;
}

/*
 * Refused: negative and backward assertions, atomic and possessive parts, conditions, recursion, verbs, references back,
 * options but i, and escapes that ask for the subject's ends or change the match.
 */
bool pattern_spans_lines(struct span pattern)
{
	bool is_class = false, was_quantifier = false;

	for (struct span s = pattern; s.len;) {
		size_t step = 1;
		bool is_quantifier = !is_class && is_one_of(s.ptr[0], "*+?}");
		if (s.ptr[0] == '\\') {
			if (s.len < 2 || is_one_of(s.ptr[1], "AzZGKRXCQEgk123456789Npx"))
				return false;
			step = 2;
		} else if (is_class) {
			is_class = s.ptr[0] != ']';
		} else if (s.ptr[0] == '[') {
			is_class = true;
			step += s.len > 1 && s.ptr[1] == '^';
			step += s.len > step && s.ptr[step] == ']';
		} else if (s.ptr[0] == '(') {
			step = length_of_group(s);
		}
		if (step == 0 || (was_quantifier && s.ptr[0] == '+' && !is_class))
			return false;
		was_quantifier = is_quantifier;
		s = span_skip(s, step);
	}
	return true;
}
