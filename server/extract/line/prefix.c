#include "extract/line/prefix.h"

#include "extract/line/part.h"

enum { PARTS_MAX = PLACES_MAX - 1, PLACE_BYTES = 64 };

/* One more start. When there are too many, the last one makes room: the outer and the innermost matter most. */
static void add_start(struct prefix *prefix, struct span text, bool is_certain, uint8_t guesses)
{
	if (prefix->count == STARTS_MAX) {
		prefix->count--;
		if (prefix->certain == prefix->count)
			prefix->certain--; /* the one in front of it is as sure */
	}
	if (is_certain)
		prefix->certain = prefix->count;
	prefix->guesses[prefix->count] = guesses;
	prefix->starts[prefix->count++] = text;
}

static enum part take_stamp(struct span *text, struct peeling *peeling)
{
	enum part part = stamp_take(text);

	peeling->has_time |= part != PART_NONE;
	return part;
}

/* Each line comes here: by its first byte nearly all readers are ruled out. */
static enum part take_one(struct span *text, struct peeling *peeling)
{
	char first = text->ptr[0];
	enum part part = PART_NONE;

	if (first == '[' || first == '(' || first == ' ' || is_digit(first) || first == 'a' || first == 'o' ||
		first == 'c')
		part = launcher_take(text, peeling);
	if (!part && (first == '[' || first == '<' || (first != ' ' && (peeling->is_first || peeling->has_time))))
		part = collector_take(text, peeling);
	if (!part && (first == '[' || is_digit(first) || is_upper(first)))
		part = take_stamp(text, peeling);
	if (!part && (first == '[' || is_upper(first) || (first != ' ' && (peeling->has_time || peeling->has_level))))
		part = logger_take(text, peeling);
	return part;
}

/*
 * "           INFO     …" of rich, which does not print the same second twice, and " INFO - " of forms that begin so. Behind
 * a logger's part spaces pad; elsewhere they are the line's own.
 */
static enum part take_padded(struct span *text, struct peeling *peeling)
{
	struct span rest = span_skip(*text, count_char(*text, ' '));
	bool is_level = rest.len && is_upper(rest.ptr[0]) && logger_level_length(rest);

	if (!rest.len || rest.len == text->len || (!is_level && !peeling->has_time && !peeling->has_level))
		return PART_NONE;
	enum part part = take_one(&rest, peeling);
	if (part)
		*text = rest;
	return part;
}

/* Behind the parts so far. */
struct place {
	bool has_words; /* a start of their own */
	uint8_t guesses; /* that are not sure */
	bool is_guess; /* the last part */
};

/* Spaces may be all of the padding, or also the line's own indentation: there is a start in front of and behind them. */
static enum part pad(struct span *text, struct peeling *peeling, struct prefix *prefix, uint8_t guesses)
{
	size_t spaces = count_char(*text, ' ');
	struct span behind = span_skip(*text, spaces);

	if (peeling->column && spaces >= peeling->column && !peeling->is_padded) {
		peeling->is_padded = true;
		*text = span_skip(*text, peeling->column);
		return PART_WORD;
	}
	enum part part = take_padded(text, peeling);
	if (part && !peeling->is_first)
		add_start(prefix, behind, false, guesses);
	return part;
}

static void note(struct prefix *prefix, enum part part, struct span text, struct place *place)
{
	if (part == PART_TAG && !place->has_words) {
		prefix->starts[0] = text;
		return;
	}
	place->has_words = true;
	add_start(prefix, text, part != PART_GUESS, place->guesses);
}

/* "    train.py:42" at the end, as rich prints it */
static size_t length_without_place(struct span text)
{
	size_t at = text.len, least = text.len > PLACE_BYTES ? text.len - PLACE_BYTES : 0;

	while (at > least && is_digit(text.ptr[at - 1]))
		at--;
	if (at == text.len || at <= least || text.ptr[at - 1] != ':')
		return text.len;
	size_t name = --at;
	while (at > least && is_name_char(text.ptr[at - 1]))
		at--;
	if (!span_ends_with(span_of(text.ptr, name), SPAN(".py")) || at == least || text.ptr[at - 1] != ' ')
		return text.len;
	while (at && text.ptr[at - 1] == ' ')
		at--;
	return at;
}

static void trim_place(struct prefix *prefix)
{
	struct span text = prefix->starts[prefix->count - 1];
	size_t cut = text.len - length_without_place(text);

	for (size_t i = 0; cut && i < prefix->count; i++)
		prefix->starts[i].len -= cut;
}

/* A name is trusted by itself, other kinds as a whole. */
static bool is_trusted(const struct prefix_memory *memory, const struct peeling *peeling, struct prefix *prefix)
{
	if (peeling->guess == GUESS_NAME)
		prefix->name = (uint32_t)span_hash(peeling->name);
	return memory && (memory->trusted & peeling->guess) &&
	       (peeling->guess != GUESS_NAME || memory->name == prefix->name);
}

/* Behind what pads a part to its column: with two spaces less, "-   " of Hugging Face's examples, and with none. */
static void add_indented(struct prefix *prefix, struct span text, uint8_t guesses)
{
	size_t spaces = count_char(text, ' ');

	if (spaces > 2 && spaces < text.len)
		add_start(prefix, span_skip(text, 2), false, guesses);
	if (spaces && spaces < text.len)
		add_start(prefix, span_skip(text, spaces), false, guesses);
}

static void peel_parts(struct span text, const struct prefix_memory *memory, struct prefix *prefix)
{
	struct peeling peeling = {.rank = RANK_NONE, .is_first = true};
	struct place place = {0};

	peeling.is_table = text.ptr[text.len - 1] == '|';
	for (int i = 0; i < PARTS_MAX && text.len; i++) {
		size_t learned = place.has_words || !memory ? 0 : learned_length(memory, text);
		enum part part = learned ? PART_TAG : take_one(&text, &peeling);
		text = span_skip(text, learned);
		if (!part && text.ptr[0] == ' ')
			part = pad(&text, &peeling, prefix, place.guesses);
		if (!part)
			break;
		if (part == PART_GUESS && is_trusted(memory, &peeling, prefix))
			part = PART_WORD;
		if (part == PART_WORD && peeling.is_separator && place.is_guess)
			part = PART_GUESS;
		place.is_guess = part == PART_GUESS;
		peeling.is_separator = false;
		place.guesses |= part == PART_GUESS ? peeling.guess : 0;
		note(prefix, part, text, &place);
		peeling.guess = 0;
		peeling.is_first = false;
	}
	if (!peeling.is_first)
		add_indented(prefix, text, place.guesses);
	prefix->rank = peeling.rank;
	prefix->is_bare = peeling.is_bare;
	if (peeling.column)
		trim_place(prefix);
}

struct span line_peel(struct span text, const struct prefix_memory *memory, struct prefix *prefix)
{
	prefix->rank = RANK_NONE;
	prefix->is_bare = false;
	prefix->count = 1;
	prefix->certain = 0;
	prefix->starts[0] = text;
	prefix->guesses[0] = 0;
	prefix->name = 0;
	if (text.len)
		peel_parts(text, memory, prefix);
	return prefix->starts[prefix->certain];
}

size_t line_places(struct span text, struct span places[PLACES_MAX])
{
	struct peeling peeling = {.rank = RANK_NONE, .is_first = true};
	size_t count = 0;

	places[count++] = text;
	while (count < PLACES_MAX && text.len && (take_one(&text, &peeling) || take_padded(&text, &peeling))) {
		places[count++] = text;
		peeling.is_first = false;
	}
	return count;
}

int32_t line_peel_rank(struct span text, bool *is_bare)
{
	enum { TAGS_MAX = 8 };
	struct peeling peeling = {.rank = RANK_NONE};

	for (int i = 0; i < TAGS_MAX && line_may_have_rank(text); i++)
		if (!launcher_take(&text, &peeling) &&
			((text.ptr[0] != '[' && !is_digit(text.ptr[0])) || stamp_take(&text) != PART_TAG))
			break;
	*is_bare = peeling.is_bare;
	return peeling.rank;
}

const struct prefix *line_view_prefix(struct line_view *view)
{
	if (!view->is_peeled)
		(void)!line_peel(view->whole, view->memory, &view->prefix).len;
	view->is_peeled = true;
	return &view->prefix;
}

bool prefix_trust(struct prefix_memory *memory, const struct prefix *prefix, size_t start)
{
	struct prefix_memory before = *memory;

	memory->trusted |= prefix->guesses[start];
	if (prefix->guesses[start] & GUESS_NAME)
		memory->name = prefix->name;
	return memory->trusted != before.trusted || memory->name != before.name;
}

void prefix_memory_pack(const struct prefix_memory *memory, struct buf *out)
{
	pack_u64(out, memory->trusted);
	pack_u64(out, memory->name);
	pack_span(out, span_of(memory->form, memory->form_len));
	pack_span(out, span_of(memory->candidate, memory->candidate_len));
	pack_u64(out, memory->candidate_seen);
	pack_u64(out, memory->looked);
}

static uint8_t unpack_form(struct unpacker *in, char form[FORM_BYTES])
{
	struct span text = unpack_span(in);

	in->has_failed |= text.len > FORM_BYTES;
	if (in->has_failed || !text.len)
		return 0;
	memcpy(form, text.ptr, text.len);
	return (uint8_t)text.len;
}

void prefix_memory_unpack(struct prefix_memory *memory, struct unpacker *in)
{
	struct prefix_memory read = {0};
	uint64_t trusted = unpack_u64(in), name = unpack_u64(in);

	read.form_len = unpack_form(in, read.form);
	read.candidate_len = unpack_form(in, read.candidate);
	uint64_t seen = unpack_u64(in), looked = unpack_u64(in);
	in->has_failed |=
		(trusted & ~(uint64_t)GUESSES) != 0 || name > UINT32_MAX || seen > FORM_LINES || looked > LEARN_LINES;
	if (in->has_failed)
		return;
	read.trusted = (uint32_t)trusted;
	read.name = (uint32_t)name;
	read.candidate_seen = (uint8_t)seen;
	read.looked = (uint16_t)looked;
	*memory = read;
}
