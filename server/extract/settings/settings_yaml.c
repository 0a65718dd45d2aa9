/* YAML as it is printed: `key: value`, nested by indentation. */
#include "extract/settings/settings_forms.h"
#include "extract/settings/settings_state.h"

#include <string.h>

static size_t indent_of(struct span text)
{
	size_t indent = 0;

	while (indent < text.len && text.ptr[indent] == ' ')
		indent++;
	return indent;
}

static bool is_yaml_key(struct span key)
{
	for (size_t i = 0; i < key.len; i++) {
		char c = key.ptr[i], lower = (char)(c | 0x20);
		if (!((lower >= 'a' && lower <= 'z') || c == '_' ||
			    (i && ((c >= '0' && c <= '9') || c == '-' || c == '.'))))
			return false;
	}
	return key.len > 0;
}

/* A path that is to be gone on with. */
static void push_level(struct settings *settings, size_t indent, struct span key)
{
	size_t above = settings->level_count ? settings->levels[settings->level_count - 1].path_len : 0;
	size_t len = above + (above ? 1 : 0) + key.len;

	if (settings->level_count == YAML_DEPTH_MAX || len > sizeof settings->yaml_path)
		return;
	if (above)
		settings->yaml_path[above] = '.';
	memcpy(settings->yaml_path + len - key.len, key.ptr, key.len);
	settings->levels[settings->level_count++] = (struct yaml_level){indent, len};
}

/* An item of a list below a key is no setting, nor is what is below the item: its level bears a name that no key has. */
static bool is_yaml_item(struct settings *settings, size_t indent, struct span line)
{
	size_t count = settings->level_count;

	if (!line.len || line.ptr[0] != '-' || (line.len > 1 && line.ptr[1] != ' '))
		return false;
	while (count && settings->levels[count - 1].indent > indent)
		count--;
	if (!count)
		return false;
	settings->level_count = count;
	push_level(settings, indent + 1, SPAN("-"));
	return true;
}

static bool is_in_item(struct span path)
{
	return span_find(path, SPAN(".-.")) >= 0 || span_ends_with(path, SPAN(".-"));
}

enum status settings_take_yaml(struct settings *settings, struct span text, struct error *err)
{
	size_t indent = indent_of(text);
	struct span line = span_trim(text);
	ptrdiff_t colon = span_find_char(line, ':');
	struct span key = colon > 0 ? span_of(line.ptr, (size_t)colon) : SPAN("");
	struct span value = colon > 0 ? span_trim(span_skip(line, (size_t)colon + 1)) : SPAN("");
	bool has_blank = colon > 0 && ((size_t)colon + 1 == line.len || line.ptr[colon + 1] == ' ');

	if (is_yaml_item(settings, indent, line))
		return OK;
	if (!is_yaml_key(key) || !has_blank) {
		settings->yaml_left = 0;
		return OK;
	}
	while (settings->level_count && settings->levels[settings->level_count - 1].indent >= indent)
		settings->level_count--;
	if (!value.len) {
		push_level(settings, indent, key);
		return OK;
	}
	size_t above = settings->level_count ? settings->levels[settings->level_count - 1].path_len : 0;
	struct span path = span_of(settings->yaml_path, above);
	/* ??? and ${…} are OmegaConf's for what is missing, and for what stands elsewhere */
	bool is_nothing = span_equal(value, SPAN("null")) || span_equal(value, SPAN("~")) ||
			  span_equal(value, SPAN("???")) || span_starts_with(value, SPAN("${")) || is_in_item(path);
	if (value.len >= 2 && value.ptr[0] == value.ptr[value.len - 1] && (value.ptr[0] == '"' || value.ptr[0] == '\''))
		value = span_of(value.ptr + 1, value.len - 2);
	return is_nothing ? OK : settings_put(settings, path, key, value, err);
}
