/*
 * The journal as a ring of four partitions. Records go into one of them until it is large, then into the next that is empty. One of
 * which nothing is needed any more is emptied whole, which costs no work a row and leaves nothing for a vacuum.
 *
 * TRUNCATE leaves no old version of a row behind: a view that was taken before the rows were sealed would find neither them nor the
 * blocks that were made of them. So what has been trimmed is forgotten in two steps. A row of the table counters says up to where,
 * like any other write. The partition is emptied once no transaction of the database is left that there was when that row was seen to
 * be beyond it; a view that has read the journal already keeps it by its lock.
 *
 * Where the role may not TRUNCATE, there is one slot, and its rows are deleted.
 */
#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/postgres_store.h"

enum { LOOK_MS = 250, LOCKED_MS = 1000, FAILED_MS = 10000, VIEWS_BYTES_MAX = 1 << 20 };

/* The owner of a partition in another role's schema may see it, and not empty it. */
static const char MAY_TRUNCATE[] =
	"SELECT count(*) FROM pg_inherits AS i WHERE i.inhparent = to_regclass('journal') AND has_table_privilege(i.inhrelid, 'TRUNCATE')";

/* ---- where records go ---- */

static enum status learn_slots(struct postgres_ring *ring, struct store_reader *on, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on,
		"SELECT slot, CAST(sum(length(record)) AS BIGINT) FROM journal GROUP BY slot ORDER BY max(seq)", err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		uint64_t slot = column_u64(&s), bytes = column_u64(&s);
		if (slot >= JOURNAL_SLOTS)
			return error_set(err, ERR_INTERNAL, "the journal has a slot %llu", (unsigned long long)slot);
		ring->slot = (int)slot;
		ring->slot_bytes = bytes;
		ring->holds[slot] = true;
		TRY(statement_step(&s, &has_row, err));
	}
	return OK;
}

static enum status learn(struct postgres_ring *ring, struct store_reader *on, struct error *err)
{
	int64_t truncatable;

	if (ring->is_known)
		return OK;
	buf_done(&ring->views);
	*ring = (struct postgres_ring){.slot_limit_bytes = ring->slot_limit_bytes, .trimmed_slot = -1};
	TRY(connection_number(on, MAY_TRUNCATE, &truncatable, err));
	TRY(learn_slots(ring, on, err));
	ring->truncates = truncatable == JOURNAL_SLOTS;
	ring->is_known = true;
	if (!ring->truncates)
		log_line(LOG_WARNING, "journal_not_truncated",
			"why=\"the role may not TRUNCATE the partitions of the journal: its rows are deleted, which costs more\"");
	return OK;
}

enum status postgres_journal_place(struct store_tx *tx, uint64_t bytes, struct journal_place *out, struct error *err)
{
	struct postgres_ring *ring = &postgres_store_of(tx->store)->ring;

	TRY(learn(ring, store_tx_reader(tx), err));
	int next = (ring->slot + 1) % JOURNAL_SLOTS;
	if (bytes && ring->truncates && ring->slot_bytes >= ring->slot_limit_bytes && !ring->holds[next]) {
		ring->slot = next;
		ring->slot_bytes = 0;
	}
	ring->slot_bytes += bytes;
	ring->holds[ring->slot] |= bytes > 0;
	*out = (struct journal_place){ring->slot, JOURNAL_PART_BYTES, ring->truncates};
	return OK;
}

/* ---- emptying one ---- */

/*
 * The transactions that there are, if all that the slot holds was trimmed before. Each session's number of its transaction
 * is to be seen by everybody; when one of another role began (a dump of the owner's, for one) is not. What belongs to no role reads
 * nothing of ours for anybody: a vacuum.
 */
static enum status look_at_slot(struct postgres_ring *ring, struct store_reader *on, int slot, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on,
		"SELECT CASE WHEN coalesce((SELECT max(j.seq) FROM journal AS j WHERE j.slot = ?), 0) <"
		" coalesce((SELECT c.last FROM counters AS c WHERE c.name = 'journal'), 0)"
		" THEN coalesce((SELECT string_agg(l.virtualxid, ',') FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
		" WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database() AND a.usesysid IS NOT NULL"
		" AND a.pid <> pg_backend_pid()), '') END",
		err));
	bind_i64(&s, slot);
	TRY(statement_step(&s, &has_row, err));
	bool is_trimmed = !column_is_null(&s);
	buf_done(&ring->views);
	ring->views = BUF_INIT(VIEWS_BYTES_MAX);
	buf_append_span(&ring->views, column_borrow(&s));
	TRY(buf_status(&ring->views, err));
	TRY(statement_run(&s, err));
	ring->trimmed_slot = is_trimmed ? slot : -1;
	return OK;
}

static enum status has_older_view(struct store_reader *on, struct span views, bool *has, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on,
		"SELECT count(*) FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.granted"
		" AND l.virtualxid = ANY (string_to_array(?, ','))",
		err));
	bind_text(&s, views);
	TRY(statement_step(&s, &has_row, err));
	*has = column_i64(&s) > 0;
	return statement_run(&s, err);
}

/* Whoever reads the slot waits meanwhile: neither long for those before us, nor for a standby. */
#define TRUNCATE(slot) "SET LOCAL lock_timeout = '50ms'; SET LOCAL synchronous_commit = local; TRUNCATE journal_" #slot

static enum status truncate_slot(struct store *store, int slot, struct error *err)
{
	static const char *const texts[JOURNAL_SLOTS] = {TRUNCATE(0), TRUNCATE(1), TRUNCATE(2), TRUNCATE(3)};
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, store, err));
	enum status status = connection_run(store_tx_reader(tx), texts[slot], err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

static enum status empty_slot(struct store *store, int slot, struct error *err)
{
	struct postgres_ring *ring = &postgres_store_of(store)->ring;
	bool has_older;

	if (ring->trimmed_slot != slot)
		return look_at_slot(ring, store->writer, slot, err);
	TRY(has_older_view(store->writer, buf_span(&ring->views), &has_older, err));
	if (has_older)
		return OK;
	TRY(truncate_slot(store, slot, err));
	ring->holds[slot] = false;
	ring->trimmed_slot = -1;
	return OK;
}

/* The oldest one but that which is written to; -1: there is none. */
static int find_full(const struct postgres_ring *ring)
{
	for (int i = 1; i < JOURNAL_SLOTS; i++) {
		int slot = (ring->slot + i) % JOURNAL_SLOTS;
		if (ring->holds[slot])
			return slot;
	}
	return -1;
}

void postgres_ring_done(struct postgres_ring *ring)
{
	buf_done(&ring->views);
}

enum status postgres_ring_turn(struct store *store, struct error *err)
{
	struct postgres_ring *ring = &postgres_store_of(store)->ring;
	int slot = ring->is_known && ring->truncates ? find_full(ring) : -1;
	int64_t now_ms = clock_mono_ms();
	struct error why = {0};

	if (slot < 0 || now_ms < ring->next_ms)
		return OK;
	enum status status = empty_slot(store, slot, &why);
	ring->next_ms = now_ms + (status == OK ? LOOK_MS : status == ERR_BUSY ? LOCKED_MS : FAILED_MS);
	if (status == OK || status == ERR_BUSY)
		return OK;
	ring->is_known = status == ERR_UNAVAILABLE; /* else it is asked again what the role may */
	if (err)
		*err = why;
	return status;
}
