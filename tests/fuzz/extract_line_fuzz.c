/*
 * Any text as the lines of a stream, under fixed definitions. A stream restored in the middle, and one under definitions
 * that no text is known of ("(?-x)": each line is searched), must say the same. What is said of its place lies in the line.
 */
#include "extract/extract.h"
#include "model/metrics/batch.h"

#include <stdlib.h>

static struct definition_set *definitions(const char *front)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct definition_set *set = NULL;

	buf_printf(&text,
		"[{\"Name\":\"a\",\"Regex\":\"%se(?<epoch>\\\\S+) s(?<step>\\\\S+) (?<value>\\\\S+)\"},"
		"{\"Name\":\"b\",\"Regex\":\"%s^s(?<step>\\\\S+) (?<value>\\\\S+)\"},"
		"{\"Name\":\"d\",\"Regex\":\"%sloss(?:es|: )?\\\\b(?<value>[^,]*)\"},"
		"{\"Name\":\"c\",\"Regex\":\"%sv([^;]*);\",\"Step\":\"i([0-9]+)\"}]",
		front, front, front, front);
	if (json_parse(&document, buf_span(&text), NULL) != OK || definition_set_new(&set, document, NULL, NULL) != OK)
		abort();
	return set;
}

struct fed {
	struct extractor *extractor;
	struct extracted_list points;
};

static void feed(struct fed *fed, const struct definition_set *set, struct regex_scratch *scratch,
	const struct extract_line *line)
{
	uint64_t since;
	uint32_t from, to;
	size_t before = fed->points.count;

	if (extract_line(fed->extractor, set, scratch, line, INT64_C(1790000000000), &fed->points, NULL) != OK)
		abort();
	extractor_take_revision(fed->extractor, &since, &from, &to);
	for (size_t i = before; i < fed->points.count; i++) {
		const struct extracted_mark *mark = &fed->points.items[i].mark;
		if (mark->end > line->text.len || (mark->end && mark->start >= mark->end))
			abort();
	}
}

static void restart(struct fed *fed)
{
	AUTO_DONE(buf) state = BUF_INIT(64 << 20);

	extractor_pack(fed->extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(fed->extractor);
	fed->extractor = NULL;
	if (extractor_unpack(&fed->extractor, &in, NULL) != OK || unpacker_end(&in, "state", NULL) != OK)
		abort();
}

static void check_same(const struct fed *a, const struct fed *b)
{
	if (a->points.count != b->points.count)
		abort();
	for (size_t i = 0; i < a->points.count; i++) {
		const struct point *x = &a->points.items[i].point, *y = &b->points.items[i].point;
		if (x->step != y->step || x->attempt != y->attempt || x->ts_ms != y->ts_ms ||
			x->step > INT64_C(1) << 53 || x->step < -(INT64_C(1) << 53))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(definition_set) set = definitions("");
	AUTO(definition_set) searched_set = definitions("(?-x)");
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct fed whole = {.extractor = extractor_new()}, cut = {.extractor = extractor_new()},
		   searched = {.extractor = extractor_new()};
	struct span rest = span_of((const char *)data, size), text;
	uint64_t number = 0;

	if (!scratch || !whole.extractor || !cut.extractor || !searched.extractor)
		abort();
	extractor_want_marks(whole.extractor);
	while (span_next(&rest, '\n', &text)) {
		bool is_timed = text.len && text.ptr[0] == 't';
		struct extract_line line = {
			.text = text, .ts_ms = is_timed ? (int64_t)text.len : NO_TIME, .number = number++};
		feed(&whole, set, scratch, &line);
		feed(&cut, set, scratch, &line);
		if (number % 3 == 0)
			restart(&cut);
		feed(&searched, searched_set, scratch, &line);
	}
	check_same(&whole, &cut);
	check_same(&whole, &searched);
	extractor_free(whole.extractor);
	extractor_free(cut.extractor);
	extractor_free(searched.extractor);
	extracted_list_done(&whole.points);
	extracted_list_done(&cut.points);
	extracted_list_done(&searched.points);
	return 0;
}
