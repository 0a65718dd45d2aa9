/* Event files of any bytes: as they are, and as the data of a record with right checksums, which gets behind the door. */
#include "base/alloc.h"
#include "cli/input/tf_events.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *context, const struct tf_scalar *scalar)
{
	uint64_t *sum = context;

	*sum += span_hash(scalar->tag) + (uint64_t)scalar->step;
}

static void take_setting(void *context, const struct tf_setting *setting)
{
	uint64_t *sum = context;

	*sum += span_hash(setting->key) + span_hash(setting->text);
}

static void put(char *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		at[i] = (char)value;
}

static void put_crc(char *at, struct span of)
{
	uint32_t crc = tf_crc32c(of);

	put(at, (crc >> 15 | crc << 17) + 0xa282ead8U, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_MEM char *record = mem_alloc(size + 16);
	struct tf_events_progress progress;
	uint64_t sum = 0;
	const struct tf_events_taker taker = {take, take_setting, &sum};

	if (!record)
		return 0;
	if (tf_events_read(span_of((const char *)data, size), &taker, &progress, NULL) == OK &&
		progress.used_bytes > size && size < 12)
		abort();
	put(record, size, 8);
	put_crc(record + 8, span_of(record, 8));
	if (size)
		memcpy(record + 12, data, size);
	put_crc(record + 12 + size, span_of(record + 12, size));
	if (tf_events_read(span_of(record, size + 16), &taker, &progress, NULL) != OK ||
		progress.used_bytes != size + 16 || progress.damaged_records)
		abort();
	return 0;
}
