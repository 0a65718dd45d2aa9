/*
 * Job: the packed state of a stream as readers see it. It begins with what they need (attempts, series, health); what only the
 *      consumers need follows (stream_pack.c: extractor, detectors, settings, derived metrics, signatures, silences, watchers).
 * Ownership: what is read lives in the arena, texts in `state`. Threads: any.
 */
#pragma once

#include "base/codec/pack.h"
#include "state/streams/job_view.h"

/* Each name says what that format and earlier ones lack. */
enum {
	STREAM_FORMAT = 14,
	STREAM_FORMAT_WITHOUT_AXES = 13, /* of series */
	STREAM_FORMAT_WITHOUT_HUGE_SUMS = 12,
	STREAM_FORMAT_WITHOUT_SCORES = 11, /* of a table that is being printed */
	STREAM_FORMAT_WITHOUT_FORMATS = 10, /* one preset a stream, and its health alone */
	STREAM_FORMAT_WITHOUT_NAMES = 9, /* of definitions, in silences */
	STREAM_FORMAT_WITHOUT_TRAILS = 8, /* of steps, in silences */
	STREAM_FORMAT_WITHOUT_SILENCES = 7,
	STREAM_FORMAT_WITHOUT_TOTALS = 6, /* readings of distributions */
	STREAM_FORMAT_WITHOUT_PLACES = 5, /* a definition's missing values and steps */
	STREAM_FORMAT_WITHOUT_STRETCHES = 4,
	STREAM_FORMAT_WITHOUT_SIGNS = 3, /* and watchers */
	STREAM_FORMAT_BEFORE =
		2, /* the reason for the preset, the base of the series' numbers, settings, derived metrics */
	STREAM_FORMAT_WITHOUT_SENT_POINTS = 1,
	STREAM_SERIES_MIN_BYTES = 12
};

enum {
	SERIES_NEEDS_SUMMARY = 1,
	SERIES_IS_TOLD = 2,
	SERIES_HAS_GIVEN_WAY = 4,
	SERIES_SAYS_STEPS = 8,
	SERIES_HAS_AXIS = 16 /* it follows */
}; /* what a series says at its end; older programs wrote the first alone */

/* Everything before the series; gives the format. out: first_ms and last_ms are those of the row. */
uint64_t stream_head_unpack(struct unpacker *in, struct arena *arena, struct stream_view *out);
struct series_view stream_head_unpack_series(
	struct unpacker *in, struct arena *arena, uint64_t format, bool *needs_summary);

/* Both, for streams that are not in RAM. state "": *out stays as it is. */
enum status stream_unpack_view(
	struct span state, struct arena *arena, struct stream_view *out, struct error *err) MUST_CHECK;
