/* Any doubles as a loss. A detector restored in the middle must say the same. */
#include "detect/detector.h"
#include "model/incident.h"

#include <stdlib.h>

struct said {
	uint64_t hash;
	uint64_t open; /* incidents open now, by kind */
};

static void note(void *context, enum incident_change change, const struct incident *incident)
{
	struct said *said = context;
	uint64_t bit = 1u << incident->kind;

	if (change == INCIDENT_OPENED ? (said->open & bit) != 0 : (said->open & bit) == 0)
		abort(); /* opened twice, or closed without having been open */
	said->open = change == INCIDENT_CLOSED ? said->open & ~bit : said->open | bit;
	said->hash = said->hash * 1099511628211u + change * 64 + incident->severity * 8 + incident->kind;
	said->hash = said->hash * 1099511628211u + incident->opened_ordinal + (uint64_t)incident->first_step * 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(detector_set) whole = detector_set_new(ROLE_LOSS);
	AUTO(detector_set) cut = detector_set_new(ROLE_LOSS);
	struct said a = {0}, b = {0};
	uint64_t ordinal = 0;

	for (; whole && cut && size >= 2; data += 2, size -= 2, ordinal++) {
		/* Two bytes a point: a level and what to do with it. */
		double value = data[1] < 200   ? data[0]
			       : data[1] < 220 ? data[0] * 1e30
			       : data[1] < 240 ? 1e308 * data[0]
					       : (double)NAN;
		struct point point = {.step = (int64_t)ordinal, .value = value, .attempt = data[1] == 199 ? 2 : 1};
		detector_set_feed(whole, ordinal, &point, note, &a);
		detector_set_feed(cut, ordinal, &point, note, &b);
		if (ordinal % 16 != 15)
			continue;
		AUTO_DONE(buf) state = BUF_INIT(1 << 20);
		detector_set_pack(cut, &state);
		struct unpacker in = unpacker_on(buf_span(&state));
		detector_set_free(cut);
		cut = NULL;
		if (detector_set_unpack(&cut, ROLE_LOSS, &in, NULL) != OK || unpacker_end(&in, "state", NULL) != OK)
			abort();
	}
	if (a.hash != b.hash)
		abort();
	return 0;
}
