#include "extract/choice.h"

#include "extract/line/starts.h"

enum { SEEN_BYTES = 4096, LEAD_MIN = 8, LEAD_FACTOR = 4 };

void choice_init(struct choice *choice)
{
	*choice = (struct choice){.preset = -1};
}

void choice_done(struct choice *choice)
{
	mem_free(choice->memo);
	choice->memo = NULL;
}

static bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Of the line with each run of digits made one. */
static uint64_t shape_of(struct span text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < text.len; i++) {
		if (is_digit(text.ptr[i]) && i > 0 && is_digit(text.ptr[i - 1]))
			continue;
		hash = (hash ^ (unsigned char)(is_digit(text.ptr[i]) ? '0' : text.ptr[i])) * UINT64_C(0x100000001b3);
	}
	return hash ? hash : 1;
}

/*
 * A stream that never says anything that a preset knows would pay for all of them on each line for ever. Bulk chatter has few
 * shapes: past the first lines, a shape that no preset knew is not tried again. NULL: no memory, so all are tried.
 */
static uint64_t *memo_of(struct choice *choice, struct span text, uint64_t *shape)
{
	if (!choice->memo)
		choice->memo = mem_zeroed(CHOICE_MEMO * sizeof *choice->memo);
	*shape = shape_of(text);
	return choice->memo ? &choice->memo[*shape % CHOICE_MEMO] : NULL;
}

static bool is_known(
	const struct preset *preset, struct regex_scratch *scratch, const struct prefix *prefix, size_t *start)
{
	struct span groups[REGEX_MAX_GROUPS];

	return starts_search(prefix, preset->detect, preset->has_start, scratch, SEEN_BYTES, groups, start) ==
	       REGEX_MATCH;
}

/* The header of a CSV is one with a prefix, too: what stands behind it is meant. */
static size_t innermost(
	const struct preset *preset, struct regex_scratch *scratch, const struct prefix *prefix, size_t start)
{
	struct span groups[REGEX_MAX_GROUPS];

	for (size_t i = prefix->count; preset->has_start && --i > start;)
		if (regex_search(preset->detect, scratch, span_cut(prefix->starts[i], SEEN_BYTES), 0, groups) ==
			REGEX_MATCH)
			return i;
	return start;
}

static void choose(struct choice *choice, const struct preset *presets, int preset, struct span text)
{
	choice->is_revised = choice->preset >= 0 && !presets[preset].is_generic;
	choice->preset = preset;
	choice->chosen_at = choice->lines;
	size_t len = text.len < CHOICE_SAMPLE_BYTES ? text.len : CHOICE_SAMPLE_BYTES;
	while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
		len--; /* not in the middle of a character */
	if (len)
		memcpy(choice->sample, text.ptr, len);
	choice->sample_len = (uint8_t)len;
}

static bool has_included(const struct preset *preset, int number)
{
	for (size_t i = 0; i < preset->include_count; i++)
		if (preset->includes[i] == number)
			return true;
	return false;
}

/* The preset that this line speaks for, among those that know it. */
static int better(const struct choice *choice, const struct preset *presets, size_t count, const bool *knows,
	const size_t *starts)
{
	int now = choice->preset, best = -1;

	for (size_t i = 0; i < count; i++) {
		if (!knows[i] || (int)i == now)
			continue;
		bool leads = now >= 0 && choice->hits[i] >= LEAD_MIN + LEAD_FACTOR * choice->hits[now];
		bool may = now < 0 || has_included(&presets[i], now) ||
			   (!presets[i].is_generic && (presets[now].is_generic || leads));
		bool is_first = best < 0 || (presets[best].is_generic && !presets[i].is_generic);
		bool leaves_less = !is_first && presets[best].is_generic == presets[i].is_generic &&
				   starts[i] < starts[best]; /* of the line */
		if (may && (is_first || leaves_less))
			best = (int)i;
	}
	return best;
}

bool choice_see(struct choice *choice, const struct definition_set *set, struct regex_scratch *scratch,
	const struct prefix *prefix, size_t *start)
{
	struct span text = prefix->starts[0];
	size_t count, starts[PRESETS_MAX] = {0};
	const struct preset *presets = definition_set_presets(set, &count);
	bool knows[PRESETS_MAX] = {false}, knows_any = false;
	bool is_early = choice->lines - choice->chosen_at < CHOICE_LINES;
	uint64_t shape = 0, *memo, may_know[SIEVE_WORDS];

	if (set->fixed_preset >= 0 ||
		(choice->preset >= 0 &&
			(choice->is_revised || (!is_early && choice->hits[choice->preset] >= CHOICE_SURE)))) {
		bool changes = set->fixed_preset >= 0 && choice->preset != set->fixed_preset;
		choice->preset = changes ? set->fixed_preset : choice->preset;
		*start = 0;
		return changes;
	}
	text.len = text.len < SEEN_BYTES ? text.len : SEEN_BYTES;
	choice->lines += choice->lines < UINT32_MAX;
	memo = is_early ? NULL : memo_of(choice, text, &shape);
	if (memo && *memo == shape)
		return false;
	if (count)
		sieve_find(definition_set_sieve(set), text, may_know);
	for (size_t i = 0; i < count && i < PRESETS_MAX; i++) {
		knows[i] = (may_know[i / 64] >> i % 64 & 1) && is_known(&presets[i], scratch, prefix, &starts[i]);
		starts[i] = presets[i].has_start ? starts[i] : 0;
		if (knows[i] && choice->hits[i] < UINT16_MAX)
			choice->hits[i]++;
		knows_any |= knows[i];
	}
	if (memo && !knows_any)
		*memo = shape;
	int best = knows_any ? better(choice, presets, count, knows, starts) : -1;
	if (best < 0)
		return false;
	*start = innermost(&presets[best], scratch, prefix, starts[best]);
	choose(choice, presets, best, span_cut(prefix->starts[*start], SEEN_BYTES));
	return true;
}

void choice_reason(const struct choice *choice, struct buf *out)
{
	if (choice->preset < 0)
		return;
	if (choice->lines == 0) {
		buf_append_span(out, SPAN("asked for by name"));
		return;
	}
	buf_printf(out, "matched %u of the first %u lines: '%.*s'", (unsigned)choice->hits[choice->preset],
		(unsigned)choice->lines, (int)choice->sample_len, choice->sample);
}

void choice_pack(const struct choice *choice, struct buf *out)
{
	size_t count = PRESETS_MAX;

	while (count && choice->hits[count - 1] == 0)
		count--;
	pack_i64(out, choice->preset);
	pack_u64(out, choice->is_revised);
	pack_u64(out, choice->lines);
	pack_u64(out, choice->chosen_at);
	pack_u64(out, count);
	for (size_t i = 0; i < count; i++)
		pack_u64(out, choice->hits[i]);
	pack_span(out, span_of(choice->sample, choice->sample_len));
}

void choice_unpack(struct choice *choice, struct unpacker *in)
{
	int64_t preset = unpack_i64(in);
	uint64_t revised = unpack_u64(in), lines = unpack_u64(in), chosen_at = unpack_u64(in);
	size_t count = unpack_count(in, 1);

	in->has_failed |= preset < -1 || preset >= PRESETS_MAX || revised > 1 || lines > UINT32_MAX ||
			  chosen_at > lines || count > PRESETS_MAX;
	for (size_t i = 0; i < count && !in->has_failed; i++) {
		uint64_t hits = unpack_u64(in);
		in->has_failed |= hits > UINT16_MAX;
		choice->hits[i] = (uint16_t)hits;
	}
	struct span sample = unpack_span(in);
	in->has_failed |= sample.len > CHOICE_SAMPLE_BYTES;
	if (in->has_failed)
		return;
	choice->preset = (int)preset;
	choice->is_revised = revised;
	choice->lines = (uint32_t)lines;
	choice->chosen_at = (uint32_t)chosen_at;
	if (sample.len)
		memcpy(choice->sample, sample.ptr, sample.len);
	choice->sample_len = (uint8_t)sample.len;
}
