/* A line of expression, and behind it any bytes as a state of it: refused, or one that packs to itself and can go on. */
#include "detect/condition.h"
#include "model/incident.h"

#include <math.h>
#include <stdlib.h>

static void look(void *context, enum incident_change change, const struct incident *incident)
{
	(void)context;
	if (change > INCIDENT_CLOSED || incident->kind != INCIDENT_RULE)
		abort();
}

static void feed(struct watch *watch, const struct condition *expression)
{
	for (int i = 0; i < 60; i++) {
		double value = i % 11 > 8 ? 90 : 3 + i % 7;
		struct point point = {.step = i, .ts_ms = i * 1000, .value = i % 13 == 12 ? (double)NAN : value};
		point.attempt = i > 50;
		watch_feed(watch, expression, (uint64_t)i, &point, look, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(condition) expression = NULL;
	AUTO(watch) watch = NULL;
	AUTO(watch) again = NULL;
	AUTO_DONE(buf) first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	struct span text = span_of((const char *)data, size), rest = text, line = text;
	struct error err = {0};

	if (!span_next(&rest, '\n', &line))
		line = text;
	if (condition_parse(&expression, line, &err) != OK) {
		if (!err.text[0] || err.column < 0 || err.column > CONDITION_MAX_BYTES + 1)
			abort();
		return 0;
	}
	struct unpacker in = unpacker_on(rest);
	if (watch_unpack(&watch, expression, &in, NULL) != OK && !(watch = watch_new(expression)))
		return 0;
	watch_pack(watch, &first);
	in = unpacker_on(buf_span(&first));
	if (watch_unpack(&again, expression, &in, NULL) != OK || in.rest.len)
		abort();
	watch_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	feed(watch, expression);
	return 0;
}
