/* Any bytes as the state of a reader of settings or of derived metrics: refused, or one that packs to itself and can go on. */
#include "extract/derive.h"
#include "extract/settings/settings.h"

#include <stdlib.h>

enum { STATE_MAX_BYTES = 1 << 20 };

static void settings_of(struct span state)
{
	static const char *const lines[] = {
		"  \"lr\": 1}", "  a ...... 3", "    d: 4", "e: 5", "  x='y')", "Namespace(a=1)", "Config:"};
	AUTO_DONE(buf) first = BUF_INIT(STATE_MAX_BYTES), second = BUF_INIT(STATE_MAX_BYTES);
	AUTO(settings) settings = NULL;
	AUTO(settings) again = NULL;
	struct unpacker in = unpacker_on(state);

	if (settings_unpack(&settings, &in, NULL) != OK)
		return;
	settings_pack(settings, &first);
	in = unpacker_on(buf_span(&first));
	if (settings_unpack(&again, &in, NULL) != OK)
		abort();
	settings_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (settings_feed(settings, span_from(lines[i]), i, NULL) != OK)
			abort();
}

static void derive_of(struct span state)
{
	AUTO_DONE(buf) first = BUF_INIT(STATE_MAX_BYTES), second = BUF_INIT(STATE_MAX_BYTES);
	AUTO(derive) derive = NULL;
	AUTO(derive) again = NULL;
	struct derived_point out[DERIVED_POINTS_MAX];
	struct inputs inputs = {0};
	struct unpacker in = unpacker_on(state);

	if (derive_unpack(&derive, &in, NULL) != OK)
		return;
	derive_pack(derive, &first);
	in = unpacker_on(buf_span(&first));
	if (derive_unpack(&again, &in, NULL) != OK)
		abort();
	derive_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	for (unsigned i = 0; i < INPUT_COUNT; i++)
		inputs.items[i].value = 1000;
	for (int64_t i = 0; i < 20; i++)
		for (unsigned measure = MEASURE_LOSS; measure < MEASURE_COUNT; measure++) {
			struct point point = {.step = i, .ts_ms = i * 777, .value = (double)i, .attempt = 1};
			derive_see(derive, (enum measure)measure, 1, measure, &point);
			size_t count = derive_line(derive, &inputs, 0, out);
			if (count > DERIVED_POINTS_MAX)
				abort();
			for (size_t j = 0; j < count; j++)
				if (!isfinite(out[j].point.value) || out[j].point.value < 0)
					abort();
		}
	derive_progress(derive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span state = span_of((const char *)data, size);

	if (!size)
		return 0;
	if (data[0] & 1)
		derive_of(span_skip(state, 1));
	else
		settings_of(span_skip(state, 1));
	return 0;
}
