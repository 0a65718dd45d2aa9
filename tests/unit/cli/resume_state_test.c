#include "cli/spool/resume_state.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the page ---- */

static void fill_page(struct ledger_page *page)
{
	*page = (struct ledger_page){.has_ended = true, .job = "j", .base = 70, .file_count = 2, .piece_count = 4};
	page->files[0] = (struct ledger_file){1, 2, 3, 0, "abcdefg"};
	page->files[1] = (struct ledger_file){UINT64_MAX, UINT64_MAX, UINT64_MAX, 256, "ABCDEFG"};
	page->pieces[0] = (struct ledger_piece){0, {.start = 5, .end = 9, .ts_ms = -1, .has_open_end = true}};
	page->pieces[1] = (struct ledger_piece){1, {.start = INT64_MAX, .end = 2 * (uint64_t)INT64_MAX}};
	page->pieces[2] = (struct ledger_piece){1, {.lost_lines = 2, .lost_bytes = 30, .lost_to = SPOOL_LOST_TO_CUT}};
	page->pieces[3] = (struct ledger_piece){
		0, {.lost_lines = 1, .lost_bytes = 3, .lost_to = SPOOL_LOST_TO_DISK | SPOOL_LOST_TO_MEMORY}};
}

TEST(a_ledgers_page_comes_back_as_it_was)
{
	AUTO_DONE(buf) bytes = BUF_INIT(64 << 10);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page), *again = mem_alloc(sizeof *again);

	fill_page(page);
	snprintf(page->source, sizeof page->source, "%s", "s-1");
	ledger_page_pack(page, &bytes);
	CHECK_OK(ledger_page_unpack(again, buf_span(&bytes), &err));
	CHECK(again->has_ended);
	CHECK_TEXT(again->job, "j");
	CHECK_TEXT(again->source, "s-1");
	CHECK_INT(again->base, 70);
	CHECK_INT(again->file_count, 2);
	CHECK(memcmp(again->files, page->files, 2 * sizeof *page->files) == 0);
	CHECK_INT(again->piece_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct spool_piece *got = &again->pieces[i].piece, *want = &page->pieces[i].piece;
		CHECK_INT(again->pieces[i].file, page->pieces[i].file);
		CHECK_INT(got->start, want->start);
		CHECK_INT(got->end, want->end);
		CHECK_INT(got->lost_lines, want->lost_lines);
		CHECK_INT(got->lost_bytes, want->lost_bytes);
		CHECK_INT(got->ts_ms, want->ts_ms);
		CHECK_INT(got->lost_to, want->lost_to);
		CHECK_INT(got->has_open_end, want->has_open_end);
		CHECK_INT(got->fd, -1);
	}
}

TEST(a_ledgers_page_that_is_cut_is_damaged_wherever_that_is)
{
	AUTO_DONE(buf) bytes = BUF_INIT(64 << 10);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);

	fill_page(page);
	ledger_page_pack(page, &bytes);
	for (size_t len = 0; len < bytes.len; len++)
		CHECK_FAILS(ledger_page_unpack(page, span_of(bytes.ptr, len), &err), ERR_INVALID, "the ledger");
	buf_append_char(&bytes, 0);
	CHECK_FAILS(ledger_page_unpack(page, buf_span(&bytes), &err), ERR_INVALID, "the ledger");
}

static void check_damaged(const struct ledger_page *page, bool is_damaged)
{
	AUTO_DONE(buf) bytes = BUF_INIT(64 << 10);
	AUTO_MEM struct ledger_page *again = mem_alloc(sizeof *again);

	ledger_page_pack(page, &bytes);
	CHECK_INT(bytes.failure, OK);
	CHECK_INT(ledger_page_unpack(again, buf_span(&bytes), NULL), is_damaged ? ERR_INVALID : OK);
}

/* Each number at what it may be and one past. */
TEST(a_ledgers_page_that_says_too_much_is_damaged)
{
	AUTO_MEM struct ledger_page *page = mem_zeroed(sizeof *page);

	memset(page->job, 'j', 255);
	memset(page->source, 's', LEDGER_SOURCE_BYTES - 1);
	page->file_count = LEDGER_MAX_FILES;
	page->piece_count = SPOOL_MAX_PIECES;
	page->pieces[255].file = LEDGER_MAX_FILES - 1;
	page->files[31].head_len = 256;
	check_damaged(page, false);
	page->pieces[255].file = LEDGER_MAX_FILES;
	check_damaged(page, true);
	page->pieces[255].file = 0;
	page->files[31].head_len = 257;
	check_damaged(page, true);
	page->files[31].head_len = 0;
	page->pieces[0].piece = (struct spool_piece){.start = (uint64_t)INT64_MAX + 1, .end = (uint64_t)INT64_MAX + 1};
	check_damaged(page, true);
	page->pieces[0].piece = (struct spool_piece){.end = (uint64_t)INT64_MAX + 1};
	check_damaged(page, true);
	page->pieces[0].piece.end = INT64_MAX;
	check_damaged(page, false);
}

/* ---- on disk ---- */

struct place {
	char folder[64];
	int files[40];
	size_t count;
};

/* File i holds the line "NN\n". */
static struct place make_place(size_t count)
{
	struct place place = {.folder = "/tmp/resume_test_XXXXXX", .count = count};

	CHECK(mkdtemp(place.folder));
	for (size_t i = 0; i < count; i++) {
		char path[] = "/tmp/resume_test_XXXXXX", line[8];
		snprintf(line, sizeof line, "%02zu\n", i % 100);
		place.files[i] = mkstemp(path);
		CHECK(place.files[i] >= 0 && write(place.files[i], line, 3) == 3);
		unlink(path);
	}
	return place;
}

static void place_done(struct place *place)
{
	char path[400];
	DIR *folder = opendir(place->folder);

	CHECK(folder);
	for (const struct dirent *entry; (entry = readdir(folder));) {
		snprintf(path, sizeof path, "%s/%s", place->folder, entry->d_name);
		unlink(path);
	}
	closedir(folder);
	CHECK(rmdir(place->folder) == 0);
	for (size_t i = 0; i < place->count; i++)
		close(place->files[i]);
}

static void open_ledger(
	struct ledger **ledger, const struct place *place, const char *server, struct ledger_page *page, bool *has_page)
{
	CHECK_OK(ledger_new(ledger, place->folder, server, "j", 1, &err));
	CHECK_OK(ledger_open_stream(*ledger, 0, "s", page, has_page, &err));
}

/* The line of that file, sent as the batch that begins at byte `base` of the stream. */
static void note_line(struct ledger *ledger, int fd, uint64_t base)
{
	AUTO_DONE(spool_batch) batch;
	bool is_full = false;

	spool_batch_init(&batch);
	CHECK_OK(spool_batch_add(&batch, &(struct spool_piece){.fd = fd, .end = 3}, 100, &is_full, &err));
	CHECK_OK(ledger_note(ledger, 0, &(struct ledger_note){"j", "s-1", base, &batch}, &err));
}

TEST(a_ledger_gives_back_the_last_batch_that_was_noted)
{
	struct place place = make_place(2);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	bool has_page;

	for (int i = 0; i < 3; i++) {
		AUTO(ledger) ledger = NULL;
		uint64_t base = 99;
		open_ledger(&ledger, &place, "http://a", page, &has_page);
		CHECK_INT(has_page, i > 0);
		CHECK(!ledger_base(ledger, 0, &base) && base == 99 && !ledger_job(ledger) && !ledger_source(ledger, 0));
		if (i > 0) {
			CHECK_INT(page->base, 3 * i);
			CHECK_INT(page->piece_count, 1);
			CHECK(ledger_file_is(&page->files[page->pieces[0].file], place.files[1]));
			CHECK(!ledger_file_is(&page->files[page->pieces[0].file], place.files[0]));
			ledger_adopt(ledger, 0, page);
			CHECK(ledger_base(ledger, 0, &base));
			CHECK_INT(base, 3 * i);
			CHECK_TEXT(ledger_job(ledger), "j");
			CHECK_TEXT(ledger_source(ledger, 0), "s-1");
			CHECK(ledger_knows(ledger, 0, place.files[0]) && ledger_knows(ledger, 0, place.files[1]));
		}
		note_line(ledger, place.files[0], (uint64_t)i);
		note_line(ledger, place.files[1], 3 * (uint64_t)i + 3);
	}
	place_done(&place);
}

/* The newest page was being written when the machine stopped: the one before it counts. */
TEST(a_page_that_was_cut_off_leaves_the_one_before)
{
	enum { SLOT = 64 << 10 };
	struct place place = make_place(2);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	char path[400] = "";
	bool has_page;

	{
		AUTO(ledger) ledger = NULL;
		open_ledger(&ledger, &place, "http://a", page, &has_page);
		note_line(ledger, place.files[0], 10);
		note_line(ledger, place.files[1], 20);
	}
	DIR *folder = opendir(place.folder);
	CHECK(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			snprintf(path, sizeof path, "%s/%s", place.folder, entry->d_name);
	closedir(folder);
	int fd = open(path, O_RDWR | O_CLOEXEC); /* pages 1 and 2: the first lies in the second slot */
	CHECK(fd >= 0);
	for (int i = 0; i < 3; i++) {
		AUTO(ledger) ledger = NULL;
		open_ledger(&ledger, &place, "http://a", page, &has_page);
		CHECK_INT(has_page, i < 2);
		if (has_page)
			CHECK_INT(page->base, i == 0 ? 20 : 10);
		CHECK(pwrite(fd, "\xff\xff", 2, i * SLOT + 12) == 2);
	}
	close(fd);
	place_done(&place);
}

TEST(a_stream_is_sent_by_one_process)
{
	struct place place = make_place(0);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO(ledger) ledger = NULL;
	AUTO(ledger) other = NULL;
	bool has_page;

	open_ledger(&ledger, &place, "http://a", page, &has_page);
	CHECK_OK(ledger_new(&other, place.folder, "http://a", "j", 2, &err));
	CHECK_FAILS(ledger_open_stream(other, 0, "s", page, &has_page, &err), ERR_CONFLICT,
		"another sm-ship is sending stream 's' of job 'j'");
	CHECK_OK(ledger_open_stream(other, 1, "t", page, &has_page, &err));
	place_done(&place);
}

/* Another address, of the same server or of another: what the page says is asked for, between its two ends. */
TEST(a_page_of_another_address_is_where_to_ask)
{
	struct place place = make_place(2);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	bool has_page, stands;

	{
		AUTO(ledger) ledger = NULL;
		open_ledger(&ledger, &place, "http://a", page, &has_page);
		note_line(ledger, place.files[0], 10);
	}
	AUTO(ledger) ledger = NULL;
	open_ledger(&ledger, &place, "http://b", page, &has_page);
	CHECK(has_page && page->is_elsewhere);
	CHECK(!ledger_asks(ledger, 0, "j", 10, &stands));
	ledger_ask(ledger, 0, page);
	CHECK_TEXT(ledger_source(ledger, 0), "s-1");
	for (uint64_t bytes = 0; bytes < 20; bytes++) {
		CHECK(ledger_asks(ledger, 0, "j", bytes, &stands));
		/* the page's piece begins at byte 0 of its file and not at the batch's 10: the file is not the stream's start */
		CHECK(!stands);
	}
	place_done(&place);
}

/* source: what it counts is ours from its first byte on; "": what is before the page may be another job's. */
static void check_what_stands(const char *source)
{
	struct place place = make_place(1);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO_DONE(spool_batch) batch;
	bool has_page, stands, is_full = false;

	CHECK(pwrite(place.files[0], "one\ntwo\n", 8, 0) == 8);
	{
		AUTO(ledger) ledger = NULL;
		open_ledger(&ledger, &place, "http://a", page, &has_page);
		spool_batch_init(&batch);
		struct spool_piece piece = {.fd = place.files[0], .start = 4, .end = 8};
		CHECK_OK(spool_batch_add(&batch, &piece, 100, &is_full, &err));
		CHECK_OK(ledger_note(ledger, 0, &(struct ledger_note){"j", source, 4, &batch}, &err));
	}
	AUTO(ledger) ledger = NULL;
	open_ledger(&ledger, &place, "http://b", page, &has_page);
	ledger_ask(ledger, 0, page);
	for (uint64_t bytes = 0; bytes < 12; bytes++) {
		CHECK(ledger_asks(ledger, 0, "j", bytes, &stands));
		CHECK_INT(stands, (*source || bytes >= 4) && bytes <= 8);
		CHECK(ledger_asks(ledger, 0, "other", bytes, &stands));
		CHECK(!stands);
	}
	place_done(&place);
}

TEST(a_page_of_one_file_from_its_start_says_what_stands)
{
	check_what_stands("");
	check_what_stands("s-1");
}

TEST(a_file_is_the_ledgers_by_its_place_and_its_start)
{
	struct place place = make_place(2);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO(ledger) ledger = NULL;
	bool has_page;
	int fd = place.files[0];

	open_ledger(&ledger, &place, "http://a", page, &has_page);
	CHECK(!ledger_knows(ledger, 0, fd));
	note_line(ledger, fd, 0);
	CHECK(ledger_knows(ledger, 0, fd));
	CHECK(pwrite(fd, "more\n", 5, 3) == 5); /* it grows */
	CHECK(ledger_knows(ledger, 0, fd));
	CHECK(ftruncate(fd, 3) == 0); /* as long as what was sent */
	CHECK(ledger_knows(ledger, 0, fd));
	CHECK(ftruncate(fd, 2) == 0);
	CHECK(!ledger_knows(ledger, 0, fd));
	CHECK(pwrite(fd, "\0\0\0", 3, 0) == 3); /* what is sent is punched out of our own files */
	CHECK(ledger_knows(ledger, 0, fd));
	CHECK(pwrite(fd, "\0x\0", 3, 0) == 3); /* another file with its number */
	CHECK(!ledger_knows(ledger, 0, fd));
	CHECK(!ledger_knows(ledger, 0, place.files[1]));
	place_done(&place);
}

/* All of them are there at once when sm-ship comes back: their lines are one batch. */
TEST(a_batch_of_many_files_names_each_of_them)
{
	struct place place = make_place(SPOOL_MAX_FILES + 2);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO(spool) spool = spool_new(1000);
	AUTO(ledger) ledger = NULL;
	AUTO_DONE(spool_batch) batch;
	size_t sent = 0;
	bool has_page;

	spool_batch_init(&batch);
	open_ledger(&ledger, &place, "http://a", page, &has_page);
	for (size_t i = 0; i < place.count; i++) {
		unsigned source;
		struct spool_source spec = {.fd = place.files[i]};
		char line[8];
		CHECK(pread(place.files[i], line, 3, 0) == 3);
		CHECK_OK(spool_add_source(spool, &spec, &source, &err));
		spool_put(spool, source, span_of(line, 3), 0, 0);
	}
	while (sent < place.count) {
		AUTO(ledger) again = NULL;
		CHECK_OK(spool_take(spool, 1000, &batch, &err));
		CHECK_INT(batch.piece_count, sent ? 2 : SPOOL_MAX_FILES);
		CHECK_OK(ledger_note(ledger, 0, &(struct ledger_note){"j", "s-1", 3 * sent, &batch}, &err));
		ledger_free(TAKE(ledger)); /* killed */
		open_ledger(&again, &place, "http://a", page, &has_page);
		CHECK_INT(page->piece_count, batch.piece_count);
		for (size_t i = 0; i < page->piece_count; i++)
			CHECK(ledger_file_is(&page->files[page->pieces[i].file], place.files[sent + i]));
		spool_release(spool, batch.text.len);
		sent += batch.piece_count;
		ledger_adopt(again, 0, page);
		ledger = TAKE(again);
	}
	CHECK_INT(sent, place.count);
	place_done(&place);
}

TEST(a_ledger_remembers_so_many_files_and_forgets_the_oldest)
{
	struct place place = make_place(LEDGER_MAX_FILES + 1);
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO(ledger) ledger = NULL;
	bool has_page;

	open_ledger(&ledger, &place, "http://a", page, &has_page);
	for (size_t i = 0; i < LEDGER_MAX_FILES; i++)
		ledger_see(ledger, 0, place.files[i]);
	ledger_see(ledger, 0, place.files[0]); /* again */
	for (size_t i = 0; i < LEDGER_MAX_FILES; i++)
		CHECK(ledger_knows(ledger, 0, place.files[i]));
	ledger_see(ledger, 0, place.files[LEDGER_MAX_FILES]);
	CHECK(!ledger_knows(ledger, 0, place.files[0]));
	CHECK(ledger_knows(ledger, 0, place.files[1]));
	CHECK(ledger_knows(ledger, 0, place.files[LEDGER_MAX_FILES]));
	place_done(&place);
}
