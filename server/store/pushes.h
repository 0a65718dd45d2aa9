/* Job: bodies that are sent again: what their senders sent lately. Ownership and threads: as store.h. */
#pragma once

#include "base/hash128.h"
#include "store/store.h"

struct push_row {
	int64_t job_id;
	uint32_t stream_id;
	struct hash128 hash; /* of all that the body held for the stream */
	int64_t seen_ms; /* in the future, of what is to be known for longer */
};
/* Seen since then, within this transaction as well? */
enum status store_is_push_known(struct store_tx *tx, const struct push_row *row, int64_t since_ms, bool *is_known,
	struct error *err) MUST_CHECK;
enum status store_put_push(struct store_tx *tx, const struct push_row *row, struct error *err) MUST_CHECK;
/* *oldest_ms: INT64_MAX when there is none. *surplus_ms: when the newest was seen of those that are more than `kept`; INT64_MIN:
 * there are not so many. */
enum status store_oldest_push(struct store_reader *reader, uint64_t kept, int64_t *oldest_ms, int64_t *surplus_ms,
	struct error *err) MUST_CHECK;
/* Deletes up to `limit` that were seen then or before. */
enum status store_delete_pushes(struct store_tx *tx, int64_t until_ms, size_t limit, struct error *err) MUST_CHECK;
