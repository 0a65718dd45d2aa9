#include "cli/process/first_time.h"
#include "base/alloc.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

static const char stamped[] = "2023-11-14T22:13:20Z begin\n";
static const int64_t stamped_ms = 1700000000000, now_ms = 1800000000000;

/* `before` bytes of 'x' in lines of `line_bytes` (its newline included; 0: one line without an end), then the text. */
static int file_with(size_t before, size_t line_bytes, const char *text)
{
	char path[] = "/tmp/first_time_test_XXXXXX";
	int fd = mkstemp(path);
	size_t len = before + strlen(text);
	AUTO_MEM char *bytes = mem_alloc(len + 1);

	CHECK(fd >= 0 && bytes);
	unlink(path);
	memset(bytes, 'x', before);
	for (size_t i = line_bytes; line_bytes && i <= before; i += line_bytes)
		bytes[i - 1] = '\n';
	memcpy(bytes + before, text, strlen(text));
	CHECK(write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

static void check_found(size_t before, size_t line_bytes, const char *text, bool is_found)
{
	int fd = file_with(before, line_bytes, text);
	int64_t ts_ms = -7;

	CHECK_INT(first_time_find(fd, now_ms, &ts_ms), is_found);
	CHECK_INT(ts_ms, is_found ? stamped_ms : -7);
	CHECK_INT(lseek(fd, 0, SEEK_CUR), before + strlen(text)); /* where it stood */
	close(fd);
}

TEST(the_first_time_of_a_log)
{
	check_found(0, 0, "", false);
	check_found(0, 0, "\n\n", false);
	check_found(0, 0, stamped, true);
	check_found(0, 0, "2023-11-14T22:13:20Z the last line has no end", true);
	check_found(0, 0, "header\n2023-11-14T22:13:20Z one\n2024-01-01T00:00:00Z other\n", true);
	check_found(100, 10, stamped, true);
}

TEST(a_time_behind_a_long_header)
{
	check_found(CHUNK - 64, 64, stamped, true);
	check_found(CHUNK, 64, stamped, true); /* the first line of the second piece */
	check_found(CHUNK - 32, 32, stamped, true);
	check_found(3 * CHUNK, 1 << 10, stamped, true);
	check_found(CHUNK + 10, 3, "\n2023-11-14T22:13:20Z one\n", true);
	/* the line lies across the end of a piece */
	check_found(CHUNK - 10, CHUNK - 10, stamped, true);
}

TEST(within_a_line_no_time_is_looked_for)
{
	/* what follows the first piece of a long line is no start of one, wherever it is cut */
	check_found(CHUNK, 0, stamped, false);
	check_found(2 * CHUNK, 0, stamped, false);
	/* behind it a line is one again */
	check_found(CHUNK + 5, CHUNK + 5, stamped, true);
	check_found(3 * CHUNK, 3 * CHUNK, stamped, true);
}

TEST(a_time_is_looked_for_in_the_beginning_alone)
{
	check_found(FIRST_TIME_SEARCHED_BYTES - 64, 64, stamped, true);
	check_found(FIRST_TIME_SEARCHED_BYTES, 64, stamped, false);
	check_found(FIRST_TIME_SEARCHED_BYTES + CHUNK, 64, stamped, false);
}

TEST(a_file_that_cannot_be_read_has_no_time)
{
	int64_t ts_ms = -7;

	CHECK(!first_time_find(-1, now_ms, &ts_ms));
	CHECK_INT(ts_ms, -7);
}

static void check_last(size_t before, const char *text, bool is_found)
{
	int fd = file_with(before, 100, text);
	int64_t ts_ms = -7;

	CHECK_INT(last_time_find(fd, before + strlen(text), now_ms, &ts_ms), is_found);
	CHECK_INT(ts_ms, is_found ? stamped_ms : -7);
	close(fd);
}

TEST(the_last_time_is_that_of_the_last_whole_line_that_shows_one)
{
	check_last(0, "", false);
	check_last(200, "no time\n", false);
	check_last(
		0, "2023-11-14T22:13:19Z a\n2023-11-14T22:13:20Z b\nTraceback\n2023-11-14T22:13:21Z half a li", true);
	check_last(3 * CHUNK, "2023-11-14T22:13:19Z a\n2023-11-14T22:13:20Z b\n", true);
}
