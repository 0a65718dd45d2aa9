/*
 * Job: how PostgreSQL spells a statement of store/sql, whose text is one for both databases and reads as SQLite takes it.
 * Ownership: the buffer is the caller's. Threads: any.
 */
#pragma once

#include "base/buf.h"

/*
 * Appends the statement with its parameters as $n, counted as SQLite counts them: ?7 is $7, and ? is one more than the greatest before
 * it. INDEXED BY NAME goes, because PostgreSQL plans by itself. What stands in quotes stays; our statements hold no comments.
 * *parameters: the greatest number, so how many values the statement takes.
 */
void dialect_postgres(struct buf *out, struct span sql, int *parameters);
/* The statement without INDEXED BY NAME, which no view has. */
void dialect_without_hints(struct buf *out, struct span sql);
/*
 * The same for many at once, of a SELECT that dialect_postgres spelled: each parameter is an array of numbers, all equally long, and each row
 * has the place in them that it is for, from 1, as a last column.
 */
void dialect_postgres_many(struct buf *out, struct span spelled, int parameters);
