#include "model/metrics/consumed.h"

enum { NAME_BYTES = 32 /* the longest name has fewer */ };

enum consumed consumed_of(struct span metric)
{
	static const struct {
		const char *name;
		enum consumed what;
	} known[] = {
		{"consumed_tokens", CONSUMED_TOKENS},
		{"consumed_train_tokens", CONSUMED_TOKENS},
		{"num_input_tokens_seen", CONSUMED_TOKENS},
		{"num_tokens", CONSUMED_TOKENS},
		{"tokens_seen", CONSUMED_TOKENS},
		{"total_tokens", CONSUMED_TOKENS},
		{"tokens", CONSUMED_TOKENS_MAYBE},
		{"n_tokens", CONSUMED_TOKENS_MAYBE},
		{"consumed_samples", CONSUMED_SAMPLES},
		{"consumed_train_samples", CONSUMED_SAMPLES},
		{"samples_seen", CONSUMED_SAMPLES},
		{"data_position", CONSUMED_PLACE},
		{"sample_index", CONSUMED_PLACE},
	};
	char name[NAME_BYTES];
	size_t first = metric.len, count = 0;

	while (first && metric.ptr[first - 1] != '/' && metric.ptr[first - 1] != ':')
		first--;
	for (size_t i = first; i < metric.len && count < sizeof name; i++)
		name[count++] = metric.ptr[i] == ' ' || metric.ptr[i] == '-' ? '_' : metric.ptr[i];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (span_equal_fold(span_of(name, count), span_from(known[i].name)))
			return known[i].what;
	return CONSUMED_NOTHING;
}
