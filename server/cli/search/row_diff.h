/*
 * Job: what is different from the last time: texts by name, round after round.
 * Ownership: new/free; names and texts are copied. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"

struct changes;

struct changes *changes_new(void) __attribute__((warn_unused_result)); /* NULL: out of memory */
void changes_free(struct changes *changes);

/* *is_news: the name was not there in the last round, or had another text. False: out of memory. */
bool changes_note(struct changes *changes, struct span name, struct span text, bool *is_news)
	__attribute__((warn_unused_result));
/* The next name that was not noted in this round; it is forgotten. False: there is none, and a new round begins. */
bool changes_next_gone(struct changes *changes, struct buf *name);

AUTO_TYPE(changes)
