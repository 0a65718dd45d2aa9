/*
 * Job: TensorBoard's event files: records of a TFRecord file (length and data, each with a masked CRC-32C), in them Event
 *      messages, of which the scalars are taken, in both forms (simple_value, tensor), and the settings of the hparams plugin.
 *      https://www.tensorflow.org/tutorials/load_data/tfrecord, tensorflow/core/util/event.proto, summary.proto, tensor.proto,
 *      tensorboard/plugins/hparams/plugin_data.proto, google/protobuf/struct.proto
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
	int64_t ts_ms; /* 0: it says none that can be */
	double value;
};

/* A google.protobuf.Value; lists and objects, which the plugin does not know, are none. */
struct tf_setting {
	struct span key;
	enum { TF_SETTING_NONE, TF_SETTING_NUMBER, TF_SETTING_TEXT, TF_SETTING_BOOL } kind;
	double number; /* also of a bool: 0 or 1 */
	struct span text;
};

struct tf_events_taker {
	void (*take_scalar)(void *context, const struct tf_scalar *scalar);
	void (*take_setting)(void *context, const struct tf_setting *setting);
	void *context;
};

struct tf_events_progress {
	uint64_t used_bytes; /* whole records; more than there are when a long one is passed over */
	size_t damaged_records; /* passed over: their data do not fit their checksum */
};

/* ERR_INVALID: at used_bytes stands no length of a record, so nothing behind it can be found. */
enum status tf_events_read(struct span data, const struct tf_events_taker *taker, struct tf_events_progress *progress,
	struct error *err) MUST_CHECK;

enum { TF_EVENTS_SNIFF_BYTES = 64 }; /* a first record with its version is shorter */
enum tf_events_sniffed {
	TF_EVENTS_NO_RECORD,
	TF_EVENTS_RECORD, /* a TFRecord file of whatever */
	TF_EVENTS_VERSION, /* its first record is an Event that says the version of the format */
};
/* start: the first bytes of a file. */
enum tf_events_sniffed tf_events_sniff(struct span start);

/* Castagnoli's. */
uint32_t tf_crc32c(struct span data);
