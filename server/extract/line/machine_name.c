#include "extract/line/machine_name.h"

#include "extract/line/cursor.h"

size_t machine_name_length(struct span text)
{
	size_t len = 0;

	while (len < text.len && len <= MACHINE_NAME_MAX_BYTES && is_name_char(text.ptr[len]))
		len++;
	return len <= MACHINE_NAME_MAX_BYTES ? len : 0;
}

bool machine_name_is_address(struct span host)
{
	size_t dots = 0;

	for (size_t i = 0; i < host.len; i++) {
		if (!is_digit(host.ptr[i]) && host.ptr[i] != '.')
			return false;
		dots += host.ptr[i] == '.';
	}
	return dots == 3 && is_digit(char_at(host, 0));
}

bool machine_name_is_same(struct span a, struct span b)
{
	struct span full = a.len > b.len ? a : b, brief = a.len > b.len ? b : a;

	if (!brief.len || machine_name_is_address(full))
		return a.len && span_equal_fold(a, b);
	return span_equal_fold(span_of(full.ptr, brief.len), brief) &&
	       (full.len == brief.len || (full.ptr[brief.len] == '.' && span_find_char(brief, '.') < 0));
}

struct span machine_name_join(struct span a, struct span b)
{
	if (!a.len || !b.len)
		return a.len ? a : b;
	return machine_name_is_same(a, b) ? a : MACHINE_OF_NOBODY;
}

bool machine_name_is_number(struct span host)
{
	struct span id = host;

	if (machine_name_is_address(host))
		return true;
	if (!span_take(&id, SPAN("i-")) && !span_take(&id, SPAN("mi-")))
		return false;
	for (size_t i = 0; i < id.len; i++)
		if (span_hex_digit(id.ptr[i]) < 0)
			return false;
	return id.len >= 8;
}
