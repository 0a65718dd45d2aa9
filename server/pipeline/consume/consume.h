/*
 * Job: extraction and detection of slices, stream by stream.
 * Ownership: states are the directory's. Threads: an extract thread, under the stream's lock but for consume_slice, which takes it.
 */
#pragma once

#include "state/streams/directory.h"
#include "state/pipeline_state.h"

/*
 * Takes the stream's lock. A slice that fails for want of memory ends the extraction of its stream until it is read again (mend.h) from
 * the journal: half of it is in the state, so it can be neither taken again nor passed over, and nothing from it on is sealed.
 */
enum status consume_slice(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;

/* The same of a stream that is held up, which it stays: whoever listens is not sent it. */
enum status consume_again(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;

/* It cannot be read: what is behind it goes on. */
void consume_pass_over(struct stream_state *stream, uint64_t seq, const struct journal_slice *slice);
bool consume_has(const struct stream_state *stream, const struct journal_slice *slice);

/* False: more was committed than was extracted, and it stays held up. */
bool consume_close_hole(struct stream_state *stream);

/* Under the stream's lock. *out NULL: there is none, and there may be no more. */
enum status consume_find_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct metric_definition *definition, struct series_state **out, struct error *err) MUST_CHECK;
enum status consume_find_derived(
	struct stream_state *stream, enum derived derived, struct series_state **out, struct error *err) MUST_CHECK;
/* Of ROLE_OTHER it answers for no role any more, and nothing is looked for in it. */
enum status consume_give_role(struct series_state *series, enum role role, struct error *err) MUST_CHECK;
enum status consume_point(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;

/* When a line or a point that was sent as such is of, under the stream's lock. */
void consume_time(struct stream_state *stream, int64_t ts_ms);

/* Points sent as such have opened an attempt: what was sent with this time or a later one is of it. */
void consume_opened(struct stream_state *stream, int64_t since_ms);

/* What a line says of the job's settings. */
enum status consume_settings(
	struct stream_state *stream, struct span text, uint64_t number, struct error *err) MUST_CHECK;

/* What follows from the line whose points were consumed. */
enum status consume_derived(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err) MUST_CHECK;

/* A slice of points that were sent as such. */
enum status consume_points(struct pipeline *pipeline, struct stream_state *stream, const struct journal_slice *slice,
	struct error *err) MUST_CHECK;
void *extract_run(void *worker);
void group_unref(struct pipeline *pipeline, struct group *group);

/* Everything up to this number was extracted. */
uint64_t pipeline_extracted_seq(struct pipeline *pipeline);
