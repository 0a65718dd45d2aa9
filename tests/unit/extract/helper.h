/* What the tests of extract/ share: a set from JSON text and one stream fed line by line. */
#pragma once

#include "extract/extract.h"
#include "extract/line/signature.h"
#include "model/metrics/batch.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const int64_t noon_ms = INT64_C(1790000000000);

struct stream {
	struct definition_set *presets; /* of a test's own, else NULL */
	struct definition_set *set;
	struct extractor *extractor;
	struct regex_scratch *scratch;
	struct extracted_list points; /* of all lines so far, revisions applied */
	uint64_t lines;
	int64_t now_ms;
	int revisions;
};

static inline void stream_done(struct stream *stream)
{
	extractor_free(stream->extractor);
	definition_set_free(stream->set);
	definition_set_free(stream->presets);
	regex_scratch_free(stream->scratch);
	extracted_list_done(&stream->points);
}
AUTO_DONE_TYPE(stream)

static inline struct definition_set *set_from(const char *text)
{
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;

	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(definition_set_new(&set, document, NULL, &err));
	return set;
}

static inline char *read_whole(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	char *text = size >= 0 && size < LONG_MAX ? mem_alloc((size_t)size + 1) : NULL; /* a folder has no size */
	*len = text ? fread(text, 1, (size_t)size, file) : 0;
	fclose(file);
	return text;
}

static inline struct definition_set *read_shipped_presets(void)
{
	struct definition_set *set = NULL;
	size_t len = 0;
	AUTO_MEM char *text = read_whole("../../../server/data/presets.json", &len);

	CHECK(text);
	CHECK_OK(definition_presets_new(&set, span_of(text, len), &err));
	return set;
}

static inline struct signature_set *read_shipped_signatures(void)
{
	struct signature_set *set = NULL;
	size_t len = 0;
	AUTO_MEM char *text = read_whole("../../../server/data/signatures.json", &len);

	CHECK(text);
	CHECK_OK(signature_set_new(&set, span_of(text, len), &err));
	return set;
}

/* Borrowed: nobody changes them, and to compile them takes longer than most tests. Once a file of tests, for as long as the program runs. */
static inline const struct definition_set *shipped_presets(void)
{
	static struct definition_set *presets;

	if (!presets)
		presets = read_shipped_presets();
	return presets;
}

static inline struct stream stream_on(struct definition_set *set)
{
	struct stream stream = {
		.set = set, .extractor = extractor_new(), .scratch = regex_scratch_new(), .now_ms = noon_ms};

	CHECK(stream.extractor && stream.scratch);
	return stream;
}

/* The shipped presets read it; definitions: JSON of a user's own that come first, NULL: none. */
static inline struct stream stream_by_presets(const char *definitions)
{
	struct definition_set *set = NULL;
	AUTO(json) document = NULL;

	if (definitions)
		CHECK_OK(json_parse(&document, span_from(definitions), &err));
	CHECK_OK(definition_set_new(&set, document, shipped_presets(), &err));
	return stream_on(set);
}

static inline struct stream stream_of(const char *definitions)
{
	return stream_on(set_from(definitions));
}

static inline void apply_revision(struct stream *stream)
{
	uint64_t line;
	uint32_t from, to;

	if (!extractor_take_revision(stream->extractor, &line, &from, &to))
		return;
	stream->revisions++;
	for (size_t i = 0; i < stream->points.count; i++) {
		struct point *point = &stream->points.items[i].point;
		if (point->line >= line && point->attempt == from)
			point->attempt = to;
	}
}

/* One line a second. Returns the number of points that it gave. */
static inline size_t feed_at(struct stream *stream, struct span text, int64_t ts_ms)
{
	struct extract_line line = {.text = text, .ts_ms = ts_ms, .number = stream->lines++};
	size_t before = stream->points.count;

	CHECK_OK(extract_line(
		stream->extractor, stream->set, stream->scratch, &line, stream->now_ms, &stream->points, &err));
	apply_revision(stream);
	stream->now_ms += 1000;
	return stream->points.count - before;
}

static inline size_t feed(struct stream *stream, const char *text)
{
	return feed_at(stream, span_from(text), NO_TIME);
}

static inline struct point *point_at(struct stream *stream, size_t index)
{
	CHECK(index < stream->points.count);
	return &stream->points.items[index].point;
}

static inline struct point *newest(struct stream *stream)
{
	return point_at(stream, stream->points.count - 1);
}

/* "step N loss 1.0" for each N from first to last. */
static inline void feed_steps(struct stream *stream, int first, int last, int by)
{
	char text[64];

	for (int step = first; step <= last; step += by) {
		snprintf(text, sizeof text, "step %d loss 1.0", step);
		CHECK_INT(feed(stream, text), 1);
	}
}

#define STEP_LOSS "[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+) loss (?<value>\\\\S+)\"}]"
