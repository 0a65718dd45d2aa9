/* Lines that a container runtime has cut: they are read as one. */
#include "extract/line/partial.h"
#include "helper.h"

#define TIME "2024-06-25T12:34:56.123456789Z "

static struct stream auto_stream(void)
{
	return stream_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) .*?loss (?<value>\\\\S+)\"},"
			 "{\"Name\":\"acc\",\"Regex\":\"^acc (?<value>\\\\S+)\"}]");
}

static void restart(struct stream *stream)
{
	AUTO_DONE(buf) state = BUF_INIT(8 << 20);

	extractor_pack(stream->extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(stream->extractor);
	stream->extractor = NULL;
	CHECK_OK(extractor_unpack(&stream->extractor, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
}

TEST(parts_are_read_as_the_line_that_they_were)
{
	for (int restarts = 0; restarts <= 1; restarts++) {
		AUTO_DONE(stream) stream = auto_stream();
		CHECK_INT(feed(&stream, TIME "stdout P step 12 of the tr"), 0);
		if (restarts)
			restart(&stream);
		CHECK_INT(feed(&stream, TIME "stdout P aining: loss 2."), 0);
		if (restarts)
			restart(&stream);
		CHECK_INT(feed(&stream, TIME "stdout F 125"), 1);
		CHECK_DOUBLE(newest(&stream)->value, 2.125);
		CHECK_INT(newest(&stream)->step, 12);
		CHECK_INT(newest(&stream)->line, 2);
		CHECK_INT(feed(&stream, TIME "stdout F step 13 loss 2.0"), 1);
		CHECK_DOUBLE(newest(&stream)->value, 2.0);
	}
}

TEST(both_outputs_have_parts_of_their_own)
{
	AUTO_DONE(stream) stream = auto_stream();

	CHECK_INT(feed(&stream, TIME "stdout P step 1 lo"), 0);
	CHECK_INT(feed(&stream, TIME "stderr P step 2 loss 0."), 0);
	CHECK_INT(feed(&stream, TIME "stdout F ss 1.5"), 1);
	CHECK_DOUBLE(newest(&stream)->value, 1.5);
	CHECK_INT(feed(&stream, TIME "stderr F 25"), 1);
	CHECK_DOUBLE(newest(&stream)->value, 0.25);
	CHECK_INT(newest(&stream)->step, 2);
}

TEST(a_start_is_that_of_the_first_part)
{
	AUTO_DONE(stream) stream = auto_stream();

	CHECK_INT(feed(&stream, TIME "stdout P acc "), 0);
	CHECK_INT(feed(&stream, TIME "stdout F 0.5"), 1);
	CHECK_INT(feed(&stream, TIME "stdout P the value of "), 0);
	CHECK_INT(feed(&stream, TIME "stdout F acc 0.5"), 0);
}

TEST(what_only_looks_like_a_part_is_a_line)
{
	AUTO_DONE(stream) stream = auto_stream();

	CHECK_INT(feed(&stream, TIME "stdout PF step 1 loss 1.5"), 1);
	CHECK_INT(feed(&stream, "2024-06-25T12:34:56 P step 2 loss 1.5"), 1);
	CHECK_INT(feed(&stream, TIME "stdin P step 3 loss 1.5"), 1);
	CHECK_INT(feed(&stream, TIME "stdout P"), 0);
	CHECK_INT(feed(&stream, TIME "stdout F step 4 loss 1.5"), 1);
}

/* The last part ends at the limit, or one byte behind it. */
TEST(a_line_of_parts_has_so_many_bytes_and_no_more)
{
	static const struct span first = SPAN(TIME "stdout P step 1 "), last = SPAN(TIME "stdout F loss 2.5"),
				 head = SPAN(TIME "stdout F ");

	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(stream) stream = auto_stream();
		AUTO_DONE(buf) middle = BUF_INIT(1 << 20);
		buf_append_span(&middle, SPAN(TIME "stdout P "));
		size_t filler = PARTIAL_MAX_BYTES + past - first.len - (last.len - head.len);
		for (size_t i = 0; i < filler; i++)
			buf_append_char(&middle, ' ');
		CHECK_INT(feed_at(&stream, first, NO_TIME), 0);
		CHECK_INT(feed_at(&stream, buf_span(&middle), NO_TIME), 0);
		CHECK_INT(feed_at(&stream, last, NO_TIME), 1);
		CHECK_DOUBLE(newest(&stream)->value, past ? 2.0 : 2.5); /* "2." is left of it */
		CHECK_INT(extractor_health(stream.extractor, 0).limited, past);
		CHECK_INT(feed(&stream, TIME "stdout F step 2 loss 1.5"), 1);
		CHECK_INT(extractor_health(stream.extractor, 0).limited, past);
	}
}
