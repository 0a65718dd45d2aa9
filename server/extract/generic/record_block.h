/*
 * Job: records of names and values, one under the other: in a frame, between rules, in braces, or indented under a title. Where the
 *      record itself says its step it may do so anywhere in it, so its values wait for its end. Internal to extract/.
 * Ownership: a value. Threads: one at a time.
 *
 *   ---------------------      --------------  -----      {                     Result for trial 3:
 *   | Epoch     |   12  |      Average/Return  91.25      "loss": 0.25,           info:
 *   | Return    | 91.25 |      Iteration          12      "step": 12                loss: 0.25
 *   ---------------------      --------------  -----      }                       training_iteration: 12
 */
#pragma once

#include "base/codec/pack.h"
#include "extract/generic/cells.h"
#include "extract/generic/pair.h"

enum {
	BLOCK_LINES_MAX = 256, /* a longer one is none */
	BLOCK_DEPTH_MAX = 8, /* deeper names are not told apart */
	BLOCK_TITLE_MAX_BYTES = 160
};

enum block_kind { BLOCK_NONE, BLOCK_BOX, BLOCK_RULED, BLOCK_BRACES, BLOCK_INDENTED, BLOCK_KIND_COUNT };

/* A name that encloses others. */
struct block_level {
	uint16_t indent;
	uint8_t len;
	char name[GENERIC_NAME_MAX_BYTES];
};

/* When the last rule was. */
enum ruled { RULED_LINE_AGO, RULED_NOW, RULED_LINES_AGO };

struct record_block {
	uint8_t kind;
	bool has_values; /* that wait */
	bool has_loss; /* among them */
	bool is_given; /* the step is that of the part before, until this one says its own */
	uint8_t ruled; /* enum ruled */
	uint8_t rank; /* enum counter_word: of the step so far */
	uint8_t step_depth; /* of the braces around it */
	uint8_t depth; /* names around the next line; may be more than there is room for */
	uint16_t lines; /* so far */
	uint16_t indent; /* of an indented one's title */
	int64_t step;
	struct block_level levels[BLOCK_DEPTH_MAX];
};

/* What becomes of values that waited, before those of the line itself are given. */
struct block_end {
	bool is_there;
	bool has_step;
	bool has_loss;
	bool is_dropped; /* without a step they are none of a training */
	bool is_epoch;
	int64_t step;
};

/* A rule, whether it belongs to a block or not. */
void record_block_take_rule(struct record_block *block, struct span text, struct block_end *end);
/* True: the line belongs to a record, which may be without a value on it. may_open: an indented one, too. */
bool record_block_take(struct record_block *block, const struct tokens *tokens, bool may_open, struct generic_line *out,
	struct block_end *end);
/* It was none, or something else goes on. */
void record_block_leave(struct record_block *block, struct block_end *end);
void record_block_copy(struct record_block *to, const struct record_block *from);
void record_block_pack(const struct record_block *block, struct buf *out);
void record_block_unpack(struct record_block *block, struct unpacker *in);
