/* Any bytes as what detectors said of a job's past: refused, or a list that packs to itself. */
#include "state/watchers/backfill_incidents.h"

#include <stdlib.h>

enum { LIST_MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	AUTO_DONE(buf) first = BUF_INIT(LIST_MAX_BYTES), second = BUF_INIT(LIST_MAX_BYTES);
	AUTO(said_list) list = said_list_new();
	AUTO(said_list) again = said_list_new();

	if (!list || !again)
		abort();
	if (said_list_unpack(list, span_of((const char *)data, size), NULL) != OK)
		return 0;
	said_list_pack(list, &first);
	if (said_list_unpack(again, buf_span(&first), NULL) != OK)
		abort();
	said_list_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	return 0;
}
