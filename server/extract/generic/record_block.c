#include "extract/generic/record_block.h"

#include "extract/generic/curves.h"

#include "extract/line/cursor.h"

/* As packed: none, some, with a loss, and the same behind a part that has said its step. */
enum { VALUES_WITH_LOSS = 2, VALUES_GIVEN = 3, VALUES_MAX = 5 };

static void forget(struct record_block *block)
{
	*block = (struct record_block){.ruled = block->ruled};
}

static bool is_framed(const struct record_block *block)
{
	return block->kind == BLOCK_BOX || block->kind == BLOCK_RULED;
}

/* Names without a step are no training's in a frame: it may be of settings, or of anything that is measured once. */
static void finish(struct record_block *block, struct block_end *end)
{
	if (block->has_values || block->rank) {
		end->is_there = true;
		end->has_step = block->rank != COUNTER_NONE;
		end->has_loss = block->has_loss;
		end->is_epoch = block->rank == COUNTER_EPOCH;
		end->step = block->step;
		end->is_dropped = is_framed(block);
	}
	block->has_values = block->has_loss = block->is_given = false;
	block->rank = COUNTER_NONE;
	block->lines = 1;
}

/* The values so far; those of the same frame below them are of the same step. */
static void finish_part(struct record_block *block, struct block_end *end)
{
	uint8_t rank = block->rank;

	finish(block, end);
	block->rank = rank;
	block->is_given = true;
}

void record_block_leave(struct record_block *block, struct block_end *end)
{
	if (block->kind == BLOCK_NONE)
		return;
	finish(block, end);
	forget(block);
}

static void open(struct record_block *block, enum block_kind kind)
{
	forget(block);
	block->kind = (uint8_t)kind;
	block->lines = 1;
}

/* ---- names that enclose others ---- */

static struct span enclosing(const struct record_block *block, size_t above)
{
	if (block->depth <= above || block->depth > BLOCK_DEPTH_MAX)
		return SPAN("");
	const struct block_level *level = &block->levels[block->depth - 1 - above];
	return span_of(level->name, level->len);
}

static void push(struct record_block *block, struct span name, size_t indent)
{
	if (block->depth < BLOCK_DEPTH_MAX) {
		struct block_level *level = &block->levels[block->depth];
		name = name.len <= sizeof level->name ? name : SPAN("");
		level->indent = (uint16_t)(indent < UINT16_MAX ? indent : UINT16_MAX);
		level->len = (uint8_t)name.len;
		if (name.len)
			memcpy(level->name, name.ptr, name.len);
	}
	if (block->depth < UINT8_MAX)
		block->depth++;
}

/* "100": 2.5 in "loss": a point of a curve, which says its own step and does not wait. One a line: it has one step. */
static bool take_curve(struct record_block *block, const struct tokens *tokens, struct span name, struct span cell,
	struct generic_line *out)
{
	struct span curve = curves_name(enclosing(block, 0), enclosing(block, 1));
	int64_t step;

	if (block->kind != BLOCK_BRACES || block->rank || !curve.len || !curves_step(name, &step))
		return false;
	block->lines = 1;
	if (out->count)
		return true;
	out->counters = (struct generic_counters){.has_step = true, .step = step, .is_of_curve = true};
	(void)pair_add(out, SPLIT_NONE, curve, tokens, cell);
	return true;
}

static void take_pair(struct record_block *block, const struct tokens *tokens, struct span name, struct span cell,
	struct generic_line *out)
{
	enum counter_word rank = pair_counter(name);
	int64_t step;

	bool is_better = rank > block->rank || (rank && rank == block->rank && block->is_given);
	if (is_better && rank != COUNTER_BATCH && number_parse_step(cell, &step)) {
		block->is_given = false;
		block->rank = (uint8_t)rank;
		block->step = step;
		block->step_depth = block->depth;
	}
	if (rank != COUNTER_NONE || take_curve(block, tokens, name, cell, out))
		return;
	size_t names_len = out->names_len;
	struct span whole = pair_join(out, enclosing(block, 0), name);
	if (!pair_add(out, SPLIT_NONE, whole, tokens, cell)) {
		out->names_len = names_len;
		return;
	}
	block->has_values = true;
	block->has_loss |= series_is_loss(out->values[out->count - 1].series);
}

/* ---- frames ---- */

static bool is_pair_name(struct span cell)
{
	double value;

	return cell.len && cell.len <= GENERIC_NAME_MAX_BYTES && !number_parse(cell, &value) && is_letter(cell.ptr[0]);
}

/* Names and values by turns. */
static bool has_pairs(const struct tokens *tokens, const struct cells *cells)
{
	bool has_value = false;

	if (cells->count < 2 || cells->count % 2)
		return false;
	for (size_t i = 0; i < cells->count; i += 2) {
		if (cells->items[i].len && !is_pair_name(cells->items[i]))
			return false;
		has_value |= cells->items[i].len && cell_find_number(tokens, cells->items[i + 1]) != SIZE_MAX;
	}
	return has_value;
}

static void take_pairs(
	struct record_block *block, const struct tokens *tokens, const struct cells *cells, struct generic_line *out)
{
	pair_begin(out);
	for (size_t i = 0; i < cells->count; i += 2)
		if (cells->items[i].len)
			take_pair(block, tokens, cells->items[i], cells->items[i + 1], out);
}

/* "| train/      |     |": the names below it are of that. */
static bool is_section(const struct cells *cells)
{
	return cells->count == 2 && !cells->items[1].len && cells->items[0].len > 1 &&
	       span_ends_with(cells->items[0], SPAN("/"));
}

static void take_section(struct record_block *block, struct span name)
{
	name.len--;
	block->depth = 0;
	push(block, name, 0);
}

static bool take_box(
	struct record_block *block, const struct tokens *tokens, struct generic_line *out, struct block_end *end)
{
	struct cells cells;

	if (!cells_has_frame(tokens->text) || !cells_split(tokens->text, CELLS_BARS, &cells))
		return false;
	bool is_one = cells.count == 1;
	if (is_one && !cells_split(cells.items[0], CELLS_GAPS, &cells))
		return false;
	bool is_pairs = has_pairs(tokens, &cells) && (!is_one || cells.count == 2), is_box = block->kind == BLOCK_BOX;
	if (!is_box && (is_pairs || is_section(&cells))) {
		record_block_leave(block, end);
		open(block, BLOCK_BOX);
		is_box = true;
	}
	if (is_pairs)
		take_pairs(block, tokens, &cells, out);
	else if (is_box && is_section(&cells))
		take_section(block, cells.items[0]);
	return is_box;
}

static bool take_ruled(struct record_block *block, const struct tokens *tokens, struct generic_line *out)
{
	struct cells cells;

	if (!cells_split(tokens->text, CELLS_GAPS, &cells) || cells.count != 2 || !is_pair_name(cells.items[0]))
		return false;
	take_pairs(block, tokens, &cells, out);
	return true;
}

/* "-----  -----": two of them at least */
static bool is_of_columns(struct span text)
{
	struct cells cells;

	return cells_split(text, CELLS_GAPS, &cells) && cells.count >= 2;
}

/* Of a frame: what closes it, what opens another, and what only divides its lines. */
enum rule { RULE_PLAIN, RULE_TOP, RULE_BOTTOM, RULE_INNER, RULE_GRID };

static enum rule rule_of(struct span text)
{
	static const struct {
		struct span corner;
		enum rule rule;
	} corners[] = {{SPAN("\u256d"), RULE_TOP}, {SPAN("\u250c"), RULE_TOP}, {SPAN("\u250f"), RULE_TOP},
		{SPAN("\u2552"), RULE_TOP}, {SPAN("\u2554"), RULE_TOP}, {SPAN("\u2570"), RULE_BOTTOM},
		{SPAN("\u2514"), RULE_BOTTOM}, {SPAN("\u2517"), RULE_BOTTOM}, {SPAN("\u2558"), RULE_BOTTOM},
		{SPAN("\u255a"), RULE_BOTTOM}, {SPAN("\u251c"), RULE_INNER}, {SPAN("\u255e"), RULE_INNER},
		{SPAN("\u2521"), RULE_INNER}, {SPAN("\u2560"), RULE_INNER}, {SPAN("\u2523"), RULE_INNER},
		{SPAN("|"), RULE_INNER}, {SPAN("+"), RULE_GRID}};

	text = span_trim(text);
	for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
		if (span_starts_with(text, corners[i].corner))
			return corners[i].rule;
	return cells_has_frame(text) ? RULE_INNER : RULE_PLAIN;
}

/*
 * A grid has the same rule under each line: only two of them in a row are an end, and a beginning. Under several lines it may be
 * the last one.
 */
void record_block_take_rule(struct record_block *block, struct span text, struct block_end *end)
{
	enum rule rule = rule_of(text);
	bool has_begun = block->lines > 1;

	bool is_end = rule == RULE_TOP || rule == RULE_BOTTOM || (rule == RULE_PLAIN && has_begun) ||
		      (rule == RULE_GRID && block->ruled == RULED_NOW);
	if (is_end && (is_framed(block) || block->kind == BLOCK_INDENTED))
		record_block_leave(block, end);
	else if (rule == RULE_GRID && block->kind == BLOCK_BOX && block->ruled == RULED_LINES_AGO && block->rank)
		finish_part(block, end);
	if (rule == RULE_PLAIN && block->kind == BLOCK_NONE && !has_begun && is_of_columns(text))
		open(block, BLOCK_RULED);
	block->ruled = RULED_NOW;
}

/* ---- braces ---- */

/* Behind the quote; false when the text ends before the next one. */
static bool take_quoted(struct span *text, struct span *inside)
{
	char quote = text->ptr[0];
	size_t at = 1;

	while (at < text->len && text->ptr[at] != quote)
		at += text->ptr[at] == '\\' ? 2 : 1;
	if (at >= text->len)
		return false;
	*inside = span_of(text->ptr + 1, at - 1);
	*text = span_skip(*text, at + 1);
	return true;
}

static void skip_blanks(struct span *text)
{
	*text = span_skip(*text, count_char(*text, ' '));
}

static void close_brace(struct record_block *block, struct block_end *end)
{
	if (block->depth)
		block->depth--;
	if (block->depth == 0 || (block->rank && block->depth < block->step_depth))
		finish(block, end);
	if (block->depth == 0)
		forget(block);
}

/* What stands behind "name": */
static void take_member(struct record_block *block, const struct tokens *tokens, struct span name, struct span *rest,
	struct generic_line *out)
{
	size_t len = 0;

	skip_blanks(rest);
	char first = char_at(*rest, 0);
	if (first == '{' || first == '[') {
		push(block, name, 0);
		*rest = span_skip(*rest, 1);
		return;
	}
	if (first == '"' || first == '\'')
		return;
	while (len < rest->len && !strchr(",}]", rest->ptr[len]))
		len++;
	take_pair(block, tokens, name, span_trim(span_of(rest->ptr, len)), out);
	*rest = span_skip(*rest, len);
}

static bool take_braces(
	struct record_block *block, const struct tokens *tokens, struct generic_line *out, struct block_end *end)
{
	struct span rest = tokens->text, name;

	pair_begin(out);
	while (rest.len && block->kind == BLOCK_BRACES) {
		char c = rest.ptr[0];
		if (c == '"' || c == '\'') {
			if (!take_quoted(&rest, &name))
				break;
			skip_blanks(&rest);
			if (span_take(&rest, SPAN(":")))
				take_member(block, tokens, name, &rest, out);
			continue;
		}
		if (c == '{' && block->depth)
			finish(block, end); /* of a list: each is a record */
		if (c == '{' || c == '[')
			push(block, SPAN(""), 0);
		else if (c == '}' || c == ']')
			close_brace(block, end);
		rest = span_skip(rest, 1);
	}
	return true;
}

static int depth_of(struct span text)
{
	int depth = 0;

	for (size_t i = 0; i < text.len; i++)
		depth += (text.ptr[i] == '{') - (text.ptr[i] == '}');
	return depth;
}

/* "{" alone, "{'loss': 2.5,", "Metrics: {" */
static bool opens_braces(struct span text)
{
	text = span_trim(text);
	if (!text.len || depth_of(text) <= 0)
		return false;
	char second = char_at(text, 1);
	return text.ptr[text.len - 1] == '{' || (text.ptr[0] == '{' && (second == '\'' || second == '"'));
}

/* Another thread's line may come between. */
static bool is_in_braces(struct span text)
{
	text = span_trim(text);
	return text.len && strchr("\"'{}[]", text.ptr[0]);
}

static bool begin_braces(
	struct record_block *block, const struct tokens *tokens, struct generic_line *out, struct block_end *end)
{
	record_block_leave(block, end);
	open(block, BLOCK_BRACES);
	if (strchr("{\"'", char_at(span_trim(tokens->text), 0)))
		return take_braces(block, tokens, out, end);
	pair_begin(out);
	push(block, SPAN(""), 0); /* "Metrics: {" ends there */
	return true;
}

/* ---- indented ---- */

static size_t indent_of(struct span text)
{
	size_t indent = 0;

	while (char_at(text, indent) == ' ' || char_at(text, indent) == '\t')
		indent++;
	return indent;
}

/* "Result for PPO_3:" */
static bool is_title(struct span text)
{
	text = span_trim(text);
	return text.len > 1 && text.len <= BLOCK_TITLE_MAX_BYTES && text.ptr[text.len - 1] == ':';
}

/* "loss: 0.25", "info:" */
static bool split_member(struct span text, struct span *name, struct span *cell)
{
	struct span rest = span_trim(text);

	if (!span_next(&rest, ':', name) || name->len == 0 || !is_letter(name->ptr[0]) ||
		span_find_char(*name, ' ') >= 0)
		return false;
	*cell = span_trim(rest);
	return !rest.len || rest.ptr[0] == ' ';
}

static bool take_indented(struct record_block *block, const struct tokens *tokens, struct generic_line *out)
{
	size_t indent = indent_of(tokens->text);
	struct span name, cell;

	if (indent <= block->indent || !split_member(tokens->text, &name, &cell))
		return false;
	while (block->depth &&
		block->levels[(block->depth > BLOCK_DEPTH_MAX ? BLOCK_DEPTH_MAX : block->depth) - 1].indent >= indent)
		block->depth--;
	pair_begin(out);
	if (cell.len)
		take_pair(block, tokens, name, cell, out);
	else
		push(block, name, indent);
	return true;
}

static void begin_indented(struct record_block *block, struct span text)
{
	size_t indent = indent_of(text);

	open(block, BLOCK_INDENTED);
	block->indent = (uint16_t)(indent < UINT16_MAX ? indent : UINT16_MAX);
}

/* ---- all of them ---- */

static bool take_open(
	struct record_block *block, const struct tokens *tokens, struct generic_line *out, struct block_end *end)
{
	switch (block->kind) {
	case BLOCK_RULED:
		return take_ruled(block, tokens, out);
	case BLOCK_BRACES:
		return is_in_braces(tokens->text) && take_braces(block, tokens, out, end);
	case BLOCK_INDENTED:
		return take_indented(block, tokens, out);
	default:
		return false;
	}
}

bool record_block_take(struct record_block *block, const struct tokens *tokens, bool may_open, struct generic_line *out,
	struct block_end *end)
{
	if (block->lines == BLOCK_LINES_MAX) {
		end->is_there = true; /* what waits was no record's */
		end->is_dropped = true;
		forget(block);
	}
	if (block->kind != BLOCK_NONE)
		block->lines++;
	block->ruled = block->ruled == RULED_NOW ? RULED_LINE_AGO : RULED_LINES_AGO;
	if (take_box(block, tokens, out, end) || take_open(block, tokens, out, end))
		return true;
	if (block->kind != BLOCK_BRACES)
		record_block_leave(block, end);
	if (opens_braces(tokens->text))
		return begin_braces(block, tokens, out, end);
	if (may_open && block->kind == BLOCK_NONE && is_title(tokens->text))
		begin_indented(block, tokens->text);
	return false;
}

/* Of the names around the next line those that there is room for. */
static size_t kept_levels(const struct record_block *block)
{
	return block->depth < BLOCK_DEPTH_MAX ? block->depth : BLOCK_DEPTH_MAX;
}

void record_block_copy(struct record_block *to, const struct record_block *from)
{
	memcpy(to, from, offsetof(struct record_block, levels));
	memcpy(to->levels, from->levels, kept_levels(from) * sizeof from->levels[0]);
}

void record_block_pack(const struct record_block *block, struct buf *out)
{
	size_t kept = kept_levels(block);

	pack_u64(out, block->kind);
	pack_u64(out, block->ruled);
	if (block->kind == BLOCK_NONE)
		return;
	pack_u64(out, (block->has_loss ? VALUES_WITH_LOSS : (uint64_t)block->has_values) +
			      (block->is_given ? VALUES_GIVEN : 0));
	pack_u64(out, block->rank);
	pack_i64(out, block->step);
	pack_u64(out, block->step_depth);
	pack_u64(out, block->lines);
	pack_u64(out, block->indent);
	pack_u64(out, block->depth);
	for (size_t i = 0; i < kept; i++) {
		pack_u64(out, block->levels[i].indent);
		pack_span(out, span_of(block->levels[i].name, block->levels[i].len));
	}
}

/* One that must not be larger than `most`. */
static uint64_t unpack_small(struct unpacker *in, uint64_t most)
{
	uint64_t value = unpack_u64(in);

	in->has_failed |= value > most;
	return in->has_failed ? 0 : value;
}

static void unpack_levels(struct record_block *block, struct unpacker *in)
{
	size_t depth = (size_t)unpack_small(in, UINT8_MAX);

	for (size_t i = 0; i < depth && i < BLOCK_DEPTH_MAX; i++) {
		size_t indent = (size_t)unpack_small(in, UINT16_MAX);
		struct span name = unpack_span(in);
		in->has_failed |= name.len > GENERIC_NAME_MAX_BYTES;
		push(block, in->has_failed ? SPAN("") : name, indent);
	}
	block->depth = in->has_failed ? 0 : (uint8_t)depth;
}

void record_block_unpack(struct record_block *block, struct unpacker *in)
{
	*block = (struct record_block){.kind = (uint8_t)unpack_small(in, BLOCK_KIND_COUNT - 1)};
	block->ruled = (uint8_t)unpack_small(in, RULED_LINES_AGO);
	if (block->kind == BLOCK_NONE)
		return;
	uint64_t values = unpack_small(in, VALUES_MAX);
	block->is_given = values >= VALUES_GIVEN;
	block->has_values = values % VALUES_GIVEN > 0;
	block->has_loss = values % VALUES_GIVEN == VALUES_WITH_LOSS;
	block->rank = (uint8_t)unpack_small(in, COUNTER_GLOBAL);
	block->step = unpack_i64(in);
	in->has_failed |= block->step > STEP_MAX || block->step < -STEP_MAX;
	block->step_depth = (uint8_t)unpack_small(in, UINT8_MAX);
	block->lines = (uint16_t)unpack_small(in, BLOCK_LINES_MAX);
	block->indent = (uint16_t)unpack_small(in, UINT16_MAX);
	unpack_levels(block, in);
}
