#include "extract/line/unwrap.h"

#include "extract/line/part.h"
#include "extract/line/prefix.h"

#include <stdio.h>

enum { MEMBERS_MAX = 128, TAG_BYTES = 24, DEPTH_MAX = 64 };

enum kind { TEXT, NUMBER, OTHER };

struct member {
	struct span key; /* with its escapes */
	struct span value; /* of a text, with its escapes, without the quotes */
	enum kind kind;
};

struct record {
	struct span message; /* with its escapes */
	size_t message_order; /* of the names that a message has; a smaller one is more likely */
	int32_t rank;
	bool has_stream; /* docker's: all of it is the collector's */
	bool has_own; /* a number of the trainer's */
};

/* An object or a list, with all in it. */
static bool skip_nested(struct span *text)
{
	size_t depth = 0;
	struct span inside;

	do {
		char c = char_at(*text, 0);
		if (c == '"') {
			if (!take_json_text(text, &inside))
				return false;
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		*text = span_skip(*text, 1);
	} while (depth && depth < DEPTH_MAX && text->len);
	return depth == 0;
}

static bool take_value(struct span *text, struct member *member)
{
	char first = char_at(*text, 0);

	member->kind = OTHER;
	if (first == '"') {
		member->kind = TEXT;
		return take_json_text(text, &member->value);
	}
	if (first == '{' || first == '[')
		return skip_nested(text);
	size_t len = 0;
	while (len < text->len && !strchr(",} \t\r\n", text->ptr[len]))
		len++;
	member->value = span_of(text->ptr, len);
	member->kind = is_digit(first) || first == '-' ? NUMBER : OTHER;
	*text = span_skip(*text, len);
	return len > 0;
}

/* Their place in the list says which of two is the message. */
static const struct span message_names[] = {SPAN("log"), SPAN("message"), SPAN("msg"), SPAN("text"), SPAN("MESSAGE"),
	SPAN("textPayload"), SPAN("short_message"), SPAN("body"), SPAN("event")};
enum { MESSAGE_NAMES = sizeof message_names / sizeof *message_names };

static size_t message_order(struct span key)
{
	size_t order = 0;

	while (order < MESSAGE_NAMES && !span_equal(key, message_names[order]))
		order++;
	return order;
}

bool unwrap_is_message(struct span key)
{
	return message_order(key) < MESSAGE_NAMES;
}

/* Numbers that loggers and collectors say of a line, not a trainer of its training. */
static bool is_of_logger(struct span key)
{
	static const struct span names[] = {SPAN("level"), SPAN("levelno"), SPAN("lineno"), SPAN("line"),
		SPAN("line_number"), SPAN("process"), SPAN("pid"), SPAN("tid"), SPAN("thread"), SPAN("created"),
		SPAN("msecs"), SPAN("relativeCreated"), SPAN("ts"), SPAN("date"), SPAN("t"), SPAN("v"), SPAN("rank"),
		SPAN("local_rank"), SPAN("global_rank"), SPAN("node_rank"), SPAN("world_size"), SPAN("severity"),
		SPAN("severityNumber"), SPAN("priority"), SPAN("PRIORITY"), SPAN("seq"), SPAN("sequence"),
		SPAN("offset"), SPAN("index"), SPAN("facility"), SPAN("schema_version"), SPAN("version"),
		SPAN("version_major")};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, names[i]))
			return true;
	return span_starts_with(key, SPAN("_")) || span_find(key, SPAN("time")) >= 0 ||
	       span_find(key, SPAN("Time")) >= 0 || span_ends_with(key, SPAN("_id")) ||
	       span_ends_with(key, SPAN("Id")) || span_ends_with(key, SPAN("_pid"));
}

static void note_member(struct record *record, const struct member *member)
{
	size_t order = member->kind == TEXT && member->value.len ? message_order(member->key) : SIZE_MAX;
	struct span digits = member->value;

	if (order < record->message_order) {
		record->message = member->value;
		record->message_order = order;
	}
	record->has_stream |= member->kind == TEXT && span_equal(member->key, SPAN("stream"));
	record->has_own |=
		(member->kind == NUMBER && !is_of_logger(member->key)) || logger_is_trainer_word(member->key);
	if (member->kind != OTHER &&
		(span_equal(member->key, SPAN("rank")) || span_equal(member->key, SPAN("global_rank"))) &&
		!(launcher_take_number(&digits, &record->rank) && !digits.len))
		record->rank = RANK_NONE;
}

/* All of the text must be one object. */
static bool read_record(struct span text, struct record *record)
{
	struct member member;

	if (!span_take(&text, SPAN("{")))
		return false;
	*record = (struct record){.message_order = message_order(SPAN("")), .rank = RANK_NONE};
	for (int i = 0; i < MEMBERS_MAX; i++) {
		skip_json_blanks(&text);
		if (!take_json_text(&text, &member.key))
			return false;
		skip_json_blanks(&text);
		if (!span_take(&text, SPAN(":")))
			return false;
		skip_json_blanks(&text);
		if (!take_value(&text, &member))
			return false;
		note_member(record, &member);
		skip_json_blanks(&text);
		if (span_take(&text, SPAN(",")))
			continue;
		bool is_whole = span_take(&text, SPAN("}"));
		skip_json_blanks(&text);
		bool is_dockers = record->has_stream && record->message_order == 0;
		return is_whole && !text.len && record->message.ptr && (is_dockers || !record->has_own);
	}
	return false;
}

static bool take_hex(struct span *text, uint32_t *code)
{
	*code = 0;
	for (size_t i = 0; i < 4; i++) {
		int digit = i < text->len ? span_hex_digit(text->ptr[i]) : -1;
		if (digit < 0)
			return false;
		*code = *code << 4 | (uint32_t)digit;
	}
	*text = span_skip(*text, 4);
	return true;
}

/* What stands behind "\u": a pair of surrogates is one character, half a pair and NUL are none. */
static void append_code(struct span *text, struct buf *out)
{
	uint32_t code, low;
	struct span rest;

	if (!take_hex(text, &code) || !code)
		return;
	if (code >= 0xd800 && code < 0xe000) {
		rest = *text;
		if (code >= 0xdc00 || !span_take(&rest, SPAN("\\u")) || !take_hex(&rest, &low) || low < 0xdc00 ||
			low >= 0xe000)
			return;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		*text = rest;
	}
	if (code < 0x80) {
		buf_append_char(out, code == '\n' ? '\r' : (char)code);
		return;
	}
	if (code >= 0x10000)
		buf_append_char(out, (char)(0xf0 | code >> 18));
	if (code >= 0x800)
		buf_append_char(out, (char)(code >= 0x10000 ? 0x80 | (code >> 12 & 63) : 0xe0 | code >> 12));
	buf_append_char(out, (char)(code >= 0x800 ? 0x80 | (code >> 6 & 63) : 0xc0 | code >> 6));
	buf_append_char(out, (char)(0x80 | (code & 63)));
}

/* What stands behind the backslash. */
static void append_escaped(struct span *text, struct buf *out)
{
	char c = char_at(*text, 0);

	if (!text->len)
		return;
	*text = span_skip(*text, 1);
	if (c == 'u')
		append_code(text, out);
	else
		buf_append_char(out, c == 'n' || c == 'r' ? '\r' : c == 't' ? '\t' : c == 'b' || c == 'f' ? ' ' : c);
}

static size_t length_of_plain(struct span text)
{
	const char *escape = text.len ? memchr(text.ptr, '\\', text.len) : NULL;

	return escape ? (size_t)(escape - text.ptr) : text.len;
}

void unwrap_append_plain(struct span text, struct buf *out)
{
	while (text.len) {
		size_t plain = length_of_plain(text);
		buf_append(out, text.ptr, plain);
		text = span_skip(text, plain + 1);
		append_escaped(&text, out);
	}
}

/* Where the byte `wanted` of what unwrap_append_plain makes stands; SIZE_MAX: it is part of an escape, or there are not so many. */
static size_t find_plain(struct span text, size_t wanted)
{
	AUTO_DONE(buf) one = BUF_INIT(64);
	struct span rest = text;

	while (rest.len) {
		size_t plain = length_of_plain(rest);
		if (wanted < plain)
			return (size_t)(rest.ptr - text.ptr) + wanted;
		wanted -= plain;
		rest = span_skip(rest, plain + 1);
		buf_reset(&one);
		append_escaped(&rest, &one);
		if (one.failure || wanted < one.len)
			break;
		wanted -= one.len;
	}
	return SIZE_MAX;
}

static bool find_before(const struct unwrap_level *level, struct span part, struct span *where)
{
	size_t at = (size_t)(part.ptr - level->after.ptr);

	if (at + part.len <= level->kept) {
		*where = span_of(level->before.ptr + at, part.len);
		return true;
	}
	if (at < level->head)
		return false;
	size_t start = find_plain(level->message, at - level->head);
	size_t last = find_plain(level->message, at - level->head + part.len - 1);
	if (start == SIZE_MAX || last == SIZE_MAX)
		return false;
	*where = span_of(level->message.ptr + start, last + 1 - start);
	return true;
}

bool unwrap_trace_find(const struct unwrap_trace *trace, struct span part, struct span *where)
{
	*where = part;
	for (size_t i = trace->count; i-- > 0;) {
		struct span after = trace->levels[i].after;
		bool is_within =
			where->len && where->ptr >= after.ptr && where->ptr + where->len <= after.ptr + after.len;
		if (!is_within || !find_before(&trace->levels[i], *where, where))
			return false;
	}
	return true;
}

/* Of the rest, which the buffer has room for: what is unwrapped may lie in it. */
static bool unwrap_one(struct span *text, struct buf *out, struct unwrap_level *level)
{
	struct prefix prefix;
	struct record record;
	struct span trimmed = span_trim(*text);

	if (!trimmed.len || trimmed.ptr[trimmed.len - 1] != '}')
		return false;
	struct span inside = line_peel(*text, NULL, &prefix);
	for (size_t i = prefix.count; char_at(inside, 0) != '{' && i-- > 0;)
		inside = prefix.starts[i];
	if (char_at(inside, 0) != '{' || !read_record(inside, &record))
		return false;
	size_t from = out->len;
	buf_append(out, text->ptr, (size_t)(inside.ptr - text->ptr));
	if (record.rank != RANK_NONE)
		buf_printf(out, "[rank%d]:", (int)record.rank);
	*level = (struct unwrap_level){
		*text, .message = record.message, .head = out->len - from, .kept = (size_t)(inside.ptr - text->ptr)};
	unwrap_append_plain(record.message, out);
	while (out->len > from && out->ptr[out->len - 1] == '\r')
		out->len--;
	*text = level->after = span_of(out->ptr + from, out->len - from);
	return !out->failure;
}

bool line_unwrap(struct span *text, struct buf *out, struct unwrap_trace *trace)
{
	struct unwrap_level level;
	struct span rest = span_trim(*text);

	if (!rest.len || rest.ptr[rest.len - 1] != '}' || span_find_char(rest, '{') < 0)
		return false;
	buf_reset(out);
	if (!buf_reserve(out, UNWRAP_RECORDS_MAX * (text->len + TAG_BYTES)))
		return false;
	size_t count = 0;
	while (count < UNWRAP_RECORDS_MAX && unwrap_one(text, out, trace ? &trace->levels[count] : &level))
		count++;
	if (trace)
		trace->count = count;
	return count > 0;
}
