/*
 * Job: what trainers say over several lines: a table's header and its rows, boxed tables, objects in braces, a header that says the
 *      step with the values below. Internal to extract/.
 * Ownership: a value; names in the result are spans into the line, the result or the state, until the next line. Threads: one at a
 *      time.
 */
#pragma once

#include "extract/generic/record_block.h"
#include "extract/generic/record_table.h"

enum { RECORD_STEP_LINES = 64 }; /* the values below a header that says the step */

/* What is remembered of the lines before. Zeros: nothing. */
struct record_state {
	struct record_table table;
	struct record_block block;
	struct generic_counters step; /* of the header above; `where` is not kept */
	uint64_t step_line;
	uint8_t kinds; /* of blocks that there were: a bit each */
};

struct record_line {
	bool is_told; /* a record, or its frame: lines of this shape have to be told to the state, whether they have a value or not */
	bool is_record; /* the values are known to be a training's by what stands around them */
	bool waits; /* its values: for the step at the end of their record */
	bool is_new; /* a record begins: lines of shapes that said nothing before may say something now */
	struct block_end end; /* of the record before: comes before the values of this line */
};

/*
 * Each line is told to the state. is_read: generic_read took something, which is in *out, and stays there unless the line is a
 * record's. tokens: those of the text, else scratch.
 */
void records_read(struct record_state *state, struct span text, uint64_t line, bool is_read, struct tokens *tokens,
	struct generic_line *out, struct record_line *record);
/* Of what there is, not all of it: each line that the reader looks at is copied for. */
void records_copy(struct record_state *to, const struct record_state *from);
void records_pack(const struct record_state *state, struct buf *out);
void records_unpack(struct record_state *state, struct unpacker *in);
