/* Any JSON as MetricDefinitions, and as the presets' file; what compiles is run on one line. */
#include "extract/extract.h"

static void run(const struct definition_set *set)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO(extractor) extractor = extractor_new();
	AUTO_DONE(extracted_list) out = {0};
	struct extract_line line = {.text = SPAN("step 1/10 loss: 2.5, lr=0.1\r'loss': nan"), .number = 1};
	struct error err = {0};

	if (!scratch || !extractor)
		return;
	regex_scratch_limit(scratch, 1000);
	(void)!extract_line(extractor, set, scratch, &line, 0, &out, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(json) document = NULL;
	AUTO(definition_set) presets = NULL;
	AUTO(definition_set) by_preset = NULL;
	AUTO(definition_set) set = NULL;
	struct span text = span_of((const char *)data, size);
	struct error err = {0};

	if (definition_presets_new(&presets, text, &err) == OK &&
		definition_set_new(&by_preset, NULL, presets, &err) == OK)
		run(by_preset);
	if (json_parse(&document, text, &err) == OK && definition_set_new(&set, document, NULL, &err) == OK)
		run(set);
	return 0;
}
