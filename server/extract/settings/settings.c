/* Finds where settings are printed; settings_forms.c reads them. */
#include "extract/settings/settings.h"

#include "base/json/json_read.h"
#include "extract/line/ansi.h"
#include "extract/line/prefix.h"
#include "extract/line/unwrap.h"
#include "extract/settings/settings_forms.h"
#include "extract/settings/settings_state.h"

enum {
	LINE_MAX_BYTES = 256 << 10,
	DOTS_MIN = 3,
};

struct settings *settings_new(void)
{
	AUTO(settings) settings = mem_zeroed(sizeof *settings);

	if (!settings)
		return NULL;
	settings->plain = BUF_INIT(LINE_MAX_BYTES);
	settings->dump = BUF_INIT(DUMP_MAX_BYTES);
	return TAKE(settings);
}

void settings_free(struct settings *settings)
{
	if (!settings)
		return;
	settings_forget(settings);
	buf_done(&settings->plain);
	buf_done(&settings->dump);
	mem_free(settings);
}

void settings_forget(struct settings *settings)
{
	arena_free(settings->arena);
	map_free(settings->by_key);
	mem_free(settings->items);
	settings->arena = NULL;
	settings->by_key = NULL;
	settings->items = NULL;
	settings->count = settings->cap = 0;
}

bool settings_has_ended(const struct settings *settings)
{
	return settings->lines >= SETTINGS_LINES_MAX;
}

size_t settings_count(const struct settings *settings)
{
	return settings->count;
}

const struct setting *settings_get(const struct settings *settings, size_t index)
{
	return index < settings->count ? &settings->items[index] : NULL;
}

/* Most streams never say a setting: there is nothing to keep them in until one is found. */
static bool have_room(struct settings *settings)
{
	if (!settings->arena)
		settings->arena = arena_new();
	if (!settings->by_key)
		settings->by_key = map_new();
	return settings->arena && settings->by_key;
}

static bool is_text(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return false;
	return span_is_utf8(s);
}

enum status settings_put(
	struct settings *settings, struct span prefix, struct span key, struct span value, struct error *err)
{
	char joined[SETTING_KEY_MAX_BYTES];
	size_t len = prefix.len + (prefix.len ? 1 : 0) + key.len;

	if (!key.len || !value.len || len > sizeof joined || value.len > SETTING_VALUE_MAX_BYTES ||
		settings->count == SETTINGS_MAX || !is_text(prefix) || !is_text(key) || !is_text(value))
		return OK;
	if (prefix.len) {
		memcpy(joined, prefix.ptr, prefix.len);
		joined[prefix.len] = '.';
	}
	memcpy(joined + len - key.len, key.ptr, key.len);
	if (!have_room(settings))
		return error_no_memory(err);
	if (map_get(settings->by_key, span_of(joined, len)))
		return OK;
	struct setting made = {
		arena_copy(settings->arena, span_of(joined, len)), arena_copy(settings->arena, value), settings->line};
	if (!made.key.ptr || !made.value.ptr ||
		!mem_grow((void **)&settings->items, settings->count, &settings->cap, sizeof *settings->items) ||
		!map_put(settings->by_key, made.key, settings))
		return error_no_memory(err);
	settings->items[settings->count++] = made;
	return OK;
}

/* ---- dumps over several lines ---- */

static enum status take_json_text(struct settings *settings, struct span text, bool is_environment, struct error *err)
{
	AUTO(json) json = NULL;
	struct error ignored = {0};

	enum status status = json_parse(&json, text, &ignored);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK) /* it only looked like JSON */
		return is_environment ? OK : settings_take_dict(settings, SPAN(""), text, err);
	if (is_environment) /* SageMaker's workers all name the node that they connect to: rank 0's */
		TRY(settings_put(settings, SPAN(""), SPAN("master_hostname"),
			json_string_of(json_get(json, "master_hostname")), err));
	const struct json *object = is_environment ? json_get(json, "hyperparameters") : json;
	return object && json_kind(object) == JSON_OBJECT ? settings_take_json(settings, SPAN(""), object, err) : OK;
}

static enum status end_dump(struct settings *settings, struct error *err)
{
	enum gathering gathering = settings->gathering;
	struct span text = buf_span(&settings->dump);
	size_t len = settings_bracket_length(text);

	if (!len)
		return OK;
	settings->gathering = NOTHING;
	text.len = len;
	if (gathering == CALL_DUMP)
		return settings_take_call(settings, text, err);
	return take_json_text(settings, text, gathering == ENVIRONMENT_DUMP, err);
}

static enum status gather(struct settings *settings, struct span text, struct error *err)
{
	/* only the lines that may close it are looked at as a whole: no work by the square of its length */
	bool may_end = span_find_char(text, ')') >= 0 || span_find_char(text, '}') >= 0;

	buf_append_span(&settings->dump, text);
	buf_append_char(&settings->dump, ' ');
	if (settings->dump.failure) {
		settings->gathering = NOTHING;
		return settings->dump.failure == ERR_MEMORY ? error_no_memory(err) : OK;
	}
	return may_end ? end_dump(settings, err) : OK;
}

static enum status begin_dump(struct settings *settings, enum gathering gathering, struct span from, struct error *err)
{
	settings->gathering = gathering;
	buf_reset(&settings->dump);
	return gather(settings, from, err);
}

/* ---- `key ...... value` ---- */

/* {'block_size': 1048576}, <a.B object at 0x7f0a>, `stage=2 contiguous_gradients=True`: what DeepSpeed's table has of objects. */
static bool is_object(struct span value)
{
	ptrdiff_t equals = span_find_char(value, '='), blank = span_find_char(value, ' ');

	return value.len && (value.ptr[0] == '{' || value.ptr[0] == '<' || (equals > 0 && equals < blank));
}

static enum status take_dotted(struct settings *settings, struct span text, struct error *err)
{
	struct span rest = span_trim(text), key;
	size_t dots = 0;

	if (!span_next(&rest, ' ', &key))
		return OK;
	rest = span_trim(rest);
	while (dots < rest.len && rest.ptr[dots] == '.')
		dots++;
	struct span value = span_trim(span_skip(rest, dots));
	if (dots < DOTS_MIN || span_equal(value, SPAN("None")) || is_object(value))
		return OK;
	return settings_put(settings, SPAN(""), key, settings_typed(value), err);
}

/* ---- where they are ---- */

static bool is_name_char(char c)
{
	char lower = (char)(c | 0x20);

	return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* `Namespace(`, `TrainingArguments(`, `TrainConfig(`: the place of the parenthesis, or -1. */
static ptrdiff_t find_call(struct span text)
{
	static const struct span endings[] = {
		SPAN("Namespace"), SPAN("Arguments"), SPAN("Args"), SPAN("Config"), SPAN("Params")};

	for (ptrdiff_t at = 0, next; (next = span_find_char(span_skip(text, (size_t)at), '(')) >= 0; at += next + 1) {
		struct span before = span_of(text.ptr, (size_t)(at + next));
		for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
			if (span_ends_with(before, endings[i]))
				return at + next;
	}
	return -1;
}

/* The words right behind a `(` that begins a repr: a name and `=`, or nothing when it goes on in the next line. */
static bool begins_repr(struct span inside)
{
	size_t at = 0;

	inside = span_trim(inside);
	while (at < inside.len && is_name_char(inside.ptr[at]))
		at++;
	return inside.len == 0 || (at && at < inside.len && inside.ptr[at] == '=');
}

static enum status take_call(struct settings *settings, struct span from, struct error *err)
{
	if (settings_bracket_length(from))
		return settings_take_call(settings, from, err);
	return begin_dump(settings, CALL_DUMP, from, err);
}

/* :::MLLOG {"key": "opt_base_learning_rate", "value": 6.2, …}: MLPerf's names of hyperparameters. */
static enum status take_mlperf(struct settings *settings, struct span text, struct error *err)
{
	static const struct span names[] = {SPAN("opt_"), SPAN("lars_"), SPAN("sgd_"), SPAN("lora_"),
		SPAN("global_batch_size"), SPAN("gradient_accumulation_steps"), SPAN("max_sequence_length"),
		SPAN("train_samples"), SPAN("eval_samples"), SPAN("seed"), SPAN("model_bn_span"),
		SPAN("init_checkpoint_step"), SPAN("samples_per_epoch")};
	AUTO(json) json = NULL;
	struct error ignored = {0};
	ptrdiff_t open = span_find_char(text, '{');

	size_t len = open < 0 ? 0 : settings_bracket_length(span_skip(text, (size_t)open));
	if (!len || json_parse(&json, span_of(text.ptr + open, len), &ignored) != OK)
		return OK;
	struct span key = json_string_of(json_get(json, "key"));
	const struct json *value = json_get(json, "value");
	for (size_t i = 0; value && i < sizeof names / sizeof names[0]; i++) {
		AUTO_DONE(buf) printed = BUF_INIT(SETTING_VALUE_MAX_BYTES + 1);
		if (!span_starts_with(key, names[i]))
			continue;
		if (json_kind(value) == JSON_STRING)
			buf_append_span(&printed, json_string_of(value));
		else if (json_kind(value) == JSON_NUMBER || json_kind(value) == JSON_BOOL)
			json_print(value, &printed);
		return printed.failure ? OK : settings_put(settings, SPAN(""), key, buf_span(&printed), err);
	}
	return OK;
}

/* The options of the script, not those of the launchers before it: from behind `.py` on, or a line that only goes on. */
static struct span find_options(struct span text)
{
	ptrdiff_t script = span_find(text, SPAN(".py "));
	struct span trimmed = span_trim(text);

	if (script >= 0 && span_find(text, SPAN(" --")) >= 0)
		return span_skip(text, (size_t)script + 4);
	return span_starts_with(trimmed, SPAN("--")) && trimmed.len > 2 && is_name_char(trimmed.ptr[2]) ? trimmed
													: SPAN("");
}

static bool ends_with_fold(struct span text, struct span ending)
{
	return text.len >= ending.len && span_equal_fold(span_skip(text, text.len - ending.len), ending);
}

static bool announces_yaml(struct span text)
{
	static const struct span endings[] = {SPAN("config:"), SPAN("configuration:"), SPAN("hyperparameters:"),
		SPAN("arguments:"), SPAN("hparams:"), SPAN("config"), SPAN("configuration")};

	while (text.len && (text.ptr[text.len - 1] == '*' || text.ptr[text.len - 1] == ' '))
		text.len--; /* NeMo: "************** Experiment configuration ***********" */
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (ends_with_fold(text, endings[i]))
			return true;
	return false;
}

/* `json = {`, `config: {`, `Hyperparameters: {"lr": …}`: what stands before the first brace. */
static bool ends_with_word_of_json(struct span before)
{
	static const struct span words[] = {SPAN("json = "), SPAN("SM_HPS="), SPAN("onfig: "), SPAN("onfigs: "),
		SPAN("onfig = "), SPAN("onfiguration: "), SPAN("yperparameters: "), SPAN("yperparameters = "),
		SPAN("params: "), SPAN("args: "), SPAN("rguments: ")};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (span_ends_with(before, words[i]))
			return true;
	return false;
}

/* What `(` and `{` begin. *is_taken: it was that, and nothing else is to be looked for. */
static enum status look_at_brackets(
	struct settings *settings, struct span text, ptrdiff_t brace, bool *is_taken, struct error *err)
{
	ptrdiff_t at;

	*is_taken = true;
	bool is_environment = brace >= 0 && span_ends_with(span_of(text.ptr, (size_t)brace), SPAN("SM_TRAINING_ENV="));
	if (brace >= 0 && (settings->expects_environment || is_environment)) {
		settings->expects_environment = false;
		return begin_dump(settings, ENVIRONMENT_DUMP, span_skip(text, (size_t)brace), err);
	}
	if (brace >= 0 && span_find(text, SPAN(":::MLLOG")) >= 0)
		return take_mlperf(settings, text, err);
	if ((at = find_call(text)) >= 0 && begins_repr(span_skip(text, (size_t)at + 1)))
		return take_call(settings, span_skip(text, (size_t)at), err);
	if (brace >= 0 && ends_with_word_of_json(span_of(text.ptr, (size_t)brace)))
		return begin_dump(settings, JSON_DUMP, span_skip(text, (size_t)brace), err);
	*is_taken = false;
	return OK;
}

/* What the line's end announces for the next ones. */
static void look_at_end(struct settings *settings, struct span text)
{
	struct span trimmed = span_trim(text);
	char last = trimmed.len ? (char)(trimmed.ptr[trimmed.len - 1] | 0x20) : ' ';

	if (last != ':' && last != 'g' && last != 'n' && last != '*')
		return;
	if (span_ends_with(trimmed, SPAN("Training Env:"))) {
		settings->expects_environment = true;
	} else if (span_ends_with(trimmed, SPAN("DeepSpeedEngine configuration:"))) {
		settings->block_left = BLOCK_LINES_MAX;
	} else if (announces_yaml(trimmed)) {
		settings->yaml_left = BLOCK_LINES_MAX;
		settings->level_count = 0;
	}
}

/* Every line of a run's start comes here, and most say nothing: each form is looked for behind a character that it needs. */
static enum status look(struct settings *settings, struct span text, struct error *err)
{
	ptrdiff_t brace = span_find_char(text, '{');
	bool is_taken = false;

	if (brace >= 0 || span_find_char(text, '(') >= 0)
		TRY(look_at_brackets(settings, text, brace, &is_taken, err));
	if (is_taken)
		return OK;
	if (span_find(text, SPAN("--")) >= 0) {
		if (span_find(text, SPAN("--- arguments ---")) >= 0) {
			settings->block_left = BLOCK_LINES_MAX;
			return OK;
		}
		struct span options = find_options(text);
		if (options.len)
			return settings_take_options(settings, options, err);
	}
	look_at_end(settings, text);
	return settings_take_said(settings, text, err);
}

/* NeMo's logger begins a message of several lines with one that has its own words alone: "[NeMo I 2023-09-25 08:15:59 train:44]" */
static bool is_blank(struct span text)
{
	struct span trimmed = span_trim(text);

	return !trimmed.len || (span_starts_with(trimmed, SPAN("[NeMo ")) && span_ends_with(trimmed, SPAN("]")));
}

static enum status feed_plain(struct settings *settings, struct span text, struct error *err)
{
	if (settings->gathering != NOTHING)
		return gather(settings, text, err);
	if (settings->block_left) {
		settings->block_left--;
		if (span_find(text, SPAN("--- end of arguments")) >= 0 ||
			span_find(text, SPAN("-- end of arguments")) >= 0)
			settings->block_left = 0;
		if (span_find(text, SPAN("json = {")) < 0)
			return take_dotted(settings, text, err);
		settings->block_left = 0; /* behind DeepSpeed's table is what the user gave */
	}
	if (settings->yaml_left && !is_blank(text)) {
		settings->yaml_left--;
		TRY(settings_take_yaml(settings, text, err));
		if (settings->yaml_left)
			return OK;
	}
	return look(settings, text, err);
}

/* Behind what launchers, collectors and loggers put in front of it. */
static enum status feed_message(struct settings *settings, struct span text, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(4 * LINE_MAX_BYTES);
	struct prefix prefix;

	if (line_may_be_wrapped(text) && line_unwrap(&text, &message, NULL)) {
		for (struct span rest = text, part; span_next(&rest, '\r', &part);)
			TRY(feed_plain(settings, line_peel(part, NULL, &prefix), err));
		return OK;
	}
	return feed_plain(settings, line_peel(text, NULL, &prefix), err);
}

enum status settings_feed(struct settings *settings, struct span text, uint64_t number, struct error *err)
{
	if (settings->lines >= SETTINGS_LINES_MAX || text.len > LINE_MAX_BYTES)
		return OK;
	settings->lines++;
	settings->line = number;
	if (text.len && memchr(text.ptr, 0x1b, text.len)) {
		buf_reset(&settings->plain);
		ansi_strip(text, &settings->plain);
		TRY(buf_status(&settings->plain, err));
		text = buf_span(&settings->plain);
	}
	return feed_message(settings, text, err);
}
