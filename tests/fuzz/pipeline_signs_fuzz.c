/* The state of a stream's signatures: any bytes are read or refused, and what was read is written the same twice. */
#include "pipeline/consume/signs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unpacker in = unpacker_on(span_of((const char *)data, size));
	AUTO_DONE(buf) once = BUF_INIT(64 << 20), twice = BUF_INIT(64 << 20);
	struct signs *first = NULL, *second = NULL;
	struct error err;

	if (signs_unpack(&first, &in, &err) == OK && !in.has_failed) {
		signs_pack(first, &once);
		struct unpacker again = unpacker_on(buf_span(&once));
		if (signs_unpack(&second, &again, &err) != OK || unpacker_end(&again, "", &err) != OK)
			abort();
		signs_pack(second, &twice);
		if (!span_equal(buf_span(&once), buf_span(&twice)))
			abort();
	}
	signs_free(first);
	signs_free(second);
	return 0;
}
