/* Any bytes as a filter: an answer; as a text: what is in it is not denied, and of one in 16, since that is slow, the filter is what its definition says. The first byte says how long the needle is. */
#include "store/pack/log_filter.h"

#include "../support/log_filter_definition.h"

#include <stdlib.h>

enum { MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(log_needles) needles = NULL;
	AUTO_DONE(buf) filter = BUF_INIT(MAX_BYTES);
	AUTO_DONE(buf) defined = BUF_INIT(MAX_BYTES);

	if (size < 2)
		return 0;
	struct span text = span_of((const char *)data + 1, size - 1);
	struct span needle = span_of(text.ptr + text.len / 3, data[0] % (text.len - text.len / 3) + 1);
	if (needle.len > text.len - text.len / 3 || log_filter_pack(text, &filter, NULL) != OK ||
		log_needles_new(&needles, needle, false, data[0] & 1, NULL) != OK)
		abort();
	if (data[0] < 16 && (!log_filter_define(text, &defined) || !span_equal(buf_span(&filter), buf_span(&defined))))
		abort();
	if (!needles)
		return 0;
	if (!log_filter_may_hold(buf_span(&filter), needles))
		abort();
	log_filter_may_hold(text, needles);
	return 0;
}
