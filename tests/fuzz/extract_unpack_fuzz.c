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

/* Two frameworks, one of them with the other's metrics, a table, and what is read where nobody knows the line. */
static const struct definition_set *presets(void)
{
	static struct definition_set *set;
	struct span text = SPAN(
		"{\"presets\":[{\"name\":\"e\",\"detect\":\"^e\\\\d\",\"definitions\":[{\"Name\":\"a\",\"Regex\":\"e(?<epoch>\\\\d+) "
		"s(?<step>\\\\d+) (?<value>\\\\S+)\"}]},{\"name\":\"s\",\"detect\":\"^s\\\\d\",\"definitions\":[{\"Name\":\"a\",\"Regex\":"
		"\"s(?<step>\\\\d+) (?<value>\\\\S+)\"}]},{\"name\":\"i\",\"detect\":\"^i\",\"include\":[\"s\"],\"definitions\":[{\"Name\":\"*\","
		"\"Regex\":\"i (?<name>\\\\w+)=(?<value>\\\\d+)\"}]},{\"name\":\"g\",\"generic\":true,\"detect\":\"=\",\"definitions\":[{"
		"\"Name\":\"*\",\"Regex\":\"(?<name>\\\\w+)=(?<value>\\\\d+)\"}]}]}");

	if (!set && definition_presets_new(&set, text, NULL) != OK)
		abort();
	return set;
}

static struct definition_set *automatic(void)
{
	struct definition_set *set = NULL;

	if (definition_set_new(&set, NULL, presets(), NULL) != OK)
		abort();
	return set;
}

static void go_on(struct extractor *extractor, const struct definition_set *set)
{
	static const char *const lines[] = {"e1 s5 1", "s9 2", "e2 s1 1", "a=3", "Resuming from x", "s1 1", "s2 1",
		"i a=4", "s3 1", "s10 1", "e3 s9 1", "a=5"};
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
	AUTO(definition_set) explicit = definitions();
	AUTO(definition_set) chosen = automatic();
	go_on(extractor, explicit);
	go_on(again, chosen);
	return 0;
}
