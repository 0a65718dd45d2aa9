/* A file of signatures, an empty line, then lines: what is found is of the file, says a step only of a checkpoint, and is found again. */
#include "extract/line/signature.h"

#include <stdlib.h>

static void check(const struct signature_set *set, struct regex_scratch *scratch, struct span line, bool is_system)
{
	struct signature_found found, again;

	if (!signature_find(set, scratch, line, is_system, &found))
		return;
	if (found.index >= signature_count(set) || found.signature != signature_at(set, found.index))
		abort();
	if (!is_system && found.signature->is_kernel)
		abort();
	if (found.step >= 0 && found.signature->about != SIGNATURE_CHECKPOINT)
		abort();
	if (!signature_find(set, scratch, line, is_system, &again) || again.index != found.index)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size), line;
	ptrdiff_t end = span_find(text, SPAN("\n\n"));
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO(signature_set) set = NULL;
	struct error err;

	if (end < 0 || signature_set_new(&set, span_of(text.ptr, (size_t)end), &err) != OK)
		return 0;
	regex_scratch_limit(scratch, 10000);
	for (struct span rest = span_skip(text, (size_t)end + 2); span_next(&rest, '\n', &line);) {
		check(set, scratch, line, false);
		check(set, scratch, line, true);
	}
	return 0;
}
