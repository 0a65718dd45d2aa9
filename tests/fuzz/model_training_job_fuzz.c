/* Any JSON as a job document: what passes is written as a request, and that passes again. */
#include "model/jobs/failure.h"
#include "model/jobs/training_job.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(json) document = NULL;
	AUTO(json) again = NULL;
	AUTO_DONE(buf) out = BUF_INIT(64 << 20);
	AUTO_DONE(buf) name = BUF_INIT(256);
	struct json_writer w = json_writer_on(&out);
	struct span text = span_of((const char *)data, size);
	struct error err = {0};

	failure_class(text);
	training_job_next_name(text, &name);
	if (name.len < 3 || name.len > 63)
		abort();
	if (json_parse(&document, text, &err) != OK || training_job_check(document, &err) != OK)
		return 0;
	if (training_job_write_request(document, buf_span(&name), &w, &err) != OK)
		return 0;
	if (json_parse(&again, buf_span(&out), &err) != OK || training_job_check(again, &err) != OK)
		abort();
	return 0;
}
