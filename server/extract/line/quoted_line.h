/*
 * Job: a trainer's own line that only quotes what a kernel said: a sample, a prompt, a completion.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* said: what in the line a signature matched. What may be a kernel's line behind a trainer's, in one line, is no quote. */
bool quoted_line_is(struct span text, struct span said);
