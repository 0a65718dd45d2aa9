#include "extract/settings/settings_forms.h"

#include "base/buf.h"
#include "base/json/json_read.h"
#include "extract/settings/setting.h"

enum { PATH_DEPTH_MAX = 8, JOINED_MAX = SETTING_VALUE_MAX_BYTES + 1 };

/* ---- brackets and quotes ---- */

static bool is_open(char c)
{
	return c == '(' || c == '[' || c == '{';
}

static bool is_close(char c)
{
	return c == ')' || c == ']' || c == '}';
}

/* Behind the quote that ends the string which starts at `at`; the end of the text when it stays open. */
static size_t skip_string(struct span text, size_t at)
{
	char quote = text.ptr[at++];

	for (; at < text.len && text.ptr[at] != quote; at++)
		at += text.ptr[at] == '\\';
	return at < text.len ? at + 1 : text.len;
}

/* An apostrophe inside a word is none. */
static bool starts_string(struct span text, size_t at)
{
	char before = at ? text.ptr[at - 1] : ' ';

	return text.ptr[at] == '"' || (text.ptr[at] == '\'' && (before == '=' || before == ' ' || before == ',' ||
								       before == ':' || is_open(before)));
}

size_t settings_bracket_length(struct span text)
{
	size_t depth = 0;

	for (size_t at = 0; at < text.len; at++) {
		if (starts_string(text, at)) {
			at = skip_string(text, at) - 1;
			continue;
		}
		depth += is_open(text.ptr[at]);
		if (is_close(text.ptr[at]) && --depth == 0)
			return at + 1;
	}
	return 0;
}

/* Up to the next separator that is in no bracket and no string. */
static size_t part_length(struct span text, char separator)
{
	size_t depth = 0, at = 0;

	for (; at < text.len; at++) {
		if (starts_string(text, at)) {
			at = skip_string(text, at) - 1;
			continue;
		}
		if (depth == 0 && text.ptr[at] == separator)
			break;
		depth += is_open(text.ptr[at]);
		depth -= is_close(text.ptr[at]) && depth;
	}
	return at;
}

static bool is_name(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i], lower = (char)(c | 0x20);
		bool is_letter = (lower >= 'a' && lower <= 'z') || c == '_';
		bool is_inner = (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
		if (!is_letter && !(i && is_inner))
			return false;
	}
	return text.len > 0;
}

/* ---- Python's repr ---- */

/* 'adamw' and "\"adamw\"" (JSON inside a string, as SageMaker's hyperparameters are) are both adamw. */
static struct span unquoted(struct span value)
{
	for (int i = 0; i < 2 && value.len >= 2; i++) {
		char first = value.ptr[0], last = value.ptr[value.len - 1];
		if (first != last || (first != '"' && first != '\''))
			break;
		value = span_of(value.ptr + 1, value.len - 2);
	}
	return value;
}

/* IntervalStrategy.NO and <IntervalStrategy.NO: 'no'> are how enums print. */
static struct span unwrapped(struct span value)
{
	ptrdiff_t colon = value.len > 2 && value.ptr[0] == '<' ? span_find(value, SPAN(": ")) : -1;

	if (colon < 0 || value.ptr[value.len - 1] != '>')
		return value;
	return span_of(value.ptr + colon + 2, value.len - (size_t)colon - 3);
}

static bool is_nothing(struct span value)
{
	return span_equal(value, SPAN("None")) || span_equal(value, SPAN("null"));
}

struct span settings_typed(struct span value)
{
	if (span_equal(value, SPAN("True")))
		return SPAN("true");
	if (span_equal(value, SPAN("False")))
		return SPAN("false");
	return unquoted(unwrapped(value));
}

struct path {
	char text[SETTING_KEY_MAX_BYTES];
	size_t len;
};

static struct span path_span(const struct path *path)
{
	return span_of(path->text, path->len);
}

/* False: too long, and then everything below is left out. */
static bool path_add(struct path *path, struct span prefix, struct span name)
{
	size_t need = prefix.len + (prefix.len ? 1 : 0) + name.len;

	if (need > sizeof path->text || !name.len)
		return false;
	path->len = 0;
	if (prefix.len) {
		memcpy(path->text, prefix.ptr, prefix.len);
		path->text[prefix.len] = '.';
		path->len = prefix.len + 1;
	}
	memcpy(path->text + path->len, name.ptr, name.len);
	path->len += name.len;
	return true;
}

static enum status take_arguments(
	struct settings *settings, struct span prefix, struct span inside, int depth, struct error *err);

/* `Name(…)`, a dataclass inside a dataclass: its inside; empty: it is none. */
static struct span nested_call(struct span value)
{
	ptrdiff_t open = span_find_char(value, '(');

	if (open <= 0 || !is_name(span_of(value.ptr, (size_t)open)) ||
		settings_bracket_length(span_skip(value, (size_t)open)) != value.len - (size_t)open)
		return SPAN("");
	return span_of(value.ptr + open + 1, value.len - (size_t)open - 2);
}

static enum status take_argument(
	struct settings *settings, struct span prefix, struct span part, int depth, struct error *err)
{
	size_t equals = part_length(part, '=');
	struct span name = span_trim(span_of(part.ptr, equals));
	struct path path;

	if (equals >= part.len || !is_name(name))
		return OK;
	struct span value = span_trim(span_skip(part, equals + 1));
	struct span inside = nested_call(value);
	if (inside.len && depth < PATH_DEPTH_MAX && path_add(&path, prefix, name))
		return take_arguments(settings, path_span(&path), inside, depth + 1, err);
	if (is_nothing(value))
		return OK;
	return settings_put(settings, prefix, name, settings_typed(value), err);
}

static enum status take_arguments(
	struct settings *settings, struct span prefix, struct span inside, int depth, struct error *err)
{
	while (inside.len) {
		size_t len = part_length(inside, ',');
		TRY(take_argument(settings, prefix, span_of(inside.ptr, len), depth, err));
		inside = span_skip(inside, len + 1);
	}
	return OK;
}

enum status settings_take_call(struct settings *settings, struct span call, struct error *err)
{
	size_t len = settings_bracket_length(call);

	if (len < 2)
		return OK;
	return take_arguments(settings, SPAN(""), span_of(call.ptr + 1, len - 2), 0, err);
}

static enum status take_items(
	struct settings *settings, struct span prefix, struct span dict, int depth, struct error *err);

static enum status take_item(
	struct settings *settings, struct span prefix, struct span part, int depth, struct error *err)
{
	size_t colon = part_length(part, ':');
	struct span quoted = span_trim(span_of(part.ptr, colon)), name = unquoted(quoted);
	struct path path;

	if (colon >= part.len || name.len == quoted.len || !is_name(name))
		return OK;
	struct span value = span_trim(span_skip(part, colon + 1));
	if (!value.len || is_nothing(value))
		return OK;
	if (value.ptr[0] != '{')
		return settings_put(settings, prefix, name, settings_typed(value), err);
	if (depth == PATH_DEPTH_MAX || !path_add(&path, prefix, name))
		return OK;
	return take_items(settings, path_span(&path), value, depth + 1, err);
}

static enum status take_items(
	struct settings *settings, struct span prefix, struct span dict, int depth, struct error *err)
{
	size_t length = settings_bracket_length(dict);
	struct span inside = length > 2 ? span_of(dict.ptr + 1, length - 2) : SPAN("");

	while (inside.len) {
		size_t len = part_length(inside, ',');
		TRY(take_item(settings, prefix, span_of(inside.ptr, len), depth, err));
		inside = span_skip(inside, len + 1);
	}
	return OK;
}

enum status settings_take_dict(struct settings *settings, struct span prefix, struct span dict, struct error *err)
{
	return take_items(settings, prefix, dict, 0, err);
}

/* ---- JSON ---- */

static void print_scalar(const struct json *node, struct buf *out)
{
	if (json_kind(node) == JSON_STRING)
		buf_append_span(out, unquoted(json_string_of(node)));
	else
		json_print(node, out);
}

/* [0.9, 0.95] is "0.9, 0.95"; false: it holds objects, which have no place in one value. */
static bool print_value(const struct json *node, struct buf *out)
{
	if (json_kind(node) != JSON_ARRAY) {
		print_scalar(node, out);
		return true;
	}
	for (const struct json *item = json_first(node); item; item = json_next(item)) {
		if (json_kind(item) == JSON_OBJECT || json_kind(item) == JSON_ARRAY)
			return false;
		if (item != json_first(node))
			buf_append_text(out, ", ");
		print_scalar(item, out);
	}
	return true;
}

static enum status take_object(
	struct settings *settings, struct span prefix, const struct json *object, int depth, struct error *err)
{
	for (const struct json *node = json_first(object); node; node = json_next(node)) {
		struct path path;
		if (json_kind(node) == JSON_OBJECT) {
			if (depth < PATH_DEPTH_MAX && path_add(&path, prefix, json_key_of(node)))
				TRY(take_object(settings, path_span(&path), node, depth + 1, err));
			continue;
		}
		AUTO_DONE(buf) value = BUF_INIT(JOINED_MAX);
		if (json_kind(node) == JSON_NULL || !print_value(node, &value))
			continue;
		if (value.failure == ERR_MEMORY)
			return buf_status(&value, err);
		if (!value.failure)
			TRY(settings_put(settings, prefix, json_key_of(node), buf_span(&value), err));
	}
	return OK;
}

enum status settings_take_json(
	struct settings *settings, struct span prefix, const struct json *object, struct error *err)
{
	return take_object(settings, prefix, object, 0, err);
}

/* ---- options of a command ---- */

/* One word of a shell command; quotes stay, and are taken off the finished value. */
static struct span next_word(struct span *rest)
{
	size_t start = 0, at;

	while (start < rest->len && (rest->ptr[start] == ' ' || rest->ptr[start] == '\t' || rest->ptr[start] == '\\'))
		start++;
	*rest = span_skip(*rest, start);
	for (at = 0; at < rest->len && rest->ptr[at] != ' ' && rest->ptr[at] != '\t'; at++)
		if ((rest->ptr[at] == '"' || rest->ptr[at] == '\'') && (at == 0 || rest->ptr[at - 1] == '='))
			at = skip_string(*rest, at) - 1;
	struct span word = span_of(rest->ptr, at);
	*rest = span_skip(*rest, at);
	return word;
}

/* --lr-decay-style and lr_decay_style are one setting. */
static enum status put_option(struct settings *settings, struct span name, const struct buf *value, struct error *err)
{
	char key[SETTING_KEY_MAX_BYTES];

	if (name.len > sizeof key || !is_name(name) || value->failure)
		return OK;
	for (size_t i = 0; i < name.len; i++)
		key[i] = name.ptr[i] == '-' ? '_' : name.ptr[i];
	struct span text = value->len ? buf_span(value) : SPAN("true");
	return settings_put(settings, SPAN(""), span_of(key, name.len), text, err);
}

static bool is_option(struct span word)
{
	return word.len > 2 && word.ptr[0] == '-' && word.ptr[1] == '-';
}

/* What ends a command: a pipe, a redirection, the next command. */
static bool ends_command(struct span word)
{
	char c = word.ptr[0];

	return c == '|' || c == '>' || c == '&' || c == ';' || span_equal(word, SPAN("2>&1"));
}

enum status settings_take_options(struct settings *settings, struct span options, struct error *err)
{
	struct span word = next_word(&options);

	while (word.len && !ends_command(word)) {
		AUTO_DONE(buf) value = BUF_INIT(JOINED_MAX);
		struct span name = SPAN("");
		if (is_option(word)) {
			name = span_skip(word, 2);
			ptrdiff_t equals = span_find_char(name, '=');
			if (equals > 0) {
				buf_append_span(&value, unquoted(span_skip(name, (size_t)equals + 1)));
				name.len = (size_t)equals;
			}
		}
		/* a word that starts with `-` and a letter is a short option; -1 is a value */
		for (word = next_word(&options);
			word.len && !is_option(word) && !ends_command(word) &&
			!(word.ptr[0] == '-' && word.len > 1 && is_name(span_of(word.ptr + 1, 1)));
			word = next_word(&options)) {
			if (value.len)
				buf_append_char(&value, ' ');
			buf_append_span(&value, unquoted(word));
		}
		if (name.len)
			TRY(put_option(settings, name, &value, err));
	}
	return OK;
}
