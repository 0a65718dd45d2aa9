/* Any bytes as the state of a detector: refused, or one that packs to itself and can go on. */
#include "detect/detector.h"
#include "model/incident.h"

#include <stdlib.h>

static void ignore(void *context, enum incident_change change, const struct incident *incident)
{
	(void)context;
	if (change > INCIDENT_CLOSED || incident->kind >= INCIDENT_KIND_COUNT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(detector_set) set = NULL;
	AUTO(detector_set) again = NULL;
	AUTO_DONE(buf) first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	struct unpacker in = unpacker_on(span_of((const char *)data, size));

	if (detector_set_unpack(&set, ROLE_LOSS, &in, NULL) != OK)
		return 0;
	detector_set_pack(set, &first);
	in = unpacker_on(buf_span(&first));
	if (detector_set_unpack(&again, ROLE_LOSS, &in, NULL) != OK)
		abort();
	detector_set_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	for (int i = 0; i < 300; i++) {
		double value = i % 40 > 36 ? 90 : 3 + i % 7;
		struct point point = {.step = i, .value = i % 50 == 49 ? (double)NAN : value, .attempt = 1};
		detector_set_feed(set, (uint64_t)i, &point, ignore, NULL);
	}
	return 0;
}
