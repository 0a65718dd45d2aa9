/*
 * Job: one line of a run's history, or of its machine's events, as points of a batch. Pure.
 * Ownership: names are copied into the batch. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"
#include "model/metrics/batch.h"
#include "wandb/sent_times.h"

/* Which metric is the axis of others: define_metric's. The first that fits, and that the line has, counts. */
struct history_axis {
	struct span metric; /* "eval/" and a '*' behind it: all that begin so */
	struct span axis;
};

bool history_axis_fits(const struct history_axis *axis, struct span name);

enum { HISTORY_AXES_MAX = 256 };

struct history_reader {
	const struct history_axis *axes;
	size_t axis_count;
	struct batch *batch;
	struct span job, stream;
	bool is_system; /* names and values as sm-ship measures a machine */
	bool is_measured; /* what has a name of ours is there by another way */
	struct span label; /* of a process that shares its run: names of its measures end in "/l:" and this; "": none */
	int64_t now_ms; /* of a line without a time */
	size_t max_series; /* of the stream in this batch: what is beyond is left out */
	struct sent_times *times; /* each line's is noted; NULL: they are not kept */
	bool is_sync; /* a line of a time that another session has sent is there */

	/* What was read so far. */
	int64_t first_ms, last_ms; /* 0: nothing */
	double last_step, last_runtime;
	size_t left_out; /* values that are no numbers, or have no name that a metric may have */

	/* Its own. */
	struct buf names;
	struct history_value *values;
	size_t value_count, value_cap;
	int64_t axis_steps[HISTORY_AXES_MAX]; /* of the line; NO_STEP: it has none by that axis */
};

struct history_reader history_reader_on(struct batch *batch, struct span job, struct span stream, int64_t now_ms);
enum status history_read(struct history_reader *reader, struct span line, struct error *err) MUST_CHECK;
/* Of a line that is there by its number its time is noted. */
enum status history_pass(struct history_reader *reader, struct span line, struct error *err) MUST_CHECK;
/* The same line has the same, in whatever order its keys come (clients shuffle them): a hash of its time and step. */
enum status history_identify(
	struct history_reader *reader, struct span line, uint64_t *out, struct error *err) MUST_CHECK;
void history_reader_done(struct history_reader *reader);
AUTO_DONE_TYPE(history_reader)
