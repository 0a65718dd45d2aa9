/* Whose `detect` knows a line, each shape of line once. */
#include "extract/format.h"
#include "extract/generic/generic.h"
#include "extract/line/starts.h"

enum { SEEN_BYTES = 4096, MEMO = 256, DULL = 1 };

static bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Of the line with each run of digits made one; the lowest bit is free. */
static uint64_t shape_of(struct span text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool was_digit = false;

	for (size_t i = 0; i < text.len; i++) {
		bool is = is_digit(text.ptr[i]);
		if (is && was_digit)
			continue;
		was_digit = is;
		hash = (hash ^ (unsigned char)(is ? '0' : text.ptr[i])) * UINT64_C(0x100000001b3);
	}
	return (hash | 2) & ~(uint64_t)DULL;
}

/* NULL: no memory, so all are tried. */
static uint64_t *memo_of(struct formats *formats, uint64_t shape)
{
	if (!formats->memo)
		formats->memo = mem_zeroed(MEMO * sizeof *formats->memo);
	return formats->memo ? &formats->memo[(shape >> 8) % MEMO] : NULL;
}

static struct span seen_of(struct span text)
{
	return span_of(text.ptr, text.len < SEEN_BYTES ? text.len : SEEN_BYTES);
}

static bool is_read(const struct prefix *prefix)
{
	struct span text = seen_of(prefix->starts[prefix->certain]);
	struct tokens tokens;
	struct generic_line line;

	if (!generic_may_have(text))
		return false;
	tokens_find(seen_of(prefix->starts[generic_start(prefix)]), &tokens);
	return generic_read(&tokens, &line) && line.is_known;
}

static bool is_known(const struct preset *preset, struct regex_scratch *scratch, struct line_view *view)
{
	struct span groups[REGEX_MAX_GROUPS];
	size_t start;

	if (preset->list.is_reader)
		return is_read(line_view_prefix(view));
	return starts_search(line_view_prefix(view), preset->detect, preset->has_start, scratch, SEEN_BYTES, groups,
		       &start) == REGEX_MATCH;
}

void formats_find_known(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, uint64_t known[SIEVE_WORDS], bool *is_dull)
{
	struct span seen = seen_of(view->whole);
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);
	uint64_t shape = shape_of(seen), *memo = memo_of(formats, shape);
	bool knows_any = false;

	memset(known, 0, SIEVE_WORDS * sizeof *known);
	*is_dull = memo && *memo == (shape | DULL);
	if (!count || (memo && (*memo & ~(uint64_t)DULL) == shape))
		return;
	sieve_find(definition_set_sieve(set), seen, known);
	for (size_t i = 0; i < count && i < PRESETS_MAX; i++) {
		uint64_t bit = UINT64_C(1) << i % 64;
		if (known[i / 64] & bit && !is_known(&presets[i], scratch, view))
			known[i / 64] &= ~bit;
		knows_any |= (known[i / 64] & bit) != 0;
	}
	if (memo && !knows_any)
		*memo = shape;
}

void formats_note_dull(struct formats *formats, struct span text)
{
	if (text.len > SEEN_BYTES)
		return;
	uint64_t shape = shape_of(text), *memo = memo_of(formats, shape);

	if (memo && *memo == shape)
		*memo |= DULL;
}

void formats_forget_dull(struct formats *formats)
{
	mem_free(formats->memo);
	formats->memo = NULL;
}
