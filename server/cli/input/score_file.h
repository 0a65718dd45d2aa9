/*
 * Job: whether a file is what an evaluation found: the results of lm-evaluation-harness, or the small document of scores, as
 *      docs/evaluations.md has them. One JSON document, which may be cut off, and no log whose lines are such.
 * Ownership: nothing is kept. Threads: any.
 */
#pragma once

#include "base/span.h"

enum { SCORE_FILE_MAX = 64 << 20 };

bool score_file_is_one(struct span text);
/* By its path; false also where it cannot be read: who opens it says why. */
bool score_file_is_at(const char *path);
