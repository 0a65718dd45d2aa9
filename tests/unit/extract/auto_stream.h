/* A stream whose format nobody states, and the points of one of its series. */
#pragma once

#include "helper.h"

static inline struct stream auto_stream(void)
{
	return stream_by_presets(NULL);
}

static inline void restart_stream(struct stream *stream)
{
	AUTO_DONE(buf) state = BUF_INIT(8 << 20);

	extractor_pack(stream->extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(stream->extractor);
	stream->extractor = NULL;
	CHECK_OK(extractor_unpack(&stream->extractor, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
}

static inline void feed_text(struct stream *stream, const char *text, bool restarts)
{
	struct span rest = span_from(text), line;

	while (span_next(&rest, '\n', &line)) {
		feed_at(stream, line, NO_TIME);
		if (restarts)
			restart_stream(stream);
	}
}

/* The points of the series in their order: "step=value step=value". */
static inline void series_points(struct stream *stream, const char *name, struct buf *out)
{
	for (size_t i = 0; i < stream->points.count; i++) {
		const struct extracted *item = &stream->points.items[i];
		AUTO_DONE(buf) series = BUF_INIT(1024);
		extractor_series_name(stream->extractor, stream->set, item->series, &series);
		if (span_equal(buf_span(&series), span_from(name)))
			buf_printf(
				out, "%s%lld=%g", out->len ? " " : "", (long long)item->point.step, item->point.value);
	}
	buf_append_char(out, '\0');
}

static inline void check_series(struct stream *stream, const char *name, const char *expected)
{
	AUTO_DONE(buf) got = BUF_INIT(1 << 16);

	series_points(stream, name, &got);
	CHECK_TEXT(got.ptr, expected);
}

/* The first step of each attempt. */
static inline void check_starts(struct stream *stream, size_t count, const int64_t *expected)
{
	const int64_t *starts;

	CHECK_INT(extractor_attempt_starts(stream->extractor, &starts), count);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(starts[i], expected[i]);
}
