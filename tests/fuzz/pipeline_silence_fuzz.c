/* The state of a stream's silent definitions: any bytes are read or refused, and what was read is written the same twice. */
#include "pipeline/alert/silence.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_and_write(struct span state, enum silences_format format)
{
	struct unpacker in = unpacker_on(state);
	AUTO_DONE(buf) once = BUF_INIT(64 << 20), twice = BUF_INIT(64 << 20);
	struct silences *first = NULL, *second = NULL;
	struct error err;

	if (silences_unpack(&first, format, &in, &err) == OK && !in.has_failed) {
		silences_pack(first, &once);
		struct unpacker again = unpacker_on(buf_span(&once));
		if (silences_unpack(&second, SILENCES_WITH_NAMES, &again, &err) != OK ||
			unpacker_end(&again, "", &err) != OK)
			abort();
		silences_pack(second, &twice);
		if (!span_equal(buf_span(&once), buf_span(&twice)))
			abort();
	}
	silences_free(first);
	silences_free(second);
}

/* As they are written, and as they were before. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span state = span_of((const char *)data, size);

	read_and_write(state, SILENCES_WITH_NAMES);
	read_and_write(state, SILENCES_WITH_TRAILS);
	read_and_write(state, SILENCES_PLAIN);
	return 0;
}
