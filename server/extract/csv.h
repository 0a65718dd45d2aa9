/*
 * Job: the step of a row of numbers, under a header that names the columns. Internal to extract/.
 * Ownership: `header` is the stream's, and spans lie in the row. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"

/* The column of the step, the surest name first: "epoch,step,train_loss"; -1: there is none. */
ptrdiff_t csv_step_column(struct span header);
/* A header is taken up. True for a row that belongs to it and has a step. */
bool csv_read_step(struct buf *header, struct span row, int64_t *step, struct span *where);
