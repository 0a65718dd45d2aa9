/* Any line as a record of an import: what is taken is written, and that is taken again and written the same. */
#include "base/arena.h"
#include "pipeline/carry/carry_record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) once = BUF_INIT(64 << 20);
	AUTO_DONE(buf) twice = BUF_INIT(64 << 20);
	struct carry_record record;
	struct error err = {0};

	if (!arena || carry_read(span_of((const char *)data, size), arena, &record, &err) != OK)
		return 0;
	carry_write(&record, &once);
	if (once.failure) /* deeper than it is written */
		return 0;
	enum carry_kind kind = record.kind;
	if (carry_read(span_of(once.ptr, once.len - 1), arena, &record, &err) != OK || record.kind != kind)
		abort();
	carry_write(&record, &twice);
	if (!span_equal(buf_span(&once), buf_span(&twice)))
		abort();
	return 0;
}
