/* Whose `detect` knows a line, each shape of line once. */
#include "extract/format.h"
#include "extract/generic/generic.h"
#include "extract/line/cursor.h"
#include "extract/line/starts.h"

enum { SEEN_BYTES = 4096, MEMO = 256, ALONE = 64, NUMBER_DIGITS = 18 }; /* the memo ends with the ALONE */
/* What is known of a shape: who does not know it (no generic one: no specific one either), that the reader does, that nobody takes it. */
enum { NO_SPECIFIC = 1, NO_GENERIC = 2, IS_READ = 4, DULL = 8, FLAGS = 15 };

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The first eight bytes, the first of them lowest. */
static uint64_t word_at(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* The highest bit of each byte that is a digit: no sum of seven bits carries into the next byte. */
static uint64_t digits_of(uint64_t word)
{
	uint64_t low = word & EACH(0x7f);

	return (low + EACH(0x80 - '0')) & ~(low + EACH(0x7f - '9')) & ~word & EACH(0x80);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Up to eight bytes of the line, up to the first digit, which is '0', or 'N' where its run is too long for a number; *at is behind them and
 * the run. */
static inline uint64_t mix_word(uint64_t hash, uint64_t word, const char **at, const char *end)
{
	uint64_t digits = digits_of(word);

	if (!digits) {
		*at += sizeof word;
		return mix(hash, word);
	}
	unsigned bit = (unsigned)__builtin_ctzll(digits) - 7;
	uint64_t others = (~digits & EACH(0x80)) >> bit;
	const char *behind = *at + (others ? bit + (unsigned)__builtin_ctzll(others) : 8 * sizeof word) / 8;
	while (!others && behind < end && (unsigned char)(*behind - '0') < 10)
		behind++;
	uint64_t number = behind - (*at + bit / 8) > NUMBER_DIGITS ? 'N' : '0';
	*at = behind;
	return mix(hash, (word & ((UINT64_C(1) << bit) - 1)) | number << bit);
}

/* Of digits that go on from there by `step`, up to four. */
static size_t count_near(struct span text, size_t at, int step)
{
	size_t count = 0;

	for (; at < text.len && is_digit(text.ptr[at]) && count < 4; at += (size_t)step)
		count++;
	return count;
}

/* Whether each comma between digits is one of thousands: that makes another number of them. mpirun's tag "[1,100]" has none. */
static uint64_t mix_commas(uint64_t hash, struct span text)
{
	const char *end = text.ptr + text.len, *comma = text.ptr;

	while (comma < end && (comma = memchr(comma, ',', (size_t)(end - comma)))) {
		size_t at = (size_t)(comma++ - text.ptr), behind = count_near(text, at + 1, 1);
		size_t ahead = at ? count_near(text, at - 1, -1) : 0;
		bool is_tag = at > ahead && text.ptr[at - ahead - 1] == '[';
		if (ahead && behind && !is_tag)
			hash = mix(hash, behind == 3 && ahead < 4);
	}
	return hash;
}

/*
 * Of the line with each run of digits made one; the bits of FLAGS are free. Eight bytes at a time, and anew behind each run: how
 * long a run is does not move what is read together. NULs at the end do not count.
 */
static uint64_t shape_of(struct span text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const char *at = text.ptr, *end = at + text.len;
	char padded[2 * sizeof(uint64_t)] = {0};

	while (end - at >= (ptrdiff_t)sizeof(uint64_t))
		hash = mix_word(hash, word_at(at), &at, end);
	memcpy(padded, at, (size_t)(end - at));
	end = padded + (end - at);
	for (at = padded; at < end;)
		hash = mix_word(hash, word_at(at), &at, end);
	hash = mix_commas(hash, text);
	return (hash | (FLAGS + 1)) & ~(uint64_t)FLAGS;
}

static struct span seen_of(struct span text)
{
	return span_of(text.ptr, text.len < SEEN_BYTES ? text.len : SEEN_BYTES);
}

static bool is_of(uint64_t entry, uint64_t shape)
{
	return (entry & ~(uint64_t)FLAGS) == shape;
}

/*
 * Where the shape of the line is remembered: at one of two places, as two shapes that take turns at one would be looked at anew each
 * time. NULL: no memory, so all are tried.
 */
static uint64_t *memo_of(struct formats *formats)
{
	if (!formats->memo && !(formats->memo = mem_zeroed((MEMO + ALONE) * sizeof *formats->memo)))
		return NULL;
	uint64_t *first = &formats->memo[(formats->shape >> 8) % MEMO & ~(uint64_t)1], *second = first + 1;
	if (is_of(*second, formats->shape))
		return second;
	return is_of(*first, formats->shape) || !*first || *second ? first : second;
}

static uint64_t flags_of(const uint64_t *memo, uint64_t shape)
{
	return memo && is_of(*memo, shape) ? *memo & FLAGS : 0;
}

static void remember(uint64_t *memo, uint64_t shape, uint64_t flag)
{
	if (memo)
		*memo = shape | flags_of(memo, shape) | flag;
}

bool formats_see(struct formats *formats, struct span text)
{
	formats->shape = shape_of(seen_of(text));
	formats->is_sieved = false;
	return flags_of(memo_of(formats), formats->shape) & DULL;
}

static bool is_read(struct line_view *view)
{
	const struct prefix *prefix = line_view_prefix(view);
	struct span text = seen_of(prefix->starts[prefix->certain]);
	struct tokens tokens;
	struct generic_line line;

	bool is_all = view->whole.len <= SEEN_BYTES;
	if ((view->has_nothing && is_all) || !generic_may_have(text))
		return false;
	tokens_find(seen_of(prefix->starts[generic_start(prefix)]), &tokens);
	if (generic_read(&tokens, &line))
		return line.is_known;
	view->has_nothing = is_all;
	return false;
}

/* Of the reader: its tokens cost more than all expressions, so that it has read a line of the shape is remembered, too. */
static bool is_known(
	struct formats *formats, const struct preset *preset, struct regex_scratch *scratch, struct line_view *view)
{
	struct span groups[REGEX_MAX_GROUPS];
	size_t start;

	if (preset->list.is_reader) {
		uint64_t *memo = memo_of(formats);
		if (flags_of(memo, formats->shape) & IS_READ)
			return true;
		if (!is_read(view))
			return false;
		remember(memo, formats->shape, IS_READ);
		return true;
	}
	return starts_search(line_view_prefix(view), preset->detect, preset->has_start, scratch, SEEN_BYTES, groups,
		       &start) == REGEX_MATCH;
}

/* Of the kind's bits that the sieve lets through; it has looked at most once a line. */
static const uint64_t *candidates_of(
	struct formats *formats, const struct definition_set *set, const struct line_view *view)
{
	if (!formats->is_sieved)
		sieve_find(definition_set_sieve(set), seen_of(view->whole), formats->may_know);
	formats->is_sieved = true;
	return formats->may_know;
}

bool formats_find_known(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, bool is_generic, uint64_t known[SIEVE_WORDS])
{
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);
	uint64_t *memo = memo_of(formats), any = 0, nobody = is_generic ? NO_GENERIC : NO_SPECIFIC;

	memset(known, 0, SIEVE_WORDS * sizeof *known);
	if (!count || flags_of(memo, formats->shape) & nobody)
		return false;
	const uint64_t *may = candidates_of(formats, set, view), *generic = definition_set_generic(set);
	for (size_t word = 0; word < SIEVE_WORDS; word++) {
		for (uint64_t bits = may[word] & (is_generic ? generic[word] : ~generic[word]); bits;
			bits &= bits - 1) {
			size_t bit = (size_t)__builtin_ctzll(bits);
			known[word] |= (uint64_t)is_known(formats, &presets[word * 64 + bit], scratch, view) << bit;
		}
		any |= known[word];
	}
	if (!any && (!is_generic || flags_of(memo, formats->shape) & NO_SPECIFIC))
		remember(memo, formats->shape, nobody);
	return any;
}

/* Who takes which shape, hashed. */
static uint64_t pair_of(const struct formats *formats, int preset)
{
	return mix(formats->shape, (uint64_t)preset + 1) | 1;
}

bool formats_is_alone(const struct formats *formats, int preset)
{
	uint64_t pair = pair_of(formats, preset);

	return formats->memo && formats->memo[MEMO + (pair >> 8) % ALONE] == pair;
}

void formats_note_alone(struct formats *formats, int preset)
{
	uint64_t pair = pair_of(formats, preset);

	if (memo_of(formats))
		formats->memo[MEMO + (pair >> 8) % ALONE] = pair;
}

void formats_note_dull(struct formats *formats, struct span text)
{
	uint64_t *memo = memo_of(formats), flags = flags_of(memo, formats->shape);

	if (text.len <= SEEN_BYTES && flags & NO_GENERIC)
		remember(memo, formats->shape, DULL);
}

void formats_forget_dull(struct formats *formats)
{
	mem_free(formats->memo);
	formats->memo = NULL;
}
