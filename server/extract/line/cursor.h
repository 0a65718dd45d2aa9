/*
 * Job: what the readers of prefixes share: tests of characters and takers of small parts. Internal to extract/line/.
 * Ownership: spans into the input. Threads: any.
 */
#pragma once

#include "base/span.h"

#include <string.h>

enum { NAME_MAX_BYTES = 64 };

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline bool is_letter(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26;
}

static inline bool is_upper(char c)
{
	return (unsigned char)(c - 'A') < 26;
}

/* Of the names of hosts, pods, modules and files. */
static inline bool is_name_char(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

static inline char char_at(struct span text, size_t at)
{
	return at < text.len ? text.ptr[at] : '\0';
}

static inline size_t count_digits(struct span text)
{
	size_t len = 0;

	while (len < text.len && is_digit(text.ptr[len]))
		len++;
	return len;
}

static inline size_t count_char(struct span text, char c)
{
	size_t len = 0;

	while (len < text.len && text.ptr[len] == c)
		len++;
	return len;
}

/* At most NAME_MAX_BYTES + 1: more is no name. */
static inline size_t count_name(struct span text)
{
	size_t len = 0;

	while (len < text.len && len <= NAME_MAX_BYTES && is_name_char(text.ptr[len]))
		len++;
	return len;
}

/* 'd' a digit, 's' '-' or '/', 'T' a T or a space; all else is itself. */
static inline bool has_form(struct span text, const char *form)
{
	for (size_t i = 0; form[i]; i++) {
		char c = char_at(text, i);
		bool fits = form[i] == 'd'   ? is_digit(c)
			    : form[i] == 's' ? c == '-' || c == '/'
			    : form[i] == 'T' ? c == 'T' || c == ' '
					     : c == form[i];
		if (!fits)
			return false;
	}
	return true;
}

static inline void skip_json_blanks(struct span *text)
{
	while (text->len && strchr(" \t\r\n", text->ptr[0]))
		*text = span_skip(*text, 1);
}

/* What stands between the quotes at the front, with its escapes. */
static inline bool take_json_text(struct span *text, struct span *inside)
{
	size_t at = 1;

	if (char_at(*text, 0) != '"')
		return false;
	while (at < text->len && text->ptr[at] != '"')
		at += text->ptr[at] == '\\' ? 2 : 1;
	if (at >= text->len)
		return false;
	*inside = span_of(text->ptr + 1, at - 1);
	*text = span_skip(*text, at + 1);
	return true;
}
