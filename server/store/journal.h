/* Job: what came and is not sealed yet. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

enum status store_append_journal(struct store_tx *tx, uint64_t seq, struct span record, struct error *err) MUST_CHECK;
enum status store_read_journal(struct store_reader *reader, struct arena *arena, uint64_t seq, struct span *record,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND: sealed and gone */
/* The oldest row with a number >= *seq: sets *seq; record.ptr is NULL when there is none. */
enum status store_next_journal(struct store_reader *reader, struct arena *arena, uint64_t *seq, struct span *record,
	struct error *err) MUST_CHECK;
/* The newest number ever given (its row always stays), 0 in a new database; and what the rows weigh. */
/* The two numbers alone: the sum takes a look at every row. 0: the journal is empty. */
enum status store_journal_range(
	struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq, struct error *err) MUST_CHECK;
enum status store_journal_figures(struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq,
	uint64_t *bytes, struct error *err) MUST_CHECK;
/* Deletes rows below before_seq, at most limit of them, never the newest. */
enum status store_trim_journal(struct store_tx *tx, uint64_t before_seq, size_t limit, struct error *err) MUST_CHECK;
