#include "cli/input/file_kind.h"
#include "cli/input/tf_events.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char events_name[] = "events.out.tfevents.1700000000.host";

TEST(files_are_known_by_their_first_bytes)
{
	static const struct {
		struct span start;
		const char *name;
		enum file_kind kind;
	} table[] = {
		{{"", 0}, "log", FILE_OF_LINES},
		{{"", 0}, events_name, FILE_OF_EVENTS}, /* nothing is in it yet */
		{{"step 1\n", 7}, "log", FILE_OF_LINES},
		{{"step 1\n", 7}, events_name, FILE_OF_LINES}, /* what is in it counts */
		{{"\xff\xfe\x80", 3}, "log", FILE_OF_LINES}, /* no UTF-8, but text */
		{{"\x1f\x8b", 2}, "log", FILE_PACKED},
		{{"\x1f", 1}, "log", FILE_OF_LINES},
		{{"\x28\xb5\x2f\xfd", 4}, "log", FILE_PACKED},
		{{"\x28\xb5\x2f", 3}, "log", FILE_OF_LINES},
		{{"\xfd\x37zXZ", 5}, "log", FILE_PACKED},
		{{"BZh", 3}, "log", FILE_PACKED},
		{{"BZ and h", 8}, "log", FILE_OF_LINES},
		{{"PK\x03\x04", 4}, "log", FILE_PACKED},
		{{"\0\0\0step 1\n", 10}, "log", FILE_OF_LINES}, /* a hole in front of it */
		{{"\0\0\0", 3}, "log", FILE_OF_LINES},
		{{"\0a\0", 3}, "log", FILE_TOO_SHORT},
		{{"{\n", 2}, "h_1.17.pt.trace.json", FILE_OF_TRACE},
		{{"\x1f\x8b", 2}, "h_1.17.pt.trace.json.gz", FILE_OF_TRACE},
		{{"", 0}, "h_1.17.pt.trace.json", FILE_OF_TRACE}, /* nothing is in it yet */
		{{"{\n", 2}, "trace.json", FILE_OF_LINES},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		CHECK_INT(file_kind_of(table[i].start, table[i].name), table[i].kind);
}

TEST(a_byte_that_no_text_has_is_judged_when_there_is_enough)
{
	char start[TF_EVENTS_SNIFF_BYTES];

	memset(start, 'a', sizeof start);
	start[1] = 0;
	CHECK_INT(file_kind_of(span_of(start, sizeof start - 1), "log"), FILE_TOO_SHORT);
	CHECK_INT(file_kind_of(span_of(start, sizeof start), "log"), FILE_BINARY);
}

/* A record of TFRecord whose data, without an event's version, could be a training's as well. */
TEST(records_are_events_where_the_name_says_so)
{
	char bytes[14] = {2};
	uint32_t crc = tf_crc32c(span_of(bytes, 8));

	crc = (crc >> 15 | crc << 17) + 0xa282ead8U;
	for (int i = 0; i < 4; i++)
		bytes[8 + i] = (char)(crc >> 8 * i);
	memcpy(bytes + 12, "\x10\x01", 2); /* step 1 */
	CHECK_INT(file_kind_of(span_of(bytes, sizeof bytes), events_name), FILE_OF_EVENTS);
	CHECK_INT(file_kind_of(span_of(bytes, sizeof bytes), "train.tfrecord"), FILE_BINARY);
	bytes[0] = 3; /* its checksum is another number's */
	CHECK_INT(file_kind_of(span_of(bytes, sizeof bytes), events_name), FILE_TOO_SHORT);
}

TEST(a_file_is_judged_by_its_own_name_and_refused_in_words)
{
	char path[] = "/tmp/x.tfevents.y_XXXXXX", folder[] = "/tmp/a.tfevents.b_XXXXXX", inside[64];
	int fd = mkstemp(path);

	CHECK(fd >= 0 && mkdtemp(folder));
	CHECK_INT(file_kind_read(path), FILE_OF_EVENTS);
	CHECK(write(fd, "BZh91AY", 7) == 7);
	CHECK_INT(file_kind_read(path), FILE_PACKED);
	close(fd);
	unlink(path);
	CHECK_INT(file_kind_read(path), FILE_OF_LINES); /* who opens it says that it is not there */
	snprintf(inside, sizeof inside, "%s/log", folder);
	FILE *file = fopen(inside, "we");
	CHECK(file);
	fclose(file);
	CHECK_INT(file_kind_read(inside), FILE_OF_LINES); /* the folder's name is not the file's */
	unlink(inside);
	rmdir(folder);
	CHECK(!file_kind_refusal(FILE_OF_LINES) && !file_kind_refusal(FILE_OF_EVENTS) &&
		!file_kind_refusal(FILE_OF_TABLE));
	CHECK_TEXT(file_kind_refusal(FILE_PACKED), "compressed: unpack it, or let the pattern pass it over");
	CHECK(strstr(file_kind_refusal(FILE_BINARY), "binary and no event file"));
	CHECK_TEXT(file_kind_refusal(FILE_TOO_SHORT), file_kind_refusal(FILE_BINARY));
}
