/* Any bytes as the state of an extractor: refused, or one that packs to itself and can go on. */
#include "extract/extract.h"

#include <stdlib.h>

static struct definition_set *definitions(void)
{
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;
	struct span text = SPAN("[{\"Name\":\"a\",\"Regex\":\"e(?<epoch>\\\\d+) s(?<step>\\\\d+) (?<value>\\\\S+)\"},"
				"{\"Name\":\"b\",\"Regex\":\"s(?<step>\\\\d+) (?<value>\\\\S+)\"}]");

	if (json_parse(&document, text, NULL) != OK || definition_set_new(&set, document, NULL, NULL) != OK)
		abort();
	return set;
}

static void go_on(struct extractor *extractor)
{
	static const char *const lines[] = {
		"e1 s5 1", "s9 2", "e2 s1 1", "Resuming from x", "s1 1", "s2 1", "s3 1", "s10 1"};
	AUTO(definition_set) set = definitions();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO_DONE(extracted_list) out = {0};
	uint64_t line;
	uint32_t from, to;

	for (size_t i = 0; scratch && i < sizeof lines / sizeof lines[0]; i++) {
		struct extract_line next = {.text = span_from(lines[i]), .ts_ms = (int64_t)i, .number = i};
		if (extract_line(extractor, set, scratch, &next, 0, &out, NULL) != OK)
			abort();
		extractor_take_revision(extractor, &line, &from, &to);
		if (extractor_attempt(extractor) < 1)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(extractor) extractor = NULL;
	AUTO(extractor) again = NULL;
	AUTO_DONE(buf) first = BUF_INIT(64 << 20), second = BUF_INIT(64 << 20);
	struct unpacker in = unpacker_on(span_of((const char *)data, size));

	if (extractor_unpack(&extractor, &in, NULL) != OK)
		return 0;
	extractor_pack(extractor, &first);
	in = unpacker_on(buf_span(&first));
	if (extractor_unpack(&again, &in, NULL) != OK)
		abort();
	extractor_pack(again, &second);
	if (!span_equal(buf_span(&first), buf_span(&second)))
		abort();
	go_on(extractor);
	return 0;
}
