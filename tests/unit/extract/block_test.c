#include "extract/block.h"
#include "helper.h"

enum { COPIES = 3 };

TEST(patterns_that_can_see_the_end_of_a_line_are_told)
{
	static const char *const safe[] = {"loss: ([0-9.]+)", "^iter (?<step>\\d+): loss (?<value>\\S+)$", "a[^;]*;",
		"(?i)x(?:y|z)+?", "(?=.*b)a", "[]\\]+]x", "a{2}b", "\\s+x"};
	static const char *const unsafe[] = {"a++", "a*+b", "(?>a)b", "(?<!x)a", "a(?!b)", "(?<=x)a", "\\Ax", "x\\z",
		"(a)\\1", "(?s)a.b", "(*COMMIT)a", "(?(1)a|b)", "(?m)a", "\\Gx", "a\\K", "a{2}+", "(a)(?1)", "(?|a|b)"};

	for (size_t i = 0; i < sizeof safe / sizeof safe[0]; i++)
		if (!pattern_spans_lines(span_from(safe[i])))
			test_fail(__FILE__, __LINE__, "'%s'", safe[i]);
	for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
		if (pattern_spans_lines(span_from(unsafe[i])))
			test_fail(__FILE__, __LINE__, "'%s'", unsafe[i]);
}

/* Twelve and more, so that a block pays; some match across the end of a line, some see it. */
static struct stream many(void)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	static const char *const patterns[] = {"a=(\\\\S+)", "^b=(\\\\S+)", "c=(\\\\S+)$", "d=([^;]*);",
		"e=\\\\s*(\\\\d+)", "f=(\\\\d++)", "(?<!x)g=(\\\\d+)", "h=(\\\\d+)(?!\\\\s*%)",
		"step (?<step>\\\\d+) i=(?<value>\\\\d+)", "j=(\\\\d+)[^k]*k", "(?i)L=(\\\\d+)",
		"m=(\\\\d+)|^n=(\\\\d+)", "\\\\bo=(\\\\d+)"};

	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		buf_printf(&text, "%s{\"Name\":\"p%zu\",\"Regex\":\"%s\"}", i ? "," : "[", i, patterns[i]);
	buf_append_text(&text, "]");
	buf_append_char(&text, 0);
	return stream_of(text.ptr);
}

/* The same points, and the same health. */
static void check_same(struct stream *one, struct stream *all)
{
	CHECK_INT(all->points.count, one->points.count);
	for (size_t i = 0; i < one->points.count; i++) {
		CHECK_INT(all->points.items[i].definition, one->points.items[i].definition);
		double value = point_at(one, i)->value;
		CHECK(isnan(value) ? isnan(point_at(all, i)->value) : point_at(all, i)->value == value);
		CHECK_INT(point_at(all, i)->step, point_at(one, i)->step);
		CHECK_INT(point_at(all, i)->line, point_at(one, i)->line);
	}
	for (size_t i = 0; i < definition_set_count(one->set, extractor_preset(one->extractor)); i++) {
		CHECK_INT(extractor_health(all->extractor, i).tried, extractor_health(one->extractor, i).tried);
		CHECK_INT(extractor_health(all->extractor, i).matched, extractor_health(one->extractor, i).matched);
	}
}

TEST(a_block_gives_what_its_lines_give)
{
	static const char *const lines[] = {"a=1", "b=2", " b=3", "c=4", "c=5 ", "d=6", ";", "d=7;", "e=", "8", "e= 9",
		"f=1 f=2", "xg=1", "g=2", "h=3", "%", "h=4 %", "step 5 i=6 step 6 i=7", "", "j=1 x", "k", "j=2 k",
		"l=3", "n=4", "x n=5", "\x1b[1ma=6\x1b[0m", "a=7\ra=8", "[rank1]: b=9", "2025-01-02 03:04:05 b=10",
		"o=11", "xo=12"};
	enum { LINES = sizeof lines / sizeof lines[0] };
	AUTO_DONE(stream) one = many();
	AUTO_DONE(stream) all = many();
	AUTO(extract_block) block = extract_block_new();

	CHECK(extract_block_helps(all.extractor, all.set));
	for (size_t copy = 0; copy < COPIES; copy++) {
		extract_block_reset(block);
		for (size_t i = 0; i < LINES; i++)
			extract_block_add(block, span_from(lines[i]));
		extract_block_match(block, all.extractor, all.set, all.scratch);
		for (size_t i = 0; i < LINES; i++) {
			struct extract_line line = {span_from(lines[i]), NO_TIME, all.lines++, block, i};
			CHECK_OK(extract_line(
				all.extractor, all.set, all.scratch, &line, one.now_ms, &all.points, &err));
			feed(&one, lines[i]);
		}
	}
	CHECK(one.points.count > LINES);
	check_same(&one, &all);
}

/* A stream that is told its preset. */
static struct stream by_preset(const struct definition_set *presets, const char *name)
{
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;
	char text[128];

	snprintf(text, sizeof text, "[{\"Preset\":\"%s\"}]", name);
	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(definition_set_new(&set, document, presets, &err));
	return stream_on(set);
}

static void check_preset(const struct definition_set *presets, const char *name, struct span text)
{
	AUTO_DONE(stream) one = by_preset(presets, name);
	AUTO_DONE(stream) all = by_preset(presets, name);
	AUTO(extract_block) block = extract_block_new();
	struct span line, rest = text;

	extract_block_reset(block);
	while (span_next(&rest, '\n', &line)) {
		extract_block_add(block, line);
		feed_at(&one, line, NO_TIME);
	}
	extract_block_match(block, all.extractor, all.set, all.scratch);
	rest = text;
	for (size_t i = 0; span_next(&rest, '\n', &line); i++) {
		struct extract_line input = {line, NO_TIME, all.lines++, block, i};
		CHECK_OK(extract_line(
			all.extractor, all.set, all.scratch, &input, noon_ms + 1000 * (int64_t)i, &all.points, &err));
		apply_revision(&all);
	}
	CHECK(one.points.count > 0);
	check_same(&one, &all);
}

/* Each preset over the lines of all. */
TEST(a_block_gives_what_its_lines_give_to_each_preset)
{
	AUTO(definition_set) presets = shipped_presets();
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	size_t len = 0;
	AUTO_MEM char *source = read_whole("../../../server/data/presets.json", &len);

	CHECK_OK(json_parse(&document, span_of(source, len), &err));
	const struct json *all = json_get(document, "presets");
	for (const struct json *preset = json_first(all); preset; preset = json_next(preset)) {
		const struct json *example = json_first(json_get(preset, "examples"));
		for (; example; example = json_next(example)) {
			const struct json *line = json_first(json_get(example, "lines"));
			for (; line; line = json_next(line)) {
				buf_append_span(&text, json_string_of(line));
				buf_append_char(&text, '\n');
			}
		}
	}
	for (int i = 0; definition_set_preset_name(presets, i); i++)
		check_preset(presets, definition_set_preset_name(presets, i), buf_span(&text));
}
