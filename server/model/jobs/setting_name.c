#include "model/jobs/setting_name.h"

#include <ctype.h>

/* The whole key, or what is behind one of its dots or the dashes of an option. */
static bool is_whole(struct span key, size_t at)
{
	for (size_t i = at; i > 0 && key.ptr[i - 1] == '-'; i--)
		if (i == 1)
			return true;
	return at == 0 || key.ptr[at - 1] == '.';
}

static bool is_spelt(struct span key, struct span name, bool folds)
{
	if (key.len < name.len || !is_whole(key, key.len - name.len))
		return false;
	key = span_skip(key, key.len - name.len);
	for (size_t i = 0; i < name.len; i++) {
		char c = key.ptr[i] == '-' ? '_' : key.ptr[i];
		if ((folds ? (char)tolower((unsigned char)c) : c) != name.ptr[i])
			return false;
	}
	return true;
}

bool setting_name_is(struct span key, struct span name)
{
	return is_spelt(key, name, true);
}

bool setting_name_is_exactly(struct span key, struct span name)
{
	return is_spelt(key, name, false);
}
