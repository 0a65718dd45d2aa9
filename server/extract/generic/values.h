/*
 * Job: the numbers of a line that have a name. Internal to extract/.
 * Ownership: as generic.h. Threads: any. Pure.
 */
#pragma once

#include "extract/generic/series.h"

/* Appends them to *out, whose counters are known. */
void values_find(struct tokens *tokens, struct generic_line *out);
