#include "base/text/host_list.h"

#include <stdio.h>

enum { DIGITS_MAX = 9, NAME_BYTES_MAX = 255 };

struct names {
	struct arena *arena;
	struct span at[HOST_LIST_MAX];
	size_t count;
	size_t begin; /* those of the item that is read */
};

static bool is_name(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_letter = (unsigned char)((c | 0x20) - 'a') < 26, is_digit = (unsigned char)(c - '0') < 10;
		if (!is_letter && !is_digit && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

/* Item by item: a comma between brackets separates none, and blanks around an item are none of it. */
static bool next_item(struct span *rest, struct span *item)
{
	size_t len = 0;
	bool is_inside = false;

	if (!rest->len)
		return false;
	for (; len < rest->len && (is_inside || rest->ptr[len] != ','); len++)
		is_inside = rest->ptr[len] == '[' || (is_inside && rest->ptr[len] != ']');
	*item = span_trim(span_of(rest->ptr, len));
	*rest = span_skip(*rest, len < rest->len ? len + 1 : len);
	return true;
}

static enum status join(
	struct arena *arena, struct span before, struct span behind, struct span *out, bool *fits, struct error *err)
{
	char text[NAME_BYTES_MAX];

	*fits = before.len + behind.len <= sizeof text;
	if (!*fits)
		return OK;
	if (before.len)
		memcpy(text, before.ptr, before.len);
	if (behind.len)
		memcpy(text + before.len, behind.ptr, behind.len);
	*out = arena_copy(arena, span_of(text, before.len + behind.len));
	return out->ptr ? OK : error_no_memory(err);
}

/* Behind all names of the item. */
static enum status append_text(struct names *names, struct span text, bool *fits, struct error *err)
{
	*fits = is_name(text);
	for (size_t i = names->begin; i < names->count && *fits; i++)
		TRY(join(names->arena, names->at[i], text, &names->at[i], fits, err));
	return OK;
}

struct range {
	uint64_t low, high;
	int width;
};

static bool read_range(struct span text, struct range *out)
{
	ptrdiff_t dash = span_find_char(text, '-');
	struct span low = dash < 0 ? text : span_of(text.ptr, (size_t)dash);
	struct span high = dash < 0 ? text : span_skip(text, (size_t)dash + 1);

	out->width = (int)low.len;
	return low.len <= DIGITS_MAX && high.len <= DIGITS_MAX && span_parse_u64(low, &out->low) &&
	       span_parse_u64(high, &out->high) && out->low <= out->high;
}

/* Each name of the item once for each number of the ranges. */
static enum status append_ranges(struct names *names, struct span ranges, bool *fits, struct error *err)
{
	struct span before[HOST_LIST_MAX], part;
	size_t count = names->count - names->begin;

	memcpy(before, names->at + names->begin, count * sizeof *before);
	names->count = names->begin;
	for (size_t i = 0; i < count; i++)
		for (struct span rest = ranges; span_next(&rest, ',', &part);) {
			struct range range;
			*fits = read_range(part, &range) && range.high - range.low < HOST_LIST_MAX - names->count;
			for (uint64_t n = range.low; *fits && n <= range.high; n++) {
				char digits[DIGITS_MAX * 2 + 4];
				snprintf(digits, sizeof digits, "%0*llu", range.width, (unsigned long long)n);
				TRY(join(names->arena, before[i], span_from(digits), &names->at[names->count++], fits,
					err));
			}
			if (!*fits)
				return OK;
		}
	*fits = names->count > names->begin;
	return OK;
}

static enum status expand_item(struct names *names, struct span item, bool *fits, struct error *err)
{
	*fits = item.len && names->count < HOST_LIST_MAX;
	names->begin = names->count;
	if (*fits)
		names->at[names->count++] = SPAN("");
	while (*fits && item.len) {
		ptrdiff_t open = span_find_char(item, '[');
		TRY(append_text(names, open < 0 ? item : span_of(item.ptr, (size_t)open), fits, err));
		if (open < 0 || !*fits)
			return OK;
		item = span_skip(item, (size_t)open + 1);
		ptrdiff_t close = span_find_char(item, ']');
		*fits = close > 0;
		if (!*fits)
			return OK;
		TRY(append_ranges(names, span_of(item.ptr, (size_t)close), fits, err));
		item = span_skip(item, (size_t)close + 1);
	}
	return OK;
}

enum status host_list_expand(struct arena *arena, struct span list, struct span **out, size_t *count, struct error *err)
{
	struct names names = {.arena = arena};
	struct span item;
	bool fits = true;

	*count = 0;
	while (fits && next_item(&list, &item))
		TRY(expand_item(&names, item, &fits, err));
	*out = arena_alloc(arena, (names.count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	memcpy(*out, names.at, names.count * sizeof *names.at);
	*count = fits ? names.count : 0;
	return OK;
}
