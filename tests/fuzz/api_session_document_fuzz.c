/* Any JSON as what a sender says of its process: refused, or a job's document that is JSON with that name. */
#include "api/send/session_document.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(json) body = NULL;
	AUTO(json) document = NULL;
	AUTO_DONE(buf) out = BUF_INIT(64 << 20);
	struct error err;

	if (json_parse(&body, span_of((const char *)data, size), &err) != OK || json_kind(body) != JSON_OBJECT ||
		session_write_document(body, "bert-7", &out, &err) != OK)
		return 0;
	if (json_parse(&document, buf_span(&out), &err) != OK ||
		!span_equal(json_string_of(json_get(document, "TrainingJobName")), SPAN("bert-7")))
		abort();
	return 0;
}
