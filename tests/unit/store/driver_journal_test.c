/* The journal on PostgreSQL: records in parts, in a ring of partitions that are emptied whole once no view can miss what they held. */
#include "base/clock.h"
#include "place.h"
#include "store/journal.h"
#include "store/postgres/postgres_store.h"

enum { RECORD_BYTES = 400, RECORDS = 20, TRIMMED_BEFORE = 11, LONG_ENOUGH_MS = 1000 };

static struct place place_with_journal(uint64_t slot_bytes)
{
	struct place p = {.is_postgres = true,
		.schema = "sm_test",
		.write_limit_ms = 20000,
		.journal_slot_bytes = slot_bytes,
		.arena = arena_new()};
	struct postgres_options options = {.conninfo = cluster_conninfo("postgres"), .schema = p.schema};

	CHECK(p.arena != NULL);
	place_administer("DROP SCHEMA IF EXISTS sm_test CASCADE; CREATE SCHEMA sm_test");
	CHECK_OK(postgres_migrate(&options, 0, &err));
	place_open_postgres(&p);
	return p;
}

static struct span make_record(struct place *p, size_t bytes, uint64_t seed)
{
	char *record = arena_alloc(p->arena, bytes + 1);

	CHECK(record != NULL);
	for (size_t i = 0; i < bytes; i++)
		record[i] = (char)((i * 2654435761u + seed * 97) >> 8);
	return span_of(record, bytes);
}

static void append(struct place *p, uint64_t seq, struct span record)
{
	CHECK_OK(store_append_journal(place_begin(p), seq, record, &err));
	place_commit(p);
}

static void trim(struct place *p, uint64_t before_seq)
{
	CHECK_OK(store_trim_journal(place_begin(p), before_seq, 1, &err));
	place_commit(p);
}

static enum status read_record(struct place *p, uint64_t seq, struct span *record, struct error *err)
{
	return store_read_journal(p->reader, p->arena, seq, record, err);
}

static void check_there(struct place *p, uint64_t seq)
{
	struct span record = {0};

	CHECK_OK(read_record(p, seq, &record, &err));
	CHECK_SPAN(record, make_record(p, RECORD_BYTES, seq));
}

/* Three slots of three records, and all others in the fourth, as the first one is not empty. */
static struct place place_with_full_ring(void)
{
	struct place p = place_with_journal(2 * RECORD_BYTES + 1);

	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		append(&p, seq, make_record(&p, RECORD_BYTES, seq));
		CHECK_OK(store_checkpoint(p.store, false, &err));
	}
	CHECK_INT(harness_number(p.reader, "SELECT count(DISTINCT slot) FROM journal WHERE seq <= 10"), 4);
	CHECK_INT(harness_number(p.reader, "SELECT count(DISTINCT slot) FROM journal WHERE seq >= 10"), 1);
	return p;
}

static int64_t count_trimmed(struct place *p)
{
	return harness_number(p->reader, "SELECT count(*) FROM journal WHERE seq < 10");
}

static void wait_until_empty(struct place *p)
{
	while (count_trimmed(p))
		CHECK_OK(store_checkpoint(p->store, false, &err));
}

/* As long as an emptying takes that nothing is in the way of, and longer. */
static void turn_in_vain(struct place *p)
{
	for (int64_t until_ms = clock_mono_ms() + LONG_ENOUGH_MS; clock_mono_ms() < until_ms;) {
		CHECK_OK(store_checkpoint(p->store, false, &err));
		place_begin(p);
		place_commit(p); /* the writer goes on meanwhile */
	}
}

TEST(a_record_is_in_parts_of_half_a_mebibyte)
{
	if (!cluster_is_there())
		return;
	static const size_t sizes[] = {0, 1, JOURNAL_PART_BYTES - 1, JOURNAL_PART_BYTES, JOURNAL_PART_BYTES + 1,
		3 * JOURNAL_PART_BYTES, 3 * JOURNAL_PART_BYTES + 7};
	static const int parts = 1 + 1 + 1 + 1 + 2 + 3 + 4;
	struct place p = place_with_journal(0);
	struct span record = {0};
	uint64_t seq = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		append(&p, (i + 1) * 2, make_record(&p, sizes[i], i));
	CHECK_INT(harness_number(p.reader, "SELECT count(*) FROM journal"), parts);
	CHECK_INT(harness_number(p.reader, "SELECT max(length(record)) FROM journal"), JOURNAL_PART_BYTES);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CHECK_OK(read_record(&p, (i + 1) * 2, &record, &err));
		CHECK(record.ptr != NULL);
		CHECK_SPAN(record, make_record(&p, sizes[i], i));
		seq = (i + 1) * 2 - 1;
		CHECK_OK(store_next_journal(p.reader, p.arena, &seq, &record, &err));
		CHECK_INT(seq, (i + 1) * 2);
		CHECK_SPAN(record, make_record(&p, sizes[i], i));
	}
	seq++;
	CHECK_OK(store_next_journal(p.reader, p.arena, &seq, &record, &err));
	CHECK(record.ptr == NULL);
	place_done(&p);
}

TEST(an_empty_ring_says_so)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_journal(0);
	uint64_t newest = 9, oldest = 9, bytes = 9, seq = 0;
	struct span record = SPAN("x");

	trim(&p, 7);
	CHECK_OK(store_journal_figures(p.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest + oldest + bytes, 0);
	CHECK_OK(store_next_journal(p.reader, p.arena, &seq, &record, &err));
	CHECK(!record.ptr);
	CHECK_FAILS(read_record(&p, 3, &record, &err), ERR_NOT_FOUND, "record 3");
	place_done(&p);
}

TEST(what_was_trimmed_is_gone_and_its_slots_are_used_again)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_full_ring();
	uint64_t newest, oldest, bytes, seq = 0;
	struct span record;

	trim(&p, TRIMMED_BEFORE);
	CHECK_OK(store_journal_figures(p.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest, RECORDS);
	CHECK_INT(oldest, TRIMMED_BEFORE);
	CHECK_INT(bytes, (RECORDS - TRIMMED_BEFORE + 1) * RECORD_BYTES);
	CHECK_OK(store_next_journal(p.reader, p.arena, &seq, &record, &err));
	CHECK_INT(seq, TRIMMED_BEFORE);
	wait_until_empty(&p);
	for (seq = TRIMMED_BEFORE; seq <= RECORDS; seq++)
		check_there(&p, seq);
	append(&p, RECORDS + 1, make_record(&p, RECORD_BYTES, RECORDS + 1));
	CHECK_INT(harness_number(p.reader, "SELECT slot FROM journal WHERE seq = 21"), 0);
	trim(&p, 3); /* of before: nothing comes back */
	trim(&p, UINT64_MAX);
	place_close(&p);
	place_open_postgres(&p);
	CHECK_OK(store_journal_figures(p.reader, &newest, &oldest, &bytes, &err));
	CHECK_INT(newest, RECORDS + 1);
	CHECK_INT(oldest, RECORDS + 1);
	CHECK_INT(bytes, RECORD_BYTES);
	/* Who opens it knows which slots hold something, and goes on in the newest. */
	append(&p, RECORDS + 2, make_record(&p, RECORD_BYTES, RECORDS + 2));
	CHECK_INT(harness_number(p.reader, "SELECT slot FROM journal WHERE seq = 22"), 0);
	while (harness_number(p.reader, "SELECT count(*) FROM journal WHERE seq <= 20"))
		CHECK_OK(store_checkpoint(p.store, false, &err));
	check_there(&p, RECORDS + 1);
	place_done(&p);
}

TEST(a_view_from_before_it_was_trimmed_finds_all)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_full_ring();
	struct place other = p;
	struct span record;

	place_open_postgres(&other); /* whose reader looks on */
	CHECK_OK(store_reader_begin(p.reader, &err));
	store_reader_deadline(p.reader, 60000);
	trim(&p, TRIMMED_BEFORE);
	turn_in_vain(&p);
	for (uint64_t seq = 1; seq <= RECORDS; seq++)
		check_there(&p, seq);
	store_reader_end(p.reader);
	struct store_reader *old = p.reader;
	p.reader = other.reader;
	wait_until_empty(&p);
	CHECK_FAILS(read_record(&p, 1, &record, &err), ERR_NOT_FOUND, "record 1");
	p.reader = old;
	place_close(&other);
	place_done(&p);
}

/* A role that works in tables of another one, as `sm-server migrate --runtime-role` makes it. */
static void open_as_writer(struct place *p, const char *rights)
{
	char conninfo[512], sql[256];

	place_administer("DO $$ BEGIN CREATE ROLE writer LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
	snprintf(sql, sizeof sql,
		"GRANT USAGE ON SCHEMA sm_test TO writer; GRANT %s ON ALL TABLES IN SCHEMA sm_test TO writer", rights);
	place_administer(sql);
	snprintf(conninfo, sizeof conninfo, "%s user=writer", cluster_conninfo("postgres"));
	struct postgres_options options = {
		.conninfo = conninfo, .schema = "sm_test", .journal_slot_bytes = p->journal_slot_bytes};
	CHECK_OK(postgres_open(&p->store, &options, NULL, NULL, &err));
	CHECK_OK(store_reader_new(&p->reader, p->store, &err));
}

TEST(a_view_of_another_role_finds_all)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_full_ring();
	struct place writer = p;

	open_as_writer(&writer, "SELECT, INSERT, UPDATE, DELETE, TRUNCATE");
	CHECK_OK(store_trim_journal(place_begin(&writer), 1, 1, &err)); /* it learns its ring */
	place_commit(&writer);
	CHECK_OK(store_reader_begin(p.reader, &err)); /* a dump, before it has locked its tables */
	store_reader_deadline(p.reader, 60000);
	trim(&writer, TRIMMED_BEFORE);
	turn_in_vain(&writer);
	for (uint64_t seq = 1; seq <= RECORDS; seq++)
		check_there(&p, seq);
	store_reader_end(p.reader);
	wait_until_empty(&writer);
	place_close(&writer);
	place_done(&p);
}

TEST(a_view_that_holds_a_slot_keeps_nobody_waiting)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_full_ring();
	const struct postgres_ring *ring = &postgres_store_of(p.store)->ring;

	trim(&p, TRIMMED_BEFORE);
	while (!ring->is_known || ring->trimmed_slot != 0)
		CHECK_OK(store_checkpoint(p.store, false, &err));
	CHECK_OK(store_reader_begin(p.reader, &err)); /* later than what was trimmed */
	store_reader_deadline(p.reader, 60000);
	check_there(&p, RECORDS);
	turn_in_vain(&p);
	CHECK(ring->holds[0]);
	store_reader_end(p.reader);
	wait_until_empty(&p);
	place_done(&p);
}

TEST(a_role_that_may_not_truncate_deletes)
{
	if (!cluster_is_there())
		return;
	struct place p = place_with_journal(2 * RECORD_BYTES + 1);
	uint64_t newest, oldest;

	place_close(&p);
	open_as_writer(&p, "SELECT, INSERT, UPDATE, DELETE");
	for (uint64_t seq = 1; seq <= RECORDS; seq++)
		append(&p, seq, make_record(&p, RECORD_BYTES, seq));
	CHECK_INT(harness_number(p.reader, "SELECT count(DISTINCT slot) FROM journal"), 1);
	CHECK_OK(store_trim_journal(place_begin(&p), TRIMMED_BEFORE, RECORDS, &err));
	place_commit(&p);
	CHECK_OK(store_checkpoint(p.store, false, &err));
	CHECK_OK(store_journal_range(p.reader, &newest, &oldest, &err));
	CHECK_INT(newest, RECORDS);
	CHECK_INT(oldest, TRIMMED_BEFORE);
	CHECK_INT(harness_number(p.reader, "SELECT count(*) FROM journal"), RECORDS - TRIMMED_BEFORE + 1);
	place_done(&p);
}
