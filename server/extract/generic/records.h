/*
 * Job: what trainers say over several lines: a table's header and its rows, boxed tables, a header that says the step with the
 *      values below. Asked for each line that generic_read takes nothing from. Internal to extract/.
 * Ownership: a value, of one stream; spans of the result into the line or into the result. Threads: one at a time.
 */
#pragma once

#include "base/codec/pack.h"
#include "extract/generic/series.h"

/* What is remembered of the lines before. Zeros: nothing. */
struct record_state {
	uint32_t unused;
};

/* What a stream remembers for the reading of any line. */
struct generic_memory {
	uint64_t header; /* the number of the last line that said the step alone, from 1; 0: none */
	bool has_fine; /* lines have said a step that is no epoch */
	bool has_loss;
	uint32_t loss_alias; /* the name of its loss (generic_value.alias); under others it is another series */
	struct record_state records;
};

/* True: the line belongs to a record; *out has its values and its step, if any. Whatever the line is, it is told to the state. */
bool records_read(struct record_state *state, const struct tokens *tokens, struct generic_line *out);
void generic_memory_pack(const struct generic_memory *memory, struct buf *out);
void generic_memory_unpack(struct generic_memory *memory, struct unpacker *in);
