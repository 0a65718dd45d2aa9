/* Files of time zones and TZ texts: any bytes are refused or give a zone whose answers stay within two days of UTC. */
#include "base/text/zone.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct zone *zone)
{
	static const int64_t times[] = {
		INT64_MIN, -62135596800000, -1, 0, 1700000000123, 1793000000000, 4102444800000, INT64_MAX};

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		int64_t offset_ms = zone_offset_ms(zone, times[i]);
		if (offset_ms > 2 * 86400000LL || offset_ms < -2 * 86400000LL)
			abort();
		int64_t back_ms = zone_to_utc_ms(zone, times[i]);
		bool is_far = times[i] == INT64_MIN || times[i] == INT64_MAX;
		if (!is_far && (back_ms - times[i] > 2 * 86400000LL || times[i] - back_ms > 2 * 86400000LL))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span bytes = span_of((const char *)data, size);
	AUTO(zone) file = NULL;
	AUTO(zone) text = NULL;

	if (zone_parse_file(&file, bytes, NULL) == OK)
		ask(file);
	if (zone_new(&text, bytes, NULL) == OK)
		ask(text);
	return 0;
}
