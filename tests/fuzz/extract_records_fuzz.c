/*
 * Any text as the lines of records: what is read lies in the line, the result or the state, and a state that was packed and
 * unpacked between two lines reads the next one as the other does.
 */
#include "extract/generic/generic.h"
#include "extract/generic/records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader {
	struct record_state state;
	struct record_line record;
	struct tokens tokens;
	struct generic_line line;
};

static bool lies_in(struct span part, const void *start, size_t len)
{
	const char *from = start;

	return part.ptr >= from && part.len <= len && part.ptr <= from + (len - part.len);
}

static void check_value(const struct reader *reader, const struct generic_value *value, struct span text)
{
	if (value->series < 0 || value->series >= GENERIC_SERIES_COUNT || !lies_in(value->text, text.ptr, text.len))
		abort();
	if (value->name.len && !lies_in(value->name, text.ptr, text.len) &&
		!lies_in(value->name, reader->line.names, sizeof reader->line.names) &&
		!lies_in(value->name, reader->state.table.header, sizeof reader->state.table.header))
		abort();
}

static void read_line(struct reader *reader, struct span text, uint64_t number)
{
	bool is_read = generic_may_have(text);

	reader->tokens.text = SPAN(""); /* the next text may stand where this one did */
	if (is_read) {
		tokens_find(text, &reader->tokens);
		is_read = generic_read(&reader->tokens, &reader->line);
	}
	records_read(&reader->state, text, number, is_read, &reader->tokens, &reader->line, &reader->record);
	if (reader->line.count > GENERIC_VALUES_MAX || reader->line.names_len > GENERIC_NAMES_BYTES)
		abort();
	for (size_t i = 0; i < reader->line.count; i++)
		check_value(reader, &reader->line.values[i], text);
}

static void restart(struct reader *reader)
{
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	records_pack(&reader->state, &state);
	memset(&reader->state, 0, sizeof reader->state);
	struct unpacker in = unpacker_on(buf_span(&state));
	records_unpack(&reader->state, &in);
	if (unpacker_end(&in, "state", NULL) != OK)
		abort();
}

static void check_same(const struct reader *a, const struct reader *b)
{
	const struct record_line *x = &a->record, *y = &b->record;

	if (a->line.count != b->line.count || x->is_told != y->is_told || x->waits != y->waits ||
		x->end.is_there != y->end.is_there || x->end.has_step != y->end.has_step ||
		x->end.step != y->end.step || a->line.counters.has_step != b->line.counters.has_step ||
		a->line.counters.step != b->line.counters.step)
		abort();
	for (size_t i = 0; i < a->line.count; i++)
		if (a->line.values[i].series != b->line.values[i].series ||
			!span_equal(a->line.values[i].name, b->line.values[i].name))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader *whole = calloc(1, sizeof *whole), *cut = calloc(1, sizeof *cut);
	char *copy = malloc(size ? size : 1); /* a line ends where its memory does: one byte past it is found */
	struct span rest = span_of(copy, size), text;
	uint64_t number = 0;

	if (!whole || !cut || !copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	while (size && span_next(&rest, '\n', &text)) {
		read_line(whole, text, number);
		read_line(cut, text, number++);
		check_same(whole, cut);
		if (number % 2)
			restart(cut);
	}
	free(copy);
	free(whole);
	free(cut);
	return 0;
}
