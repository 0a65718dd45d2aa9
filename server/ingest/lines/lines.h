/* Job: the text of one message as lines of a stream, the same for all protocols of messages. Plain calls. */
#pragma once

#include "model/metrics/batch.h"

/*
 * A text of several lines (a traceback in one message) becomes as many. What an offset counts is the stream, not the
 * objects around it: each line stands for its text and a newline, so that plain text and messages can follow each other.
 * False: out of memory.
 */
bool ingest_add_lines(struct batch *batch, struct batch_part *part, struct span text, int64_t ts_ms,
	size_t max_line_bytes) __attribute__((warn_unused_result));

/*
 * A line of one byte is as much memory as one of fifty: so many may be made at once of so many bytes, and ordinary text is far
 * from it.
 */
size_t ingest_lines_max(size_t bytes);
size_t ingest_count_lines(struct span text); /* that ingest_add_lines would make of it */

/* Empties what a parser keeps between lines; the memory goes, too, when one long line made it large. */
void ingest_let_go(struct buf *carry);
