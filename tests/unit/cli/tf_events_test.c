#include "cli/input/tf_events.h"
#include "test.h"

#include <stdio.h>

struct seen {
	size_t count;
	double last;
	int64_t step, ts_ms;
	char tag[32];
	char settings[256];
};

static void take_setting(void *context, const struct tf_setting *setting)
{
	struct seen *seen = context;

	snprintf(seen->settings + strlen(seen->settings), sizeof seen->settings - strlen(seen->settings),
		"%.*s=%d:%g:%.*s ", SPAN_ARGS(setting->key), (int)setting->kind, setting->number,
		SPAN_ARGS(setting->text));
}

static void take(void *context, const struct tf_scalar *scalar)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = scalar->value;
	seen->step = scalar->step;
	seen->ts_ms = scalar->ts_ms;
	snprintf(seen->tag, sizeof seen->tag, "%.*s", SPAN_ARGS(scalar->tag));
}

static void put(char *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		at[i] = (char)value;
}

static uint32_t masked(struct span data)
{
	uint32_t crc = tf_crc32c(data);

	return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/* A record with the data; the bytes live until the next call. */
static struct span record(struct span data)
{
	static _Thread_local char bytes[512];

	put(bytes, data.len, 8);
	put(bytes + 8, masked(span_of(bytes, 8)), 4);
	memcpy(bytes + 12, data.ptr, data.len);
	put(bytes + 12 + data.len, masked(data), 4);
	return span_of(bytes, data.len + 16);
}

static void check_event(struct span event, size_t count, double value)
{
	struct tf_events_progress progress;
	struct seen seen = {0};
	struct span bytes = record(event);

	CHECK_OK(tf_events_read(bytes, &(struct tf_events_taker){take, take_setting, &seen}, &progress, &err));
	CHECK_INT(progress.used_bytes, bytes.len);
	CHECK_INT(seen.count, count);
	if (count) {
		CHECK(seen.last == value);
		CHECK_INT(seen.step, 300);
		CHECK_INT(seen.ts_ms, 1700000000500);
		CHECK_TEXT(seen.tag, "a");
	}
}

/* wall_time 1700000000.5, step 300, a summary of one value with the tag "a" and these bytes. */
#define EVENT(rest, summary_len, value_len)                                                                            \
	SPAN("\x09\x00\x00\x20\x40\xfc\x54\xd9\x41\x10\xac\x02\x2a" summary_len "\x0a" value_len "\x0a\x01"            \
	     "a" rest)

TEST(tf_events_checksum)
{
	CHECK_INT(tf_crc32c(SPAN("123456789")), 0xe3069283); /* the check value of CRC-32/ISCSI */
	CHECK_INT(tf_crc32c(SPAN("")), 0);
}

TEST(tf_events_scalars_in_all_forms)
{
	check_event(EVENT("\x15\x00\x00\x20\x40", "\x0a", "\x08"), 1, 2.5); /* simple_value */
	check_event(
		EVENT("\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x20\x40", "\x11", "\x0f"), 1, 2.5); /* content, float */
	check_event(
		EVENT("\x42\x0c\x08\x02\x22\x08\x00\x00\x00\x00\x00\x00\x04\x40", "\x13", "\x11"), 1, 2.5); /* double */
	check_event(EVENT("\x42\x08\x08\x01\x2a\x04\x00\x00\x20\x40", "\x0f", "\x0d"), 1, 2.5); /* float_val, packed */
	check_event(EVENT("\x42\x05\x08\x09\x52\x01\x07", "\x0c", "\x0a"), 1, 7); /* int64_val */
	check_event(EVENT("\x42\x04\x08\x03\x38\x07", "\x0b", "\x09"), 1, 7); /* int_val, not packed */
}

TEST(tf_events_that_are_no_scalars)
{
	check_event(EVENT("\x42\x07\x08\x07\x42\x03xyz", "\x0e", "\x0c"), 0, 0); /* a text */
	check_event(
		EVENT("\x42\x0c\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x02\x00\x00", "\x13", "\x11"), 0, 0); /* three */
	check_event(EVENT("", "\x05", "\x03"), 0, 0);
	check_event(SPAN("\x1a\x0d"
			 "brain.Event:2"),
		0, 0);
	check_event(SPAN("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 0, 0);
}

/* plugin_data: plugin_name, content: session_start_info: hparams, each an entry of a map. */
#define HPARAMS(metadata_len, plugin_len, name, content_len, start_len, entries)                                       \
	"\x4a" metadata_len "\x0a" plugin_len "\x0a\x07" name "\x12" content_len "\x1a" start_len entries

TEST(tf_events_settings_of_the_hparams_plugin)
{
	static const struct tf_events_taker taker = {take, take_setting, NULL};
	struct tf_events_taker own = taker;
	struct tf_events_progress progress;
	struct seen seen = {0};

	own.context = &seen;
	/* n: number_value 2.5; t: string_value "x"; b: bool_value true; l: list_value */
	CHECK_OK(tf_events_read(record(EVENT(HPARAMS("\x41", "\x3f", "hparams", "\x34", "\x32",
						     "\x0a\x0e\x0a\x01n\x12\x09\x11\x00\x00\x00\x00\x00\x00\x04\x40"
						     "\x0a\x08\x0a\x01t\x12\x03\x1a\x01x"
						     "\x0a\x07\x0a\x01"
						     "b\x12\x02\x20\x01"
						     "\x0a\x0d\x0a\x01l\x12\x08\x32\x06\x0a\x04\x1a\x02zz"),
					"\x48", "\x46")),
		&own, &progress, &err));
	CHECK_INT(progress.damaged_records, 0);
	CHECK_TEXT(seen.settings, "n=1:2.5: t=2:0:x b=3:1: l=0:0: ");
	CHECK_INT(seen.count, 0);
	seen.settings[0] = 0; /* another plugin's */
	CHECK_OK(tf_events_read(record(EVENT(HPARAMS("\x18", "\x16", "scalars", "\x0b", "\x09",
						     "\x0a\x07\x0a\x01"
						     "b\x12\x02\x20\x01"),
					"\x1f", "\x1d")),
		&own, &progress, &err));
	CHECK_TEXT(seen.settings, "");
}

TEST(tf_events_damage_and_cuts)
{
	struct span bytes = record(EVENT("\x15\x00\x00\x20\x40", "\x0a", "\x08"));
	struct tf_events_progress progress;
	struct seen seen = {0};
	char copy[512];

	for (size_t len = 0; len < bytes.len; len++) {
		CHECK_OK(tf_events_read(span_of(bytes.ptr, len), &(struct tf_events_taker){take, take_setting, &seen},
			&progress, &err));
		CHECK_INT(progress.used_bytes, 0);
	}
	memcpy(copy, bytes.ptr, bytes.len);
	copy[bytes.len - 6] ^= 1;
	CHECK_OK(tf_events_read(
		span_of(copy, bytes.len), &(struct tf_events_taker){take, take_setting, &seen}, &progress, &err));
	CHECK_INT(progress.damaged_records, 1);
	CHECK_INT(progress.used_bytes, bytes.len);
	copy[0] ^= 1;
	CHECK_FAILS(tf_events_read(span_of(copy, bytes.len), &(struct tf_events_taker){take, take_setting, &seen},
			    &progress, &err),
		ERR_INVALID, "no record of TensorBoard's");
	CHECK_INT(seen.count, 0);
	put(copy, TF_EVENTS_MAX_RECORD_BYTES + 1, 8); /* a long one: passed over */
	put(copy + 8, masked(span_of(copy, 8)), 4);
	CHECK_OK(tf_events_read(
		span_of(copy, 20), &(struct tf_events_taker){take, take_setting, &seen}, &progress, &err));
	CHECK_INT(progress.used_bytes, TF_EVENTS_MAX_RECORD_BYTES + 17);
}
