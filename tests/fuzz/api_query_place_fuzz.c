/* Any text as a query that is being typed. */
#include "api/jobs/query_place.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	struct span text = span_of((const char *)data, size);
	struct query_place place;
	struct error err = {0};

	if (query_place_of(text, &place, &err) != OK)
		return 0;
	if (place.from > size || place.head.len + place.typed.len > size - place.from)
		abort();
	query_put_suggestion(&place, place.typed, &out);
	query_put_attribute(place.name, &out);
	return 0;
}
