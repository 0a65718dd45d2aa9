/* What limits delete: the oldest text first, in slices, with a note of what was there. */
#include "harness.h"
#include "store/admin.h"
#include "store/blocks.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/retention.h"

static const int64_t day_ms = 86400000;

static int64_t ended_job(struct harness *h, const char *name, int64_t ended_ms)
{
	struct job_row row = {.name = span_from(name),
		.team = SPAN(""),
		.document = SPAN("{}"),
		.secondary = SPAN(""),
		.failure_reason = SPAN("")};

	row.status = SPAN("Completed");
	row.ended_ms = ended_ms;
	CHECK_OK(store_put_job(h->tx, &row, &err));
	return row.job_id;
}

static void put_block(struct harness *h, int64_t job, uint32_t stream, uint64_t first_line, int64_t last_ms)
{
	struct block_row row = {.job_id = job,
		.stream_id = stream,
		.first_line = first_line,
		.line_count = 10,
		.first_ms = last_ms - 5,
		.last_ms = last_ms,
		.raw_bytes = 100,
		.data = SPAN("0123456789")};

	CHECK_OK(store_put_block(h->tx, &row, &err));
}

static size_t expendable(struct harness *h, int64_t after_ms, int64_t after_id, struct expendable **rows)
{
	size_t count;

	CHECK_OK(store_read_expendable(h->reader, h->arena, after_ms, after_id, 50 * day_ms, 10, rows, &count, &err));
	return count;
}

TEST(the_oldest_end_comes_first_without_pinned_running_and_empty_jobs)
{
	struct harness h = harness_new();
	struct expendable *rows;

	harness_begin(&h);
	int64_t late = ended_job(&h, "late", 30 * day_ms), early = ended_job(&h, "early", 10 * day_ms);
	int64_t pinned = ended_job(&h, "pinned", day_ms), running = ended_job(&h, "running", 0);
	int64_t silent = ended_job(&h, "silent", 0);
	ended_job(&h, "empty", day_ms);
	const int64_t with_text[] = {late, early, pinned, running, silent};
	for (size_t i = 0; i < 5; i++)
		put_block(&h, with_text[i], 1, 0, 7);
	CHECK_OK(store_put_summaries(h.tx, running, &(struct job_counts){.last_line_ms = 60 * day_ms}, NULL, 0, &err));
	CHECK_OK(store_put_summaries(h.tx, silent, &(struct job_counts){.last_line_ms = 20 * day_ms}, NULL, 0, &err));
	CHECK_OK(store_put_job_retention(h.tx, pinned, &(struct retention){.is_pinned = true}, &err));
	CHECK_OK(store_put_job_retention(h.tx, early, &(struct retention){.max_age_ms = 5, .max_bytes = 6}, &err));
	harness_commit(&h);
	CHECK_INT(expendable(&h, 0, 0, &rows), 3);
	CHECK_SPAN(rows[0].name, SPAN("early"));
	CHECK_SPAN(rows[1].name, SPAN("silent"));
	CHECK_SPAN(rows[2].name, SPAN("late"));
	CHECK_OK(store_weigh_text(h.reader, &rows[0], &err));
	CHECK_INT(rows[0].stored_bytes, 10);
	CHECK_INT(rows[0].text_bytes, 100);
	CHECK_INT(rows[0].retention.max_age_ms, 5);
	CHECK_INT(rows[0].retention.max_bytes, 6);
	CHECK_INT(expendable(&h, rows[0].ended_ms, rows[0].job_id, &rows), 2);
	harness_begin(&h);
	CHECK_OK(store_put_job_retention(h.tx, pinned, &(struct retention){0}, &err));
	harness_commit(&h);
	CHECK_INT(expendable(&h, 0, 0, &rows), 4);
	CHECK_SPAN(rows[0].name, SPAN("pinned"));
	harness_done(&h);
}

static size_t delete_text(struct harness *h, int64_t job, uint64_t keep_bytes, size_t max_blocks)
{
	struct text_deletion deletion = {.job_id = job, .now_ms = 77, .reason = SPAN("budget")};
	struct doomed_block *blocks;
	size_t deleted, again;

	CHECK_OK(store_read_doomed(h->reader, h->arena, job, keep_bytes, max_blocks, &blocks, &deletion.count, &err));
	deletion.blocks = blocks;
	harness_begin(h);
	CHECK_OK(store_delete_text(h->tx, &deletion, &deleted, &err));
	CHECK_INT(deleted, deletion.count);
	CHECK_OK(store_delete_text(h->tx, &deletion, &again, &err)); /* as if the job went in between */
	CHECK_INT(again, 0);
	harness_commit(h);
	return deleted;
}

TEST(text_goes_oldest_first_in_slices_and_leaves_a_note)
{
	struct harness h = harness_new();
	struct expired_text *notes;
	struct block_row block;
	size_t count;

	harness_begin(&h);
	int64_t job = ended_job(&h, "a", 1), other = ended_job(&h, "b", 1);
	put_block(&h, job, 1, 0, 1000);
	put_block(&h, job, 1, 10, 500); /* times may go back: the front of a stream still goes first */
	put_block(&h, job, 1, 20, 3000);
	put_block(&h, job, 2, 0, 2000);
	put_block(&h, other, 1, 0, 1);
	harness_commit(&h);
	CHECK_INT(delete_text(&h, job, 0, 1), 1);
	CHECK_OK(store_read_expired(h.reader, h.arena, job, 0, &notes, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(notes[0].first_kept_line, 10);
	CHECK_INT(delete_text(&h, job, 200, 10), 1); /* the newest 200 bytes stay */
	CHECK_INT(delete_text(&h, job, 200, 10), 0);
	CHECK_OK(store_read_expired(h.reader, h.arena, job, 1, &notes, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(notes[0].first_kept_line, 20);
	CHECK_INT(notes[0].bytes, 200);
	CHECK_INT(notes[0].first_ms, 495);
	CHECK_INT(notes[0].last_ms, 1000);
	CHECK_INT(notes[0].deleted_ms, 77);
	CHECK_SPAN(notes[0].reason, SPAN("budget"));
	CHECK_INT(delete_text(&h, job, 0, 10), 2);
	CHECK_OK(store_read_expired(h.reader, h.arena, job, 0, &notes, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(notes[0].first_kept_line, 30);
	CHECK_INT(delete_text(&h, other, 1, 10), 0); /* a limit of size leaves the newest block, however small it is */
	CHECK_OK(store_read_last_block(h.reader, h.arena, other, 1, &block, &err));
	CHECK_INT(block.line_count, 10);
	harness_done(&h);
}

TEST(limits_of_teams)
{
	struct harness h = harness_new();
	struct team_retention *rows;
	size_t count;

	harness_begin(&h);
	CHECK_OK(store_put_team_retention(h.tx, SPAN("nlp"), &(struct retention){.max_age_ms = 1}, &err));
	CHECK_OK(store_put_team_retention(h.tx, SPAN(""), &(struct retention){.max_bytes = 2}, &err));
	CHECK_OK(store_put_team_retention(h.tx, SPAN("nlp"), &(struct retention){.max_age_ms = 3}, &err));
	harness_commit(&h);
	CHECK_OK(store_read_team_retentions(h.reader, h.arena, &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(rows[0].team, SPAN(""));
	CHECK_INT(rows[0].retention.max_bytes, 2);
	CHECK_INT(rows[1].retention.max_age_ms, 3);
	harness_done(&h);
}

TEST(free_pages_go_back_in_slices)
{
	struct harness h = harness_new();
	struct store_figures before, after;
	uint64_t left = 0, disk = 0, size = 0;

	harness_begin(&h);
	int64_t job = ended_job(&h, "a", 1);
	AUTO_DONE(buf) big = BUF_INIT(1 << 20);
	while (big.len < 200000)
		buf_append_char(&big, 'x');
	for (uint64_t i = 0; i < 10; i++)
		CHECK_OK(store_put_block(h.tx,
			&(struct block_row){.job_id = job,
				.stream_id = 1,
				.first_line = i,
				.line_count = 1,
				.raw_bytes = 200000,
				.data = buf_span(&big)},
			&err));
	harness_commit(&h);
	delete_text(&h, job, 0, 100);
	CHECK_OK(store_figures(h.reader, &before, &err));
	CHECK(before.freelist_count > 100);
	harness_begin(&h);
	CHECK_OK(store_vacuum(h.tx, 50, &left, &err));
	harness_commit(&h);
	CHECK_OK(store_figures(h.reader, &after, &err));
	CHECK_INT(after.freelist_count, before.freelist_count - 50);
	CHECK_INT(left, after.freelist_count);
	CHECK_INT(after.page_count, before.page_count - 50);
	CHECK_OK(store_disk_room(h.store, &disk, &size, &err));
	CHECK(disk > 0 && size >= disk);
	harness_done(&h);
}
