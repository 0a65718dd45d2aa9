#include "store/sql/maintain/move_journal.h"

enum { BATCH_BYTES = 4 << 20 };

static enum status put_records(struct store_reader *source, struct store_tx *tx, uint64_t *seq, uint64_t *rows,
	bool *has_more, struct error *err)
{
	for (size_t bytes = 0; bytes < BATCH_BYTES; (*seq)++, (*rows)++) {
		AUTO(arena) arena = arena_new();
		struct span record;
		if (!arena)
			return error_no_memory(err);
		TRY(store_next_journal(source, arena, seq, &record, err));
		*has_more = record.ptr;
		if (!record.ptr)
			return OK;
		TRY(store_append_journal(tx, *seq, record, err));
		bytes += record.len + 1;
	}
	return OK;
}

enum status move_records(
	struct store_reader *source, struct store *to, uint64_t *seq, uint64_t *rows, bool *has_more, struct error *err)
{
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, to, err));
	enum status status = put_records(source, tx, seq, rows, has_more, err);
	if (status == OK)
		status = store_tx_commit(tx, err);
	else
		store_tx_rollback(tx);
	TRY(status);
	return store_checkpoint(to, false, err);
}

enum status move_compare_record(struct store_reader *source, struct store_reader *target, uint64_t *seq,
	uint64_t *bytes, bool *has_more, bool *is_same, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span ours, theirs;
	uint64_t our_seq = *seq, their_seq = *seq;

	if (!arena)
		return error_no_memory(err);
	TRY(store_next_journal(source, arena, &our_seq, &ours, err));
	TRY(store_next_journal(target, arena, &their_seq, &theirs, err));
	*has_more = ours.ptr || theirs.ptr;
	*is_same = !*has_more || (ours.ptr && theirs.ptr && our_seq == their_seq && span_equal(ours, theirs));
	*seq = our_seq + 1;
	*bytes += ours.len;
	return OK;
}
