/*
 * Job: regular expressions for one number of a line, by what stands around it. Internal to extract/.
 * Ownership: the caller's buf. Threads: any. Pure.
 */
#pragma once

#include "base/buf.h"
#include "extract/shapes/shape_groups.h"

/* From the one that people would write to the one that says the whole line. */
enum shape_style {
	SHAPE_BY_WORDS, /* the words before it, as they stand there */
	SHAPE_BY_WORDS_LOOSE, /* with other blanks between them */
	SHAPE_BY_UNIT, /* what is behind it */
	SHAPE_BY_MARK, /* the words with the mark before them */
	SHAPE_BY_HEAD, /* the words with those that the line begins with */
	SHAPE_BY_BEGINNING, /* all that is before it */
	SHAPE_BY_LINE, /* all of the line */
	SHAPE_STYLES
};

struct shape_place {
	const struct shape_token *tokens;
	const bool *hides;
	size_t count;
	size_t token; /* the number's */
	size_t first_token, last_token; /* of the words that name it */
	const char *group_name; /* of the number's group; NULL: it has none */
	const struct shape_number *number;
};

/* Appends a pattern with the number as its only group; false: the place has none of this style. */
bool shape_pattern(const struct shape_place *place, enum shape_style style, bool is_step, struct buf *out);
/* A pattern with the groups `epoch` and `step`: the epoch comes first. */
void shape_pattern_epoch(const struct shape_place *epoch, const struct shape_place *step, struct buf *out);
