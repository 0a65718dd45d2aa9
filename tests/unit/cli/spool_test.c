#include "base/clock.h"
#include "cli/spool/line_body.h"
#include "cli/spool/spool.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *text)
{
	char path[] = "/tmp/spool_test_XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static unsigned add(struct spool *spool, int fd, unsigned stream, bool is_ours)
{
	unsigned number = 0;
	CHECK_OK(spool_add_source(
		spool, &(struct spool_source){.fd = fd, .stream = stream, .is_ours = is_ours}, &number, &err));
	return number;
}

/* Takes about max bytes, compares, releases. */
static void check_take(struct spool *spool, size_t max, unsigned stream, const char *text)
{
	AUTO_DONE(spool_batch) batch;
	spool_batch_init(&batch);
	CHECK_OK(spool_take(spool, max, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text), span_from(text));
	CHECK_INT(batch.stream, stream);
	spool_release(spool, batch.text.len);
}

TEST(spool_gives_lines_in_order)
{
	const char text[] = "one\ntwo\nthree\nopen";
	AUTO(spool) spool = spool_new(1000);
	int fd = open_file(text);
	unsigned source = add(spool, fd, 0, true);
	CHECK_INT(spool_wait(spool, 10, 0, 0), SPOOL_IS_EMPTY);
	spool_put(spool, source, span_of(text, 8), 0, 5);
	spool_put(spool, source, span_of(text + 8, 6), 8, 6);
	spool_put_open_end(spool, source, span_of(text + 14, 4), 14, 7);
	spool_end(spool);
	CHECK_INT(spool_wait(spool, 10, 1000, 0), SPOOL_HAS_BATCH);
	check_take(spool, 6, 0, "one\n"); /* whole lines only */
	check_take(spool, 1, 0, "two\n"); /* a line longer than a batch goes alone */
	check_take(spool, 1000, 0, "three\nopen\n");
	CHECK_INT(spool_wait(spool, 10, 0, 0), SPOOL_HAS_ENDED);
	CHECK_INT(spool_totals(spool).waiting_bytes, 0);
	close(fd);
}

TEST(spool_takes_again_what_was_not_released)
{
	const char text[] = "one\ntwo\n";
	AUTO(spool) spool = spool_new(1000);
	AUTO_DONE(spool_batch) batch;
	int fd = open_file(text);
	unsigned source = add(spool, fd, 0, true);
	spool_batch_init(&batch);
	spool_put(spool, source, span_from(text), 0, 5);
	CHECK_OK(spool_take(spool, 100, &batch, &err));
	spool_release(spool, 4); /* the server took the first line alone */
	CHECK_OK(spool_take(spool, 100, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text), SPAN("two\n"));
	close(fd);
}

static void *wait_for_batch(void *context)
{
	return (void *)(intptr_t)spool_wait(context, 8, 60000, 60000);
}

/* Whoever waits sleeps over what does not fill a batch, and is woken when one is full. */
TEST(spool_wakes_who_waits_when_a_batch_is_full)
{
	const char text[] = "one\ntwo\nthree\n";
	AUTO(spool) spool = spool_new(1000);
	int fd = open_file(text);
	unsigned source = add(spool, fd, 0, true);
	pthread_t thread;
	void *state;

	int64_t start_ms = clock_mono_ms();
	CHECK_INT(pthread_create(&thread, NULL, wait_for_batch, spool), 0);
	spool_put(spool, source, span_of(text, 4), 0, 5);
	spool_put(spool, source, span_of(text + 4, 10), 4, 6);
	pthread_join(thread, &state);
	CHECK_INT((intptr_t)state, SPOOL_HAS_BATCH);
	CHECK(clock_mono_ms() - start_ms < 30000);
	check_take(spool, 1000, 0, text);
	close(fd);
}

TEST(spool_keeps_streams_apart)
{
	AUTO(spool) spool = spool_new(1000);
	int a = open_file("a\n"), b = open_file("b\n");
	unsigned first = add(spool, a, 0, false), second = add(spool, b, 1, false);
	spool_put(spool, first, SPAN("a\n"), 0, 0);
	spool_put(spool, second, SPAN("b\n"), 0, 0);
	check_take(spool, 100, 0, "a\n");
	check_take(spool, 100, 1, "b\n");
	close(a);
	close(b);
}

TEST(spool_full_keeps_the_oldest_and_tells_the_loss)
{
	AUTO(spool) spool = spool_new(16);
	int fd = open_file("");
	unsigned source = add(spool, fd, 0, true);
	spool_write(spool, source, SPAN("0123456\n"), false, 1);
	spool_write(spool, source, SPAN("abc\ndef\nghi\n"), false, 2); /* two of three fit */
	spool_write(spool, source, SPAN("lost\n"), false, 3);
	CHECK_INT(spool_totals(spool).lost_lines, 2);
	CHECK_INT(spool_totals(spool).lost_bytes, 9);
	check_take(spool, 4, 0, "0123456\n");
	spool_write(spool, source, SPAN("new\n"), false, 4);
	check_take(
		spool, 1000, 0, "abc\ndef\nsmfleet: 2 lines (9 bytes) were dropped because the spool was full\nnew\n");
	CHECK_INT(spool_wait(spool, 1, 0, 0), SPOOL_IS_EMPTY);
	close(fd);
}

/* By that a ledger goes on behind what is lost, and not at the file's start. */
TEST(spool_loss_stands_behind_what_is_lost)
{
	const char text[] = "one\ntwo\nthree\nfour\n";
	AUTO(spool) spool = spool_new(8);
	AUTO_DONE(spool_batch) batch;
	int fd = open_file(text);
	unsigned source = add(spool, fd, 0, true);
	spool_batch_init(&batch);
	spool_put(spool, source, span_of(text, 14), 0, 1);
	spool_put(spool, source, span_of(text + 14, 5), 14, 1);
	CHECK_OK(spool_take(spool, 1000, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text),
		SPAN("one\ntwo\nsmfleet: 2 lines (11 bytes) were dropped because the spool was full\n"));
	CHECK_INT(batch.piece_count, 2);
	CHECK_INT(batch.pieces[1].start, 19);
	CHECK_INT(batch.pieces[1].end, 19);
	spool_release(spool, batch.text.len);
	CHECK_INT(spool_totals(spool).waiting_bytes, 0);
	close(fd);
}

/* Parts that are less than a block each, whole blocks together: the disk is to have them again. */
TEST(spool_gives_back_the_blocks_of_small_parts_that_were_dropped)
{
	enum { LINE = 1000, LINES = 200, BLOCKS_BYTES = 4 * 4096 };
	AUTO(spool) spool = spool_new(LINE);
	AUTO_MEM char *text = mem_alloc(LINE);
	struct stat info;
	int fd = open_file("");
	unsigned source = add(spool, fd, 0, true);
	memset(text, 'x', LINE);
	text[LINE - 1] = '\n';
	for (int i = 0; i < LINES; i++) {
		CHECK(write(fd, text, LINE) == LINE);
		spool_put(spool, source, span_of(text, LINE), (uint64_t)i * LINE, 1);
	}
	CHECK_INT(spool_totals(spool).lost_lines, LINES - 1);
	CHECK(fsync(fd) == 0 && fstat(fd, &info) == 0);
	CHECK_INT(info.st_size, LINES * LINE);
	CHECK(info.st_blocks * 512 <= BLOCKS_BYTES);
	close(fd);
}

/* Whoever reads the file when we were killed would take half a line for one. */
TEST(spool_leaves_no_part_of_a_write_that_failed)
{
	AUTO(spool) spool = spool_new(1000);
	int fd = open_file("");
	unsigned source = add(spool, fd, 0, true);
	struct rlimit before, low;
	struct stat info;

	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	low = (struct rlimit){.rlim_cur = 10, .rlim_max = before.rlim_max};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	spool_write(spool, source, SPAN("one\n"), false, 1);
	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	spool_write(spool, source, SPAN("two\nthree\n"), false, 1);
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
	signal(SIGXFSZ, handler);
	CHECK(fstat(fd, &info) == 0);
	CHECK_INT(info.st_size, 4);
	spool_write(spool, source, SPAN("four\n"), false, 1);
	CHECK_INT(spool_totals(spool).lost_lines, 2);
	close(fd);
}

TEST(spool_says_all_that_lines_were_lost_to)
{
	AUTO_DONE(buf) text = BUF_INIT(1000);

	spool_put_loss_reason(&text, SPOOL_LOST_TO_BOUND | SPOOL_LOST_TO_MEMORY);
	CHECK_SPAN(buf_span(&text), SPAN("the spool was full and memory ran out"));
	buf_reset(&text);
	spool_put_loss_reason(&text, 0); /* what an older version left says none */
	CHECK_SPAN(buf_span(&text), SPAN("the spool was full"));
}

/* ---- without memory ---- */

static int no_memory(void *context)
{
	mem_fail_at(1); /* nor will the next */
	(void)context;
	return 0;
}

static void run_out(bool has_run_out)
{
	mem_wait(has_run_out ? no_memory : NULL, NULL);
	mem_fail_at(has_run_out);
}

enum { FEW = 40, MANY = 400 }; /* lines: fewer, and more, than an index that cannot grow has entries */

static void check_sent(struct spool *spool, const struct buf *all)
{
	AUTO_DONE(spool_batch) batch;
	AUTO_DONE(buf) got = BUF_INIT(1 << 20);

	spool_batch_init(&batch);
	while (spool_wait(spool, 1, 0, 0) == SPOOL_HAS_BATCH) {
		CHECK_OK(spool_take(spool, 1 << 16, &batch, &err));
		buf_append_span(&got, buf_span(&batch.text));
		spool_release(spool, batch.text.len);
	}
	CHECK_SPAN(buf_span(&got), buf_span(all));
}

/* Each read at a time of its own, so that each would have an entry. */
TEST(spool_without_memory_keeps_what_one_source_gives)
{
	AUTO_DONE(buf) all = BUF_INIT(1 << 20);
	AUTO(spool) spool = spool_new(1 << 20);
	int fd = open_file("");
	unsigned source = add(spool, fd, 0, true);
	char text[32];

	run_out(true);
	for (int i = 0; i < MANY; i++) {
		int len = snprintf(text, sizeof text, "line %d\n", i);
		spool_write(spool, source, span_of(text, (size_t)len), false, 1 + i);
	}
	run_out(false);
	for (int i = 0; i < MANY; i++)
		buf_printf(&all, "line %d\n", i);
	CHECK_INT(spool_totals(spool).lost_lines, 0);
	CHECK_INT(spool_totals(spool).waiting_bytes, all.len);
	check_sent(spool, &all);
	close(fd);
}

/* By turns: there is nothing before a line that it could go with. What the index cannot hold is counted and said. */
TEST(spool_without_memory_counts_and_says_what_it_loses)
{
	AUTO_DONE(spool_batch) batch;
	AUTO(spool) spool = spool_new(1 << 20);
	int fds[] = {open_file(""), open_file("")};
	unsigned sources[] = {add(spool, fds[0], 0, true), add(spool, fds[1], 0, true)};
	size_t sent = 0, said = 0;

	spool_batch_init(&batch);
	run_out(true);
	for (int i = 0; i < MANY; i++)
		spool_write(spool, sources[i % 2], SPAN("line\n"), false, 1 + i);
	run_out(false);
	struct spool_totals totals = spool_totals(spool);
	CHECK(totals.lost_lines > 0 && totals.lost_lines <= MANY - FEW);
	CHECK_INT(totals.lost_bytes, totals.lost_lines * 5);
	CHECK_INT(totals.lost_to, SPOOL_LOST_TO_MEMORY);
	spool_write(spool, sources[0], SPAN("after\n"), false, MANY + 1);
	spool_end(spool);
	while (spool_wait(spool, 1, 0, 0) == SPOOL_HAS_BATCH) {
		CHECK_OK(spool_take(spool, 1 << 16, &batch, &err));
		struct span rest = buf_span(&batch.text), line;
		while (span_next(&rest, '\n', &line)) {
			unsigned lost = 0;
			sent += span_equal(line, SPAN("line"));
			if (span_starts_with(line, SPAN("smfleet: ")) && sscanf(line.ptr, "smfleet: %u", &lost) == 1) {
				said += lost;
				CHECK(span_ends_with(line, SPAN(" dropped because memory ran out")));
			}
		}
		spool_release(spool, batch.text.len);
	}
	CHECK_INT(sent + totals.lost_lines, MANY);
	CHECK_INT(said, totals.lost_lines);
	close(fds[0]);
	close(fds[1]);
}

/* Its positions stay what they are, which a ledger relies on: what was sent is a hole. */
TEST(spool_file_stays_small_on_disk)
{
	AUTO(spool) spool = spool_new(1 << 20);
	AUTO_MEM char *lines = mem_alloc(64 << 10);
	AUTO_DONE(spool_batch) batch;
	int fd = open_file("");
	struct stat info;
	unsigned source = add(spool, fd, 0, true);
	spool_batch_init(&batch);
	memset(lines, 'x', 64 << 10);
	lines[(64 << 10) - 1] = '\n';
	for (int i = 0; i < 64; i++) {
		spool_write(spool, source, span_of(lines, 64 << 10), false, 1);
		CHECK_OK(spool_take(spool, 1 << 20, &batch, &err));
		CHECK_INT(batch.text.len, 64 << 10);
		spool_release(spool, batch.text.len);
	}
	CHECK(fstat(fd, &info) == 0);
	CHECK(info.st_size <= 4 << 20 && info.st_blocks * 512 <= 2 << 20);
	CHECK_INT(spool_totals(spool).lost_lines, 0);
	close(fd);
}

TEST(spool_ring_grows_around_its_end)
{
	AUTO(spool) spool = spool_new(1 << 20);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "line %04d\n", i);
	buf_append_char(&text, 0);
	int fd = open_file(text.ptr);
	unsigned source = add(spool, fd, 0, true);
	uint64_t put = 0, taken = 0;
	for (int round = 0; put < 10000; round++) {
		for (int i = 0; i < 7 && put < 10000; i++, put += 10) /* times differ: nothing merges */
			spool_put(spool, source, span_of(text.ptr + put, 10), put, (int64_t)put + 1);
		for (int i = 0; i < 3 && taken < put; i++, taken += 10) {
			char line[11];
			snprintf(line, sizeof line, "%.10s", text.ptr + taken);
			check_take(spool, 10, 0, line);
		}
	}
	for (; taken < put; taken += 10) {
		char line[11];
		snprintf(line, sizeof line, "%.10s", text.ptr + taken);
		check_take(spool, 10, 0, line);
	}
	CHECK_INT(spool_totals(spool).waiting_bytes, 0);
	close(fd);
}

TEST(spool_says_when_a_file_was_cut)
{
	AUTO(spool) spool = spool_new(100);
	AUTO_DONE(spool_batch) batch;
	int fd = open_file("one\ntwo\n");
	unsigned source = add(spool, fd, 0, false);
	spool_batch_init(&batch);
	spool_put(spool, source, SPAN("one\ntwo\n"), 0, 0);
	CHECK(ftruncate(fd, 2) == 0);
	CHECK_FAILS(spool_take(spool, 100, &batch, &err), ERR_IO, "the file was cut");
	spool_lose_head(spool);
	CHECK_OK(spool_take(spool, 100, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text),
		SPAN("smfleet: 8 bytes were lost because the file was cut before they were sent\n"));
	close(fd);
}

static void check_body(const char *text, size_t len, int64_t ts_ms, const char *type, const char *body)
{
	AUTO_DONE(spool_batch) batch;
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	const char *content_type = NULL;
	AUTO(spool) spool = spool_new(1 << 20);
	int fd = open_file("");
	CHECK(write(fd, text, len) == (ssize_t)len);
	unsigned source = add(spool, fd, 0, true);
	spool_batch_init(&batch);
	spool_put(spool, source, span_of(text, len), 0, ts_ms);
	CHECK_OK(spool_take(spool, 1 << 20, &batch, &err));
	CHECK_OK(line_body_put(&batch, &out, &content_type, &err));
	CHECK_TEXT(content_type, type);
	CHECK_SPAN(buf_span(&out), span_from(body));
	close(fd);
}

TEST(line_body_is_json_where_that_is_exact)
{
	check_body("a\n\n\"b\\\t\r\n", 9, 1700000000000, "application/x-ndjson",
		"{\"line\":\"a\",\"ts\":1700000000000}\n{\"line\":\"\",\"ts\":1700000000000}\n"
		"{\"line\":\"\\\"b\\\\\\t\\r\",\"ts\":1700000000000}\n");
	check_body("\xc3\xa4\n", 3, 0, "application/x-ndjson", "{\"line\":\"\xc3\xa4\"}\n");
	check_body("a\n\xff\n", 4, 5, "text/plain", "a\n\xff\n");
}
