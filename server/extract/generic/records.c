#include "extract/generic/records.h"

#include "extract/generic/guess.h"
#include "extract/line/cursor.h"

static bool has_step(const struct record_state *state, uint64_t line)
{
	return state->step.has_step && line - state->step_line <= RECORD_STEP_LINES;
}

/* By its name alone it is one of a training. */
static bool has_known(const struct generic_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (line->values[i].series != GENERIC_OTHER || guess_points_needed(line->values[i].name, true) == 1)
			return true;
	return false;
}

/*
 * A header's step is that of the values below it, until a line has its own; a bar has one, whoever's it is. True: these are such
 * values.
 */
static bool note_step(struct record_state *state, uint64_t line, struct generic_line *out)
{
	struct generic_counters *counters = &out->counters;

	if (counters->has_step) {
		state->step = out->is_step_alone && !counters->is_bar ? *counters : (struct generic_counters){0};
		state->step.where = SPAN("");
		state->step_line = line;
		return false;
	}
	if (!out->count || !has_step(state, line))
		return false;
	*counters = state->step;
	return has_known(out);
}

/* Most lines begin with a word, and have one blank between words. */
static bool may_be_header(struct span text)
{
	size_t word = 0;

	if (text.len > TABLE_HEADER_MAX_BYTES)
		return false;
	while (is_letter(char_at(text, word)))
		word++;
	bool counts = word && pair_counter(span_of(text.ptr, word)) != COUNTER_NONE;
	return counts || span_find(text, SPAN("  ")) >= 0 || span_find_char(text, '\t') >= 0 || cells_has_bar(text);
}

/* A header that is too large: nobody would look for its rows. */
static bool is_unread_header(struct span text)
{
	size_t word = 0;

	if (text.len < 2 * CELLS_MAX)
		return false;
	text = cells_undecorated(span_cut(text, 2 * TABLE_HEADER_MAX_BYTES));
	while (is_letter(char_at(text, word)))
		word++;
	return word && pair_counter(span_of(text.ptr, word)) != COUNTER_NONE && record_table_is_too_large(text);
}

static bool may_be_record(const struct record_state *state, struct span text)
{
	struct span trimmed = span_trim(text);
	char first = char_at(trimmed, 0), last = trimmed.len ? trimmed.ptr[trimmed.len - 1] : '\0';

	return state->block.kind != BLOCK_NONE || first == '|' || first == '{' || first == '\xe2' || last == '{' ||
	       last == ':';
}

/* True: the line is of a table. */
static bool take_table(struct record_state *state, const struct tokens *tokens, uint64_t line, struct generic_line *out,
	struct record_line *record)
{
	if (record_table_take_row(&state->table, tokens, line, out)) {
		record_block_leave(&state->block, &record->end);
		if (state->table.kind == TABLE_SPLITS && has_step(state, line))
			out->counters = state->step;
		return true;
	}
	if (state->block.kind == BLOCK_NONE && may_be_header(span_trim(tokens->text)) &&
		record_table_take_header(&state->table, tokens->text, line, &record->is_new)) {
		pair_begin(out);
		return true;
	}
	return false;
}

static bool take_block(struct record_state *state, const struct tokens *tokens, uint64_t line, struct generic_line *out,
	struct record_line *record)
{
	bool is_of_block = record_block_take(&state->block, tokens, !has_step(state, line), out, &record->end);
	uint8_t kind = (uint8_t)(1 << state->block.kind);

	record->is_new |= !(state->kinds & kind);
	state->kinds |= kind;
	record->waits = is_of_block && out->count > 0 && !out->counters.has_step;
	return is_of_block;
}

/* What a header says is the step of a record that says none. */
static void end_record(const struct record_state *state, uint64_t line, struct block_end *end)
{
	if (!end->is_there || end->has_step || !has_step(state, line))
		return;
	end->has_step = true;
	end->is_epoch = state->step.is_epoch;
	end->step = state->step.step;
}

/* Of a full bar, perhaps behind a row: nothing with a name was read. */
static bool is_full_bar(struct span text, const struct generic_line *line)
{
	if (record_table_row_text(text).len == text.len)
		return false;
	for (size_t i = 0; i < line->count; i++)
		if (line->values[i].name.len)
			return false;
	return true;
}

void records_read(struct record_state *state, struct span text, uint64_t line, bool is_read, struct tokens *tokens,
	struct generic_line *out, struct record_line *record)
{
	*record = (struct record_line){0};
	if (!is_read)
		pair_begin(out);
	if (cells_is_rule(text)) {
		record_block_take_rule(&state->block, text, &record->end);
		record->is_told = true;
		end_record(state, line, &record->end);
		return;
	}
	bool may_be_row = out->count == 0 || (state->table.kind == TABLE_ROWS && is_full_bar(text, out));
	bool may_be_table = may_be_row && (state->table.kind != TABLE_NONE || may_be_header(span_trim(text)));
	if (may_be_table || may_be_record(state, text)) {
		if (tokens->text.ptr != text.ptr || tokens->text.len != text.len)
			tokens_find(text, tokens);
		record->is_record = (may_be_table && take_table(state, tokens, line, out, record)) ||
				    take_block(state, tokens, line, out, record);
	}
	end_record(state, line, &record->end);
	if (!record->is_record && !out->count)
		out->is_cut |= is_unread_header(text);
	record->is_told = record->is_record || state->block.kind != BLOCK_NONE;
	if (!record->is_record)
		record->is_record = note_step(state, line, out);
}

static void pack_step(const struct record_state *state, struct buf *out)
{
	const struct generic_counters *step = &state->step;

	pack_u64(out, step->has_step);
	if (!step->has_step)
		return;
	pack_u64(out, step->has_epoch);
	pack_u64(out, step->is_epoch);
	pack_i64(out, step->step);
	pack_i64(out, step->epoch);
	pack_i64(out, step->total);
	pack_u64(out, state->step_line);
}

static bool is_step(int64_t step)
{
	return step >= -STEP_MAX && step <= STEP_MAX;
}

static void unpack_step(struct record_state *state, struct unpacker *in)
{
	struct generic_counters *step = &state->step;

	step->has_step = unpack_u64(in) != 0;
	if (!step->has_step)
		return;
	step->has_epoch = unpack_u64(in) != 0;
	step->is_epoch = unpack_u64(in) != 0;
	step->step = unpack_i64(in);
	step->epoch = unpack_i64(in);
	step->total = unpack_i64(in);
	state->step_line = unpack_u64(in);
	in->has_failed |= !is_step(step->step) || !is_step(step->epoch) || !is_step(step->total);
}

void records_copy(struct record_state *to, const struct record_state *from)
{
	record_table_copy(&to->table, &from->table);
	record_block_copy(&to->block, &from->block);
	to->step = from->step;
	to->step_line = from->step_line;
	to->kinds = from->kinds;
}

void records_pack(const struct record_state *state, struct buf *out)
{
	record_table_pack(&state->table, out);
	record_block_pack(&state->block, out);
	pack_step(state, out);
	pack_u64(out, state->kinds);
}

void records_unpack(struct record_state *state, struct unpacker *in)
{
	record_table_unpack(&state->table, in);
	record_block_unpack(&state->block, in);
	unpack_step(state, in);
	state->kinds = (uint8_t)unpack_u64(in);
}
