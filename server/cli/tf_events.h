/*
 * Job: TensorBoard's event files: records of a TFRecord file (length and data, each with a masked CRC-32C), in them Event
 *      messages, of which the scalars are taken, in both forms (simple_value, tensor).
 *      https://www.tensorflow.org/tutorials/load_data/tfrecord, tensorflow/core/util/event.proto, summary.proto, tensor.proto
 * Ownership: nothing is kept. Threads: any. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#include <stdint.h>

enum { TF_EVENTS_MAX_RECORD_BYTES = 8 << 20 }; /* longer ones hold no scalars: they are passed over unread */

struct tf_scalar {
	struct span tag;
	int64_t step;
	int64_t ts_ms;
	double value;
};

struct tf_events_progress {
	uint64_t used_bytes; /* whole records; more than there are when a long one is passed over */
	size_t damaged_records; /* passed over: their data do not fit their checksum */
};

/* ERR_INVALID: at used_bytes stands no length of a record, so nothing behind it can be found. */
enum status tf_events_read(struct span data, void (*take)(void *context, const struct tf_scalar *scalar), void *context,
	struct tf_events_progress *progress, struct error *err) MUST_CHECK;

/* Castagnoli's. */
uint32_t tf_crc32c(struct span data);
