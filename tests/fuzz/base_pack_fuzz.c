/* The input is a program: one byte says what to read next. Nothing is read outside; what was read packs to the same. */
#include "base/codec/pack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct span part, struct span whole)
{
	if (part.len && (part.ptr < whole.ptr || part.ptr + part.len > whole.ptr + whole.len))
		abort();
}

static void read_one(struct unpacker *u, unsigned kind, struct span whole)
{
	size_t before = u->rest.len, count;
	AUTO_DONE(buf) out = BUF_INIT(SIZE_MAX);

	switch (kind) {
	case 0:
		pack_u64(&out, unpack_u64(u));
		break;
	case 1:
		pack_i64(&out, unpack_i64(u));
		break;
	case 2:
		pack_double(&out, unpack_double(u));
		break;
	case 3:
		count = unpack_count(u, 3);
		if (count > u->rest.len / 3)
			abort();
		return;
	default: {
		struct span part = unpack_span(u);
		check_inside(part, whole);
		pack_span(&out, part);
	}
	}
	if (!u->has_failed && (out.len > before - u->rest.len || (kind == 2 && out.len != 8)))
		abort(); /* a number may have been written longer than it must, never shorter */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span whole = span_of((const char *)data, size);
	struct unpacker u = unpacker_on(whole);

	while (u.rest.len) {
		unsigned kind = (unsigned char)u.rest.ptr[0] % 5;
		u.rest = span_skip(u.rest, 1);
		read_one(&u, kind, whole);
	}
	if ((unpacker_end(&u, "the input", NULL) == OK) == u.has_failed)
		abort();
	return 0;
}
