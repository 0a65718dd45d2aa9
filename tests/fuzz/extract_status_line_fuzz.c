/* Any line as one of the SageMaker SDK's: what is read lies in the line, and only lines worth a look say anything. */
#include "extract/line/status_line.h"

#include <stdlib.h>
#include <string.h>

#define NOON_MS INT64_C(1714564800000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_in(struct span part, struct span whole)
{
	return !part.len || (part.ptr >= whole.ptr && part.len <= (size_t)(whole.ptr + whole.len - part.ptr));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* a line ends where its memory does: one byte past it is found */
	struct status_line line = {0};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	struct span text = span_of(copy, size);
	if (status_line_may_be(text) && status_line_read(text, NOON_MS, &line)) {
		if (!lies_in(line.status, text) || (line.status.len && !lies_in(line.message, text)))
			abort();
		if (!line.status.len && line.seconds < 0)
			abort();
	}
	free(copy);
	return 0;
}
