/* Curves that are one object: members whose names count are points. */
#include "auto_stream.h"
#include "extract/generic/curves.h"

static void check_points(const char *text, const char *expected)
{
	AUTO_DONE(buf) got = BUF_INIT(1 << 16);
	struct curves curves;
	struct curves_point point;

	if (curves_begin(&curves, span_from(text)))
		while (curves_next(&curves, &point))
			buf_printf(&got, "%s%.*s %lld=%g", got.len ? ", " : "", SPAN_ARGS(point.name),
				(long long)point.step, point.value);
	buf_append_char(&got, '\0');
	CHECK_TEXT(got.ptr, expected);
}

TEST(members_that_count_are_points_of_a_curve)
{
	check_points("{\"loss\": {\"1\": 2.5, \"10\": 2.25, \"20\": 2.125}, \"lr\":{\"1\":1e-3,\"10\":1e-4,\"20\":0}}",
		"loss 1=2.5, loss 10=2.25, loss 20=2.125, lr 1=0.001, lr 10=0.0001, lr 20=0");
	check_points("{'lm loss': {'start_step': 1, 'values': {'1': 2.5, '5': NaN, '9': 2}}}",
		"lm loss 1=2.5, lm loss 5=nan, lm loss 9=2");
	check_points("{\"loss\": {\"1\": \"nan\", \"2\": \"2.5\", \"3\": 2.25}}", "loss 2=2.5, loss 3=2.25");
	check_points(
		"{\"runs\": [{\"loss\": {\"1\": 2.5, \"2\": 2.25, \"3\": 2}}]}", "loss 1=2.5, loss 2=2.25, loss 3=2");
}

TEST(what_is_no_curve)
{
	static const char *const texts[] = {
		"{\"loss\": {\"1\": 2.5, \"2\": 2.25}}", /* too few */
		"{\"loss\": {\"3\": 2.5, \"2\": 2.25, \"1\": 2}}", /* they do not count up */
		"{\"step\": 7, \"loss\": {\"0\": 2.5, \"1\": 2.25, \"2\": 2}}", /* of each device at a step */
		"{\"classes\": {\"0\": 2.5, \"1\": 2.25, \"2\": 2}}",
		"{\"loss\": {\"layer1\": 2.5, \"layer2\": 2.25, \"layer3\": 2}}",
		"{\"loss\": {\"train\": {\"1\": 2.5, \"2\": 2.25, \"3\": 2}}}", /* of what the name in between says */
		"[{\"1\": 2.5, \"2\": 2.25, \"3\": 2}]",
		"{\"loss\": {\"1\": [2.5], \"2\": [2.25], \"3\": [2]}}",
		"{\"1\": 2.5, \"2\": 2.25, \"3\": 2}",
		"{\"loss\": {\"1",
		"{\"loss\": {\"",
		"{\"loss\": {\"1\": 2.5, \"2\": 2.25, \"3",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		check_points(texts[i], "");
}

static void append_nested(struct buf *out, size_t depth)
{
	for (size_t i = 1; i < depth; i++)
		buf_append_text(out, "{\"a\": ");
	buf_append_text(out, "{\"loss\": {\"1\": 2.5, \"2\": 2.25, \"3\": 2}}");
	for (size_t i = 1; i < depth; i++)
		buf_append_char(out, '}');
	buf_append_char(out, '\0');
}

TEST(objects_are_looked_into_to_a_depth)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(buf) text = BUF_INIT(4096);
		append_nested(&text, CURVES_DEPTH_MAX - 1 + past);
		check_points(text.ptr, past ? "" : "loss 1=2.5, loss 2=2.25, loss 3=2");
	}
}

static void append_curve(struct buf *out, size_t points)
{
	buf_append_text(out, "{\"loss\": {");
	for (size_t i = 1; i <= points; i++)
		buf_printf(out, "%s\"%zu\": %zu.5", i > 1 ? ", " : "", i, i);
	buf_append_text(out, "}}");
}

TEST(a_line_has_so_many_points_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO_DONE(stream) stream = auto_stream();
		AUTO_DONE(buf) text = BUF_INIT(4 << 20);
		append_curve(&text, CURVES_POINTS_MAX + past);
		feed_at(&stream, buf_span(&text), NO_TIME);
		CHECK_INT(stream.points.count, CURVES_POINTS_MAX);
		CHECK_INT(newest(&stream)->step, CURVES_POINTS_MAX);
		CHECK_INT(extractor_health(stream.extractor, 7).limited, past);
	}
}

/* Each curve begins at its own first step, and nothing is a restart. */
TEST(curves_of_a_line_and_of_an_object_over_lines)
{
	static const char *const texts[] = {
		"{\"train loss\": {\"start_step\": 1, \"values\": {\"1\": 2.5, \"5\": 2.25, \"10\": 2}}, "
		"\"step_time\": {\"values\": {\"1\": \"nan\", \"5\": 1.25, \"10\": 1.5, \"15\": 1.75}}}\n",
		"{\n  \"train loss\": {\n    \"start_step\": 1,\n    \"values\": {\n      \"1\": 2.5,\n      \"5\": 2.25,\n"
		"      \"10\": 2\n    }\n  },\n  \"step_time\": {\n    \"values\": {\n      \"1\": \"nan\",\n"
		"      \"5\": 1.25,\n      \"10\": 1.5,\n      \"15\": 1.75\n    }\n  }\n}\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int restarts = 0; restarts <= 1; restarts++) {
			AUTO_DONE(stream) stream = auto_stream();
			feed_text(&stream, "Golden values:\n", restarts);
			feed_text(&stream, texts[i], restarts);
			check_series(&stream, "train:loss", "1=2.5 5=2.25 10=2");
			check_series(&stream, "step_time", "5=1.25 10=1.5 15=1.75");
			CHECK_INT(extractor_attempt(stream.extractor), 1);
		}
}
