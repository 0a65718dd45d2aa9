#include "cli/input/line_reader.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rig {
	struct spool *spool;
	struct line_reader reader;
	int fd;
};

/* A file that is followed, with this text so far. */
static void rig_init(struct rig *rig, const char *text, size_t len)
{
	char path[] = "/tmp/line_reader_test_XXXXXX";
	unsigned source;

	rig->fd = mkstemp(path);
	CHECK(rig->fd >= 0 && write(rig->fd, text, len) == (ssize_t)len);
	unlink(path);
	rig->spool = spool_new(64 << 20);
	struct spool_source spec = {.fd = rig->fd};
	CHECK_OK(spool_add_source(rig->spool, &spec, &source, &err));
	line_reader_init(&rig->reader, rig->fd, -1, source);
}

static void rig_done(struct rig *rig)
{
	line_reader_done(&rig->reader);
	spool_free(rig->spool);
	close(rig->fd);
}

static void check_lines(struct rig *rig, const char *want)
{
	AUTO_DONE(spool_batch) batch;

	spool_batch_init(&batch);
	CHECK_OK(spool_take(rig->spool, 1 << 20, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text), span_from(want));
	spool_release(rig->spool, batch.text.len);
}

TEST(whole_lines_are_read_and_the_rest_waits)
{
	struct rig rig;

	rig_init(&rig, "one\ntwo\nthr", 11);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 11);
	check_lines(&rig, "one\ntwo\n");
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 0);
	CHECK(pwrite(rig.fd, "ee", 2, 11) == 2);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 2);
	check_lines(&rig, "");
	CHECK(pwrite(rig.fd, "\n\n", 2, 13) == 2);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 2);
	check_lines(&rig, "three\n\n");
	line_reader_finish(&rig.reader, rig.spool);
	check_lines(&rig, "");
	rig_done(&rig);
}

TEST(the_last_line_gets_the_end_that_it_lacks)
{
	struct rig rig;

	rig_init(&rig, "one\ntwo", 7);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 7);
	line_reader_finish(&rig.reader, rig.spool);
	line_reader_finish(&rig.reader, rig.spool); /* once */
	check_lines(&rig, "one\ntwo\n");
	rig_done(&rig);
}

/* What was punched out of a spool's file by the one before us. */
TEST(a_hole_at_the_start_is_passed_over)
{
	struct rig rig;

	rig_init(&rig, "", 0);
	CHECK(pwrite(rig.fd, "\0\0one\nt\0o\n", 10, 1 << 20) == 10);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), 8);
	AUTO_DONE(spool_batch) batch;
	spool_batch_init(&batch);
	CHECK_OK(spool_take(rig.spool, 1 << 20, &batch, &err));
	CHECK_SPAN(buf_span(&batch.text), ((struct span){"one\nt\0o\n", 8})); /* a NUL in a line is the line's */
	CHECK_INT(batch.pieces[0].start, (1 << 20) + 2);
	rig_done(&rig);
}

/* A sm-ship that was killed had dropped them: whole blocks are holes, what is around them was printed. */
TEST(what_a_killed_one_dropped_is_told_and_no_line_has_a_byte_of_it)
{
	enum { BLOCK = 4096, LEN = 5 * BLOCK };
	AUTO_MEM char *text = mem_alloc(LEN);
	struct rig rig;
	char want[200];

	memset(text, 'x', LEN);
	memcpy(text, "kept\0\n", 6);
	memcpy(text + BLOCK - 4, "\ncut", 4);
	memcpy(text + 3 * BLOCK, "ut\nafter\n", 9);
	text[4 * BLOCK - 1] = '\n';
	rig_init(&rig, text, LEN);
	rig.reader.has_holes = true;
	rig.reader.read_at = BLOCK - 3;
	CHECK(fallocate(rig.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK, 2 * BLOCK) == 0);
	CHECK(fallocate(rig.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * BLOCK, BLOCK) == 0);
	CHECK(pwrite(rig.fd, "\n", 1, 3 * BLOCK + 100) == 1);
	while (line_reader_read(&rig.reader, rig.spool))
		continue;
	line_reader_finish(&rig.reader, rig.spool);
	AUTO_DONE(spool_batch) batch;
	spool_batch_init(&batch);
	CHECK_OK(spool_take(rig.spool, 1 << 20, &batch, &err));
	snprintf(want, sizeof want, "smfleet: %d bytes were lost because there was no room for them\nafter\n",
		3 + 2 * BLOCK + 3);
	CHECK(span_starts_with(buf_span(&batch.text), span_from(want)));
	snprintf(want, sizeof want, "\nsmfleet: %d bytes were lost because there was no room for them\n", BLOCK);
	CHECK(span_ends_with(buf_span(&batch.text), span_from(want)));
	CHECK(!memchr(batch.text.ptr, 0, batch.text.len));
	rig_done(&rig);
}

TEST(a_line_without_end_leaves_in_pieces)
{
	enum { LEN = SPOOL_MAX_LINE_BYTES + 5 };
	AUTO_MEM char *text = mem_alloc(LEN);
	AUTO_DONE(spool_batch) batch;
	struct rig rig;
	size_t got = 0;

	memset(text, 'x', LEN);
	text[LEN - 1] = '\n';
	rig_init(&rig, text, LEN);
	while (line_reader_read(&rig.reader, rig.spool))
		CHECK(rig.reader.pending.len < SPOOL_MAX_LINE_BYTES);
	spool_batch_init(&batch);
	CHECK_OK(spool_take(rig.spool, 4 << 20, &batch, &err));
	for (size_t i = 0; i < batch.piece_count; i++)
		got += batch.pieces[i].end - batch.pieces[i].start;
	CHECK_INT(got, LEN);
	/* the server reads two lines: one as long as a line may be, and its rest */
	CHECK_INT(batch.text.len, LEN + 1);
	CHECK_INT(span_find_char(buf_span(&batch.text), '\n'), SPOOL_MAX_LINE_BYTES);
	CHECK_SPAN(span_skip(buf_span(&batch.text), SPOOL_MAX_LINE_BYTES + 1), SPAN("xxxx\n"));
	rig_done(&rig);
}

TEST(a_file_is_known_by_how_it_starts)
{
	char text[LINE_READER_HEAD_BYTES + 1];
	struct rig rig, same, other;

	memset(text, 'a', sizeof text);
	rig_init(&rig, text, sizeof text);
	rig_init(&same, text, sizeof text - 1); /* as much as is compared */
	text[LINE_READER_HEAD_BYTES - 1] = 'b';
	rig_init(&other, text, sizeof text);
	CHECK_INT(line_reader_read(&rig.reader, rig.spool), sizeof text);
	CHECK(line_reader_knows(&rig.reader, rig.fd));
	CHECK(line_reader_knows(&rig.reader, same.fd));
	CHECK(!line_reader_knows(&rig.reader, other.fd));
	CHECK(ftruncate(same.fd, LINE_READER_HEAD_BYTES - 1) == 0);
	CHECK(!line_reader_knows(&rig.reader, same.fd)); /* too short to be it */
	CHECK(!line_reader_knows(&rig.reader, -1));
	rig_done(&rig);
	rig_done(&same);
	rig_done(&other);
}
