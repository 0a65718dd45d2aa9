/*
 * The prefix of a stream whose lines no preset knows: the first place in a line behind which a specific one does. Only while
 * none has taken a line, and on LEARN_LINES lines at most.
 */
#include "extract/state.h"

enum { LETTERS_MIN = 3 };

static bool has_specific(const struct formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		if (!formats->items[i]->is_generic && formats->items[i]->taken)
			return true;
	return false;
}

/* Numbers alone may stand anywhere: a match with words is surer. */
static bool has_words(struct span text)
{
	size_t letters = 0;

	for (size_t i = 0; i < text.len; i++)
		letters += (unsigned char)((text.ptr[i] | 0x20) - 'a') < 26;
	return letters >= LETTERS_MIN;
}

/* Those that may know the line behind some place: their bits stay in may. False: none. */
static bool find_candidates(struct run *run, uint64_t may[SIEVE_WORDS])
{
	size_t count;
	const struct preset *presets = definition_set_presets(run->set, &count);
	uint64_t any = 0;

	sieve_find(definition_set_sieve(run->set), run->extractor->segment.view.whole, may);
	for (size_t i = 0; i < count && i < PRESETS_MAX; i++)
		if (!presets[i].detect_front)
			may[i / 64] &= ~(UINT64_C(1) << i % 64);
	for (size_t word = 0; word < SIEVE_WORDS; word++)
		any |= may[word];
	return any;
}

/* Is there one of these that knows it behind the cut? */
static bool is_known_at(const struct run *run, const uint64_t may[SIEVE_WORDS], struct span text, bool *is_sure)
{
	size_t count;
	const struct preset *presets = definition_set_presets(run->set, &count);
	struct span groups[REGEX_MAX_GROUPS];

	for (size_t word = 0; word < SIEVE_WORDS; word++)
		for (uint64_t bits = may[word]; bits; bits &= bits - 1) {
			const struct preset *preset = &presets[word * 64 + (size_t)__builtin_ctzll(bits)];
			if (regex_search(preset->detect_front, run->scratch, text, 0, groups) != REGEX_MATCH)
				continue;
			*is_sure = has_words(groups[0]);
			return true;
		}
	return false;
}

bool learn_prefix(struct run *run)
{
	struct extractor *extractor = run->extractor;
	struct line_view *view = &extractor->segment.view;
	uint64_t may[SIEVE_WORDS];
	bool is_sure;

	if (extractor->prefixes.looked >= LEARN_LINES || has_specific(&extractor->formats) ||
		!definition_set_sieve(run->set))
		return false;
	extractor->prefixes.looked++;
	if (!find_candidates(run, may))
		return false;
	struct span text = line_view_prefix(view)->starts[0];
	size_t cut = prefix_next_cut(text, 0);
	for (int i = 0; cut && i < CUTS_MAX; i++, cut = prefix_next_cut(text, cut)) {
		if (!is_known_at(run, may, span_skip(text, cut), &is_sure))
			continue;
		if (!prefix_learn(&extractor->prefixes, span_of(text.ptr, cut), is_sure))
			return false;
		line_view_forget(view);
		formats_forget_dull(&extractor->formats);
		return true;
	}
	return false;
}
