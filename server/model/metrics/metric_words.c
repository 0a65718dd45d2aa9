#include "model/metrics/metric_words.h"

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

struct span metric_words(struct span metric, char out[METRIC_WORDS_MAX_BYTES])
{
	size_t len = 0;
	bool was_small = false;

	out[len++] = '_';
	for (size_t i = 0; i < metric.len && i < METRIC_NAME_MAX_BYTES; i++) {
		char c = metric.ptr[i];
		if (is_upper(c) && was_small)
			out[len++] = '_';
		was_small = is_plain(c);
		if (is_upper(c) || was_small)
			out[len++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
		else if (out[len - 1] != '_')
			out[len++] = '_';
	}
	if (out[len - 1] != '_')
		out[len++] = '_';
	return span_of(out, len);
}

bool metric_words_have(struct span s, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		if (span_find(s, word) >= 0)
			return true;
	return false;
}

bool metric_word_is_of(struct span word, const char *words)
{
	struct span rest = span_from(words), one;

	while (span_next(&rest, ' ', &one))
		if (span_equal(one, word))
			return true;
	return false;
}
