#include "base/clock.h"
#include "harness.h"
#include "store/journal.h"
#include "store/tokens.h"

#include <signal.h>
#include <sys/resource.h>

static void put_setting(struct store_tx *tx, const char *key, const char *value)
{
	CHECK_OK(store_put_setting(tx, key, span_from(value), &err));
}

static struct span setting(struct harness *h, const char *key)
{
	struct span value = {0};

	CHECK_OK(store_read_setting(h->reader, h->arena, key, &value, &err));
	return value;
}

TEST(what_is_committed_stays_and_what_is_rolled_back_never_was)
{
	struct harness h = harness_new();

	put_setting(harness_begin(&h), "a", "1");
	CHECK_SPAN(setting(&h, "a"), SPAN("")); /* not seen by others yet */
	struct span inside = {0};
	CHECK_OK(store_read_setting(store_tx_reader(h.tx), h.arena, "a", &inside, &err));
	CHECK_SPAN(inside, SPAN("1"));
	harness_commit(&h);
	put_setting(harness_begin(&h), "a", "2");
	store_tx_rollback(h.tx);
	CHECK_SPAN(setting(&h, "a"), SPAN("1"));
	harness_reopen(&h);
	CHECK_SPAN(setting(&h, "a"), SPAN("1"));
	harness_done(&h);
}

TEST(undo_takes_back_to_the_savepoint_and_release_keeps)
{
	struct harness h = harness_new();

	put_setting(harness_begin(&h), "a", "1");
	CHECK_OK(store_tx_savepoint(h.tx, &err));
	put_setting(h.tx, "a", "2");
	CHECK_OK(store_tx_savepoint(h.tx, &err));
	put_setting(h.tx, "b", "3");
	store_tx_undo(h.tx);
	CHECK_OK(store_tx_release(h.tx, &err));
	CHECK_OK(store_tx_savepoint(h.tx, &err));
	put_setting(h.tx, "a", "4");
	store_tx_undo(h.tx);
	CHECK_FAILS(store_tx_release(h.tx, &err), ERR_INTERNAL, "no savepoint");
	harness_commit(&h);
	CHECK_SPAN(setting(&h, "a"), SPAN("2"));
	CHECK_SPAN(setting(&h, "b"), SPAN(""));
	harness_done(&h);
}

TEST(one_transaction_at_a_time)
{
	struct harness h = harness_new();
	struct store_tx *second = NULL;

	harness_begin(&h);
	CHECK_FAILS(store_tx_begin(&second, h.store, &err), ERR_INTERNAL, "already open");
	harness_commit(&h);
	harness_done(&h);
}

TEST(a_full_database_takes_nothing_and_recovers)
{
	struct harness h = harness_new();
	static char big[400000];
	struct error failure = {0};

	memset(big, 'x', sizeof big);
	put_setting(harness_begin(&h), "a", "1");
	harness_commit(&h);
	harness_number(h.store->writer, "PRAGMA max_page_count=60");
	harness_begin(&h);
	put_setting(h.tx, "a", "2");
	CHECK_FAILS(store_append_journal(h.tx, 1, span_of(big, sizeof big), &err), ERR_UNAVAILABLE, "the disk is full");
	/* SQLite has rolled back: what comes now must not commit by itself. */
	CHECK_FAILS(store_put_setting(h.tx, "b", SPAN("2"), &err), ERR_UNAVAILABLE, "the disk is full");
	CHECK(store_tx_commit(h.tx, &failure) == ERR_UNAVAILABLE);
	CHECK(failure.retry_after_s > 0);
	CHECK_SPAN(setting(&h, "a"), SPAN("1"));
	CHECK_SPAN(setting(&h, "b"), SPAN(""));
	harness_number(h.store->writer, "PRAGMA max_page_count=1000000");
	harness_begin(&h);
	CHECK_OK(store_append_journal(h.tx, 1, span_of(big, sizeof big), &err));
	put_setting(h.tx, "b", "3");
	harness_commit(&h);
	CHECK_SPAN(setting(&h, "b"), SPAN("3"));
	harness_done(&h);
}

TEST(a_file_that_cannot_grow_takes_nothing_and_recovers)
{
	struct harness h = harness_new();
	static char big[900000];
	struct rlimit before, low;

	memset(big, 'y', sizeof big);
	put_setting(harness_begin(&h), "a", "1");
	harness_commit(&h);
	signal(SIGXFSZ, SIG_IGN);
	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	low = before;
	low.rlim_cur = 700000;
	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	struct error failure = {0};
	harness_begin(&h);
	enum status status = store_put_setting(h.tx, "a", SPAN("2"), &failure);
	status = status == OK ? store_append_journal(h.tx, 1, span_of(big, sizeof big), &failure) : status;
	if (status == OK)
		status = store_tx_commit(h.tx, &failure);
	else
		store_tx_rollback(h.tx);
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK_INT(status, ERR_UNAVAILABLE);
	CHECK(span_find(span_from(failure.text), span_from(h.path)) >= 0);
	CHECK_SPAN(setting(&h, "a"), SPAN("1"));
	put_setting(harness_begin(&h), "a", "3");
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_SPAN(setting(&h, "a"), SPAN("3"));
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM journal"), 0);
	harness_done(&h);
}

static void commit_record(struct harness *h, uint64_t seq, size_t bytes)
{
	static char record[100000];

	memset(record, (int)seq, bytes);
	harness_begin(h);
	CHECK_OK(store_append_journal(h->tx, seq, span_of(record, bytes), &err));
	CHECK_OK(store_trim_journal(h->tx, seq, 10, &err));
	harness_commit(h);
	CHECK_OK(store_checkpoint(h->store, false, &err));
}

static uint64_t wal_bytes(struct harness *h)
{
	struct store_figures figures = {0};

	CHECK_OK(store_figures(h->reader, &figures, &err));
	return figures.wal_bytes;
}

TEST(checkpoints_keep_the_wal_within_its_limit_while_readers_come_and_go)
{
	struct harness h = harness_new();
	enum { LIMIT = 1 << 20, SLACK = 600000 };

	h.wal_bytes = LIMIT;
	harness_reopen(&h);
	for (uint64_t seq = 1; seq <= 200; seq++) {
		if (seq % 10 == 3)
			CHECK_OK(store_reader_begin(h.reader, &err));
		commit_record(&h, seq, 40000);
		if (seq % 10 == 5)
			store_reader_end(h.reader);
		CHECK(wal_bytes(&h) <= LIMIT + SLACK);
	}
	/* A reader that stays makes it grow; when it has gone the file shrinks again. */
	CHECK_OK(store_reader_begin(h.reader, &err));
	for (uint64_t seq = 201; seq <= 260; seq++)
		commit_record(&h, seq, 40000);
	CHECK(wal_bytes(&h) > 2 * LIMIT);
	store_reader_end(h.reader);
	for (uint64_t seq = 261; seq <= 264; seq++)
		commit_record(&h, seq, 40000);
	CHECK(wal_bytes(&h) <= LIMIT + SLACK);
	harness_done(&h);
}

TEST(an_idle_checkpoint_leaves_nothing_to_do)
{
	struct harness h = harness_new();

	commit_record(&h, 1, 40000);
	CHECK(sqlite_reader_of(h.store->writer)->wal_frames > 0);
	CHECK_OK(store_checkpoint(h.store, true, &err));
	CHECK_INT(sqlite_reader_of(h.store->writer)->wal_frames, 0);
	harness_done(&h);
}

TEST(a_snapshot_is_one_view)
{
	struct harness h = harness_new();

	put_setting(harness_begin(&h), "a", "1");
	harness_commit(&h);
	CHECK_OK(store_reader_begin(h.reader, &err));
	put_setting(harness_begin(&h), "a", "2");
	harness_commit(&h);
	CHECK_SPAN(setting(&h, "a"), SPAN("1"));
	store_reader_end(h.reader);
	CHECK_SPAN(setting(&h, "a"), SPAN("2"));
	harness_done(&h);
}

TEST(a_read_past_its_deadline_is_cut_off)
{
	struct harness h = harness_new();
	int64_t number = 0, start_ms = clock_mono_ms();
	static const char endless[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

	CHECK_OK(store_reader_begin(h.reader, &err));
	store_reader_deadline(h.reader, 30);
	CHECK_FAILS(connection_number(h.reader, endless, &number, &err), ERR_UNAVAILABLE, "took longer");
	CHECK(clock_mono_ms() - start_ms < 3000);
	store_reader_end(h.reader);
	CHECK_SPAN(setting(&h, "a"), SPAN("")); /* the next one has its own time */
	harness_done(&h);
}

/* What it has read of the tables' texts is most of a reader's opening. */
TEST(a_reader_that_is_given_back_is_the_next_one_and_knows_nothing_of_before)
{
	struct harness h = harness_new();
	struct store_reader *first = NULL, *second = NULL;
	struct span value = {0};
	int64_t number = 0;

	CHECK_OK(store_reader_new(&first, h.store, &err));
	CHECK_OK(store_reader_begin(first, &err));
	store_reader_deadline(first, 1);
	CHECK_OK(store_read_setting(first, h.arena, "a", &value, &err));
	CHECK_SPAN(value, SPAN(""));
	store_reader_free(first); /* in its view */
	put_setting(harness_begin(&h), "a", "1");
	harness_commit(&h);
	CHECK_OK(store_checkpoint(h.store, true, &err));
	CHECK_INT(sqlite_reader_of(h.store->writer)->wal_frames, 0); /* no view is in its way */
	CHECK_OK(store_reader_new(&second, h.store, &err));
	CHECK(second == first);
	CHECK_INT(connection_deadline_ms(second), 0);
	CHECK_OK(store_read_setting(second, h.arena, "a", &value, &err));
	CHECK_SPAN(value, SPAN("1"));
	CHECK_OK(connection_number(second, "PRAGMA query_only", &number, &err));
	CHECK_INT(number, 1);
	store_reader_free(second);
	harness_done(&h);
}

TEST(only_one_reader_is_kept_and_none_that_was_narrow)
{
	struct harness h = harness_new();
	struct store_reader *readers[3] = {0}, *next = NULL;

	CHECK_OK(store_reader_new_narrow(&readers[0], h.store, &err));
	CHECK_OK(store_reader_new(&readers[1], h.store, &err));
	CHECK_OK(store_reader_new(&readers[2], h.store, &err));
	CHECK(readers[1] != readers[2]);
	for (size_t i = 0; i < 3; i++)
		store_reader_free(readers[i]);
	CHECK_OK(store_reader_new_narrow(&next, h.store, &err));
	CHECK(next != readers[1]);
	store_reader_free(next);
	CHECK_OK(store_reader_new(&next, h.store, &err));
	CHECK(next == readers[1]);
	store_reader_free(next);
	harness_done(&h);
}

TEST(figures_tell_pages_and_wal)
{
	struct harness h = harness_new();
	struct store_figures figures = {0};

	commit_record(&h, 1, 40000);
	CHECK_OK(store_figures(h.reader, &figures, &err));
	CHECK_INT(figures.page_bytes, 8192);
	CHECK(figures.page_count > 10);
	CHECK(figures.wal_bytes > 40000);
	harness_done(&h);
}
