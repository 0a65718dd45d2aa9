/*
 * Job: log text as trainers print it, the same bytes for the same seed: one line in four is a training line (Megatron's
 *      or nanoGPT's form), the rest is chatter; about 158 bytes a line.
 *      Steps and times have a fixed width and can be written anew, so that a text once sent goes out again as the lines
 *      that follow: a stream never ends and its steps never go back.
 * Ownership: init/done. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct corpus_field {
	uint32_t offset;
	uint32_t step; /* counted from the text's first */
	int is_time; /* a time of day and its date, else a step number */
};

struct corpus {
	char *text; /* whole lines */
	size_t bytes;
	size_t line_count;
	struct corpus_field *fields; /* in order */
	size_t field_count, field_cap;
	uint32_t step_count;
	size_t next_field; /* of corpus_stamp */
	uint64_t first_step;
};

/* At most `bytes` of text, less than 4 GiB; ends the process when memory is out. */
void corpus_init(struct corpus *corpus, size_t bytes, uint64_t seed);
void corpus_done(struct corpus *corpus);

/* The next steps: everything is stamped anew from the start. */
void corpus_rewind(struct corpus *corpus);
/* Writes the steps and times that begin before this byte. */
void corpus_stamp(struct corpus *corpus, size_t before);

/* The definitions that fit the text: SageMaker's name and regular expression. */
enum { CORPUS_PATTERNS = 6 };
struct corpus_pattern {
	const char *name;
	const char *regex;
};
extern const struct corpus_pattern corpus_patterns[CORPUS_PATTERNS];
