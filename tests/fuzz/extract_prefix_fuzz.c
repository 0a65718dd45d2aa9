/*
 * Any text as lines: prefixes are peeled, records unwrapped. All starts lie in the line and have one end, a trusted guess
 * only moves the sure start inwards, and a message is never longer than its record and a tag.
 */
#include "extract/line/prefix.h"
#include "extract/line/unwrap.h"

#include <stdlib.h>

enum { TRACED = 16, TAG_BYTES = 24 };

static bool is_within(struct span text, struct span whole)
{
	return text.len <= whole.len &&
	       (text.len == 0 || (text.ptr >= whole.ptr && text.ptr + text.len <= whole.ptr + whole.len));
}

static void check_starts(struct span line, const struct prefix *prefix)
{
	if (prefix->count < 1 || prefix->count > STARTS_MAX || prefix->certain >= prefix->count ||
		prefix->rank < RANK_NONE || prefix->rank >= RANK_MAX)
		abort();
	for (size_t i = 0; i < prefix->count; i++) {
		struct span start = prefix->starts[i];
		if (!is_within(start, line) || (prefix->guesses[i] & ~GUESSES) ||
			(start.len && start.ptr + start.len != prefix->starts[0].ptr + prefix->starts[0].len))
			abort();
	}
}

static void check_memory(struct span line, struct prefix_memory *memory, const struct prefix *prefix)
{
	struct prefix again;
	struct prefix_memory unpacked = {0};
	char bytes[64];
	struct buf state = BUF_INIT(sizeof bytes);

	struct span before = line_peel(line, memory, &again);
	for (size_t i = 0; i < prefix->count; i++)
		prefix_trust(memory, prefix, i);
	if (line_peel(line, memory, &again).len > before.len)
		abort();
	prefix_memory_pack(memory, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	prefix_memory_unpack(&unpacked, &in);
	if (in.has_failed || unpacked.trusted != memory->trusted || unpacked.name != memory->name)
		abort();
	buf_done(&state);
}

static void check_record(struct span line)
{
	AUTO_DONE(buf) out = BUF_INIT(64 << 20);
	struct span text = line;

	struct unwrap_trace trace;
	if (!line_may_be_wrapped(line) || !line_unwrap(&text, &out, &trace))
		return;
	if (text.len > line.len + TAG_BYTES * 3 || (text.len && memchr(text.ptr, '\n', text.len)))
		abort();
	for (size_t i = 0; i < TRACED; i++) {
		struct span byte = span_cut(span_skip(text, text.len * i / TRACED), 1), where;
		if (byte.len && unwrap_trace_find(&trace, byte, &where) &&
			(where.len != 1 || where.ptr[0] != byte.ptr[0] || where.ptr < line.ptr ||
				where.ptr >= line.ptr + line.len))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_of((const char *)data, size), line;
	struct prefix_memory memory = {0};
	struct prefix prefix;
	bool is_bare;

	while (span_next(&rest, '\n', &line)) {
		(void)!line_peel(line, NULL, &prefix).len;
		check_starts(line, &prefix);
		check_memory(line, &memory, &prefix);
		if (line_may_have_rank(line) && line_peel_rank(line, &is_bare) >= RANK_MAX)
			abort();
		check_record(line);
	}
	return 0;
}
