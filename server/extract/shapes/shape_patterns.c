#include "extract/shapes/shape_patterns.h"

#include "extract/definition.h"

enum { HEAD_WORDS_MAX = 3 };

static void quote(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (memchr("\\.[]{}()*+?^$|", text.ptr[i], 14))
			buf_append_char(out, '\\');
		if (text.ptr[i] == '\t')
			buf_append_text(out, "\\t");
		else
			buf_append_char(out, text.ptr[i]);
	}
}

static bool has_blocks(struct span gap)
{
	for (size_t i = 0; i < gap.len; i++)
		if (gap.ptr[i] & 0x80)
			return true;
	return false;
}

static bool is_repeated(struct span gap, char mark)
{
	for (size_t i = 1; i < gap.len; i++)
		if (gap.ptr[i] == mark && gap.ptr[i - 1] == mark)
			return true;
	return false;
}

/* Blanks may be fewer or more, or none beside a mark; marks in a row that are the same, too. */
static void put_gap_loose(struct span gap, struct buf *out)
{
	char marks[256];
	size_t len = shape_gap_squeeze(gap, marks, sizeof marks);

	if (has_blocks(gap)) {
		buf_append_text(out, "\\W*");
		return;
	}
	if (len == 1 && marks[0] == ' ') {
		buf_append_text(out, "\\s+");
		return;
	}
	for (size_t i = 0; i < len; i++) {
		buf_append_text(out, "\\s*");
		quote(span_of(&marks[i], 1), out);
		if (is_repeated(gap, marks[i]))
			buf_append_char(out, '+');
	}
	if (len)
		buf_append_text(out, "\\s*");
}

static void put_gap(struct span gap, bool is_loose, struct buf *out)
{
	if (is_loose)
		put_gap_loose(gap, out);
	else
		quote(gap, out);
}

/* Anything up to the mark behind it; unless that is in it too, there is one way to match, which keeps long lines cheap. */
static void put_thing(struct span text, struct span gap, struct buf *out)
{
	size_t bytes;

	if (gap.len && shape_is_blank(gap, 0, &bytes)) {
		buf_append_text(out, "\\S++");
	} else if (gap.len && span_find_char(text, gap.ptr[0]) < 0) {
		buf_append_text(out, "[^\\s");
		quote(span_of(gap.ptr, 1), out);
		buf_append_text(out, "]++");
	} else {
		buf_append_text(out, "\\S+?");
	}
}

/* A number that is passed over; each can be matched in one way alone. */
static void put_any_number(const struct shape_token *token, struct buf *out)
{
	buf_append_text(out, "[-+]?(?:" PATTERN_NON_FINITE "|[\\d.]++");
	if (token->has_commas)
		buf_append_text(out, "(?:,\\d{3})*+(?:\\.\\d+)?+");
	buf_append_text(out, "(?:[eE][-+]?\\d+)?+)");
	if (token->has_thousands)
		buf_append_text(out, "[kKMGBTP]?");
}

static void put_token(const struct shape_place *place, size_t at, struct buf *out)
{
	const struct shape_token *token = &place->tokens[at];

	if (token->kind == SHAPE_NUMBER)
		put_any_number(token, out);
	else if (token->kind == SHAPE_THING || place->hides[at])
		put_thing(token->text, at + 1 < place->count ? place->tokens[at + 1].gap : SPAN(" "), out);
	else
		quote(token->text, out);
}

static void put_number(const struct shape_number *number, bool is_step, struct buf *out)
{
	if (is_step && !number->has_commas && !number->has_thousands)
		buf_append_text(out, "\\d+");
	else if (number->has_commas)
		buf_append_text(out, "[-+]?(?:" PATTERN_NON_FINITE "|\\d[\\d,]*(?:\\.\\d+)?)");
	else
		definition_expand(SPAN("{N}"), out);
	if (number->has_thousands)
		buf_append_text(out, "[kKMGBTP]?");
}

static void put_group(const struct shape_place *place, const char *name, bool is_step, struct buf *out)
{
	const struct shape_number *number = place->number;
	bool needs_bracket = number->has_commas && number->has_thousands;

	buf_append_char(out, '(');
	name = name ? name : place->group_name;
	if (name)
		buf_printf(out, "?<%s>", name);
	if (needs_bracket)
		buf_append_text(out, "(?:");
	put_number(number, is_step, out);
	if (needs_bracket)
		buf_append_char(out, ')');
	buf_append_char(out, ')');
}

/* Tokens from..to - 1 and the gaps between them and before `to`. */
static void put_tokens(const struct shape_place *place, size_t from, size_t to, bool is_loose, struct buf *out)
{
	for (size_t i = from; i < to; i++) {
		put_token(place, i, out);
		put_gap(place->tokens[i + 1].gap, is_loose, out);
	}
}

/* Where a word begins; letters beyond ASCII are none to an expression over bytes. */
static void put_boundary(const struct shape_token *token, struct buf *out)
{
	if (!(token->text.ptr[0] & 0x80))
		buf_append_text(out, "\\b");
}

static void put_beginning(const struct shape_place *place, struct buf *out)
{
	buf_append_char(out, '^');
	put_gap_loose(place->tokens[0].gap, out);
	put_tokens(place, 0, place->token, true, out);
}

/* Behind the number, up to token `to` with it. */
static void put_rest(const struct shape_place *place, size_t to, bool is_loose, struct buf *out)
{
	for (size_t i = place->token + 1; i <= to; i++) {
		put_gap(place->tokens[i].gap, is_loose, out);
		put_token(place, i, out);
	}
}

/* "| loss ([0-9.]+)": false when there is no mark. */
static bool put_marked(const struct shape_place *place, bool is_step, struct buf *out)
{
	struct span mark = span_trim(place->tokens[place->first_token].gap);

	if (!mark.len || has_blocks(mark) || place->first_token == place->token)
		return false;
	struct span gap = place->tokens[place->first_token].gap;
	quote(span_skip(gap, (size_t)(mark.ptr - gap.ptr)), out);
	put_tokens(place, place->first_token, place->token, false, out);
	put_group(place, NULL, is_step, out);
	return true;
}

/* "^validation .*?\bloss ([0-9.]+)": false when the line begins with something else than words. */
static bool put_headed(const struct shape_place *place, bool is_step, struct buf *out)
{
	size_t head = 0;

	while (head < HEAD_WORDS_MAX && head < place->first_token && place->tokens[head].kind == SHAPE_WORD &&
		!place->hides[head])
		head++;
	if (!head || place->first_token == place->token)
		return false;
	buf_append_char(out, '^');
	put_gap_loose(place->tokens[0].gap, out);
	put_tokens(place, 0, head - 1, false, out);
	put_token(place, head - 1, out);
	buf_append_text(out, "\\b.*?");
	put_boundary(&place->tokens[place->first_token], out);
	put_tokens(place, place->first_token, place->token, false, out);
	put_group(place, NULL, is_step, out);
	return true;
}

bool shape_pattern(const struct shape_place *place, enum shape_style style, bool is_step, struct buf *out)
{
	switch (style) {
	case SHAPE_BY_WORDS:
	case SHAPE_BY_WORDS_LOOSE:
		if (place->first_token == place->token)
			return false;
		put_boundary(&place->tokens[place->first_token], out);
		put_tokens(place, place->first_token, place->token, style == SHAPE_BY_WORDS_LOOSE, out);
		put_group(place, NULL, is_step, out);
		return true;
	case SHAPE_BY_UNIT:
		if (place->last_token == place->token)
			return false;
		buf_append_text(out, "(?<![\\w.])");
		put_group(place, NULL, is_step, out);
		put_rest(place, place->last_token, false, out);
		put_boundary(&place->tokens[place->last_token], out);
		return true;
	case SHAPE_BY_MARK:
		return put_marked(place, is_step, out);
	case SHAPE_BY_HEAD:
		return put_headed(place, is_step, out);
	case SHAPE_BY_BEGINNING:
		put_beginning(place, out);
		put_group(place, NULL, is_step, out);
		return true;
	case SHAPE_BY_LINE:
		put_beginning(place, out);
		put_group(place, NULL, is_step, out);
		put_rest(place, place->count - 1, true, out);
		buf_append_text(out, "\\W*$");
		return true;
	case SHAPE_STYLES:
		break;
	}
	return false;
}

void shape_pattern_epoch(const struct shape_place *epoch, const struct shape_place *step, struct buf *out)
{
	if (epoch->first_token < epoch->token)
		put_boundary(&epoch->tokens[epoch->first_token], out);
	put_tokens(epoch, epoch->first_token, epoch->token, true, out);
	put_group(epoch, "epoch", true, out);
	for (size_t i = epoch->token + 1; i < step->token; i++) {
		put_gap(step->tokens[i].gap, true, out);
		put_token(step, i, out);
	}
	put_gap(step->tokens[step->token].gap, true, out);
	put_group(step, "step", true, out);
}
