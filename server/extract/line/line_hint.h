/*
 * Job: tells whether a line is one that a trainer prints when it starts, loads a checkpoint or has died.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/buf.h"

bool line_is_start(struct span text);
/* Appends what a sieve (sieve.h) finds such lines by, and some others. */
void line_start_pattern(struct buf *out);
