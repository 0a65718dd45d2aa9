/* Any bytes either are one map of CBOR, which is JSON that reads back and can be written again, or are refused with words. */
#include "aws/protocol/cbor.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const times[] = {"Timestamp", "Timestamps", NULL};
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO_DONE(buf) again = BUF_INIT(1 << 20);
	AUTO_DONE(buf) second = BUF_INIT(1 << 20);
	AUTO(json) json = NULL;
	struct error err = {0};

	if (cbor_to_json(span_of((const char *)data, size), &text, &err) != OK) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (json_parse(&json, buf_span(&text), &err) != OK)
		abort();
	cbor_from_json(json, times, &again);
	if (again.failure)
		return 0;
	if (cbor_to_json(buf_span(&again), &second, &err) != OK && err.status != ERR_TOO_LARGE)
		abort();
	return 0;
}
