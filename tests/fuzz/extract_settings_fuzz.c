/* Settings are printable text within their limits, each key once, and reading the same lines again finds the same. */
#include "extract/settings/settings.h"

#include <stdlib.h>

static struct settings *read_lines(struct span text)
{
	struct settings *settings = settings_new();
	struct span line;
	struct error err;

	if (!settings)
		abort();
	for (uint64_t number = 0; span_next(&text, '\n', &line); number++)
		if (settings_feed(settings, line, number, &err))
			abort(); /* no input is an error, and memory is not out */
	return settings;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size);
	AUTO(settings) first = read_lines(text);
	AUTO(settings) second = read_lines(text);
	size_t count = settings_count(first);

	if (count > SETTINGS_MAX || count != settings_count(second))
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct setting *a = settings_get(first, i), *b = settings_get(second, i);
		if (!span_equal(a->key, b->key) || !span_equal(a->value, b->value) || a->line != b->line)
			abort();
		if (!a->key.len || a->key.len > SETTING_KEY_MAX_BYTES || !a->value.len ||
			a->value.len > SETTING_VALUE_MAX_BYTES || !span_is_utf8(a->key) || !span_is_utf8(a->value))
			abort();
		for (size_t j = 0; j < i && count < 50; j++)
			if (span_equal(settings_get(first, j)->key, a->key))
				abort();
	}
	return 0;
}
