#include "extract/line/said_tag.h"

#include "extract/line/kernel_line.h"
#include "extract/line/part.h"
#include "extract/line/prefix.h"

/* Levels at which a program tells of trouble; at others it only shows what it has. */
static bool is_trouble(struct span text)
{
	return logger_level_length(text) && memchr("wecf", text.ptr[0] | 0x20, 4);
}

/* "ERROR ", "[rank3|WARNING] ", "E1130 01:10:00.123 7 x.cc:42] "; *has_level: one of these, or another. */
static bool has_trouble(struct span part, bool *has_level)
{
	bool is_start = true;

	for (size_t i = 0; i < part.len; i++) {
		struct span rest = span_skip(part, i);
		*has_level |= is_start && logger_level_length(rest);
		bool is_glog = memchr("WEF", rest.ptr[0], 3) && count_digits(span_skip(rest, 1)) > 2;
		if (is_start && (is_glog || is_trouble(rest)))
			return true;
		is_start = !is_name_char(part.ptr[i]);
	}
	return false;
}

/* A number makes a host or a rank of it, and a dot a module; "kernel" and "dmesg" say whose words they are; Python calls threads and processes so. */
static bool is_word(struct span name)
{
	static const struct span ends[] = {
		SPAN("Thread"), SPAN("Process"), SPAN("kernel"), SPAN("dmesg"), SPAN("kmsg"), SPAN("root")};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (span_ends_with(name, ends[i]))
			return false;
	if (!name.len || logger_level_length(name) == name.len || span_starts_with(name, SPAN("__")))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (is_digit(name.ptr[i]) || name.ptr[i] == '.')
			return false;
	return true;
}

/* "[response] ", "[response]: " */
static bool is_bracketed(struct span part)
{
	if (!span_take(&part, SPAN("[")))
		return false;
	struct span name = span_of(part.ptr, count_name(part));
	return char_at(part, name.len) == ']' && is_word(name);
}

/* "generation: ", and "generation " of "generation - INFO - ": loggers' names begin with a small letter, a failure's words mostly do not. */
static bool is_named(struct span part)
{
	struct span name = span_of(part.ptr, count_name(part)), rest = span_skip(part, name.len);

	return name.len && !is_upper(name.ptr[0]) && (span_equal(rest, SPAN(": ")) || span_equal(rest, SPAN(" "))) &&
	       is_word(name);
}

/* A syslog's program hands on all kinds of lines, and so does a logger's where the kernel's header follows. */
static bool is_headed(struct span text)
{
	struct span host;

	return kernel_line_find(text, kernel_line_has_header, &host) ||
	       kernel_line_find(text, kernel_line_is_handed_on, &host);
}

bool said_tag_is_before(struct span line, struct span said)
{
	struct span until = span_of(line.ptr, (size_t)(said.ptr - line.ptr) + said.len), places[PLACES_MAX];
	size_t count = line_places(until, places);
	bool has_level = false, has_bracketed = false, has_named = false;
	struct span host;

	/* Behind its header all words are the kernel's: "kernel: [drm] …" */
	for (size_t i = 1; i < count && places[i].ptr <= said.ptr && !kernel_line_has_header(places[i - 1], &host);
		i++) {
		struct span part = span_of(places[i - 1].ptr, (size_t)(places[i].ptr - places[i - 1].ptr));
		if (has_trouble(part, &has_level))
			return false;
		has_bracketed |= is_bracketed(part);
		has_named |= is_named(part);
	}
	return has_bracketed || (has_named && has_level && !is_headed(until));
}
