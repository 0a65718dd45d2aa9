/* Traces of any bytes: whole, and byte by byte, of which the same has to come. */
#include "base/alloc.h"
#include "cli/trace/trace.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	struct span document, rest;
	size_t step;
};

static enum status rewind_bytes(void *context, struct error *err)
{
	struct bytes *bytes = context;

	(void)err;
	bytes->rest = bytes->document;
	return OK;
}

static enum status fill_bytes(void *context, char *room, size_t most, size_t *got, struct error *err)
{
	struct bytes *bytes = context;

	(void)err;
	*got = bytes->rest.len < bytes->step ? bytes->rest.len : bytes->step;
	*got = *got < most ? *got : most;
	if (*got)
		memcpy(room, bytes->rest.ptr, *got);
	bytes->rest = span_skip(bytes->rest, *got);
	return OK;
}

static enum status read_by(struct span document, size_t step, struct trace_summary *out)
{
	struct bytes bytes = {.document = document, .step = step};

	return trace_read_source(&(struct trace_source){rewind_bytes, fill_bytes, &bytes}, out, NULL);
}

static void check(const struct trace_summary *t)
{
	if (t->idle_us < 0 || t->overlap_us < 0 || t->overlap_us > t->compute_us ||
		t->overlap_us > t->communication_us ||
		t->compute_us + t->communication_us - t->overlap_us > t->kernel_us - t->idle_us ||
		t->first_step > t->last_step)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span document = span_of((const char *)data, size);
	struct trace_summary whole = {0}, slow = {0};
	enum status status = read_by(document, SIZE_MAX, &whole);

	if (read_by(document, 1, &slow) != status)
		abort();
	if (status != OK)
		return 0;
	check(&whole);
	if (memcmp(whole.id, slow.id, sizeof whole.id) != 0 || whole.kernel_us != slow.kernel_us)
		abort();
	return 0;
}
