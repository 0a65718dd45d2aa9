#include "base/options/options.h"

#include "base/arena.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_CONFIG_BYTES = 1 << 20, MAX_NAME = 64 };

struct option_value {
	enum option_origin origin;
	const char *origin_text;
	int64_t number;
	const char **items; /* the texts; one unless a list */
	size_t count, cap;
};

struct options {
	const struct option_program *program;
	struct arena *arena; /* texts that are not argv's */
	const struct option_spec **specs; /* all of the program's tables */
	struct option_value *values; /* of each spec */
	size_t spec_count;
	const char **words;
	size_t word_count, word_cap;
	char *const *command;
	const char *config_path;
	int argc;
	char *const *argv, *const *environment;
	pthread_mutex_t *mutex; /* over values of options that are live */
	enum option_action action;
};

void options_free(struct options *options)
{
	if (!options)
		return;
	for (size_t i = 0; options->values && i < options->spec_count; i++)
		mem_free(options->values[i].items);
	mem_free(options->values);
	mem_free(options->specs);
	mem_free(options->words);
	arena_free(options->arena);
	if (options->mutex)
		pthread_mutex_destroy(options->mutex);
	mem_free(options->mutex);
	mem_free(options);
}

const char *environment_find(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static bool parse_flag(struct span text, int64_t *value)
{
	static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (span_equal_fold(text, span_from(words[i]))) {
			*value = i % 2;
			return true;
		}
	}
	return false;
}

static const struct option_spec *find_spec(const struct options *options, struct span name)
{
	for (size_t i = 0; i < options->spec_count; i++)
		if (span_equal(span_from(options->specs[i]->name), name))
			return options->specs[i];
	return NULL;
}

static struct option_value *slot_of(const struct options *options, const struct option_spec *spec)
{
	size_t i = 0;

	while (options->specs[i] != spec)
		i++;
	return &options->values[i];
}

static const struct option_value *value_of(const struct options *options, const char *name)
{
	const struct option_spec *spec = find_spec(options, span_from(name));

	if (!spec) {
		fprintf(stderr, "%s: the source asks for option '%s', which is not in its table\n",
			options->program->name, name);
		abort();
	}
	return slot_of(options, spec);
}

/* The known name that was probably meant, or NULL when none is near. */
static const char *nearest_name(const struct options *options, struct span name)
{
	static const char *const builtin[] = {"help", "help-markdown", "version", "config"};
	size_t best_distance = 2 + name.len / 5;
	const char *best = NULL;

	for (size_t i = 0; i < options->spec_count + 4; i++) {
		const char *known =
			i < options->spec_count ? options->specs[i]->name : builtin[i - options->spec_count];
		size_t distance = text_distance(name, span_from(known));
		if (name.len >= 3 && span_starts_with(span_from(known), name))
			distance = 1;
		if (distance < best_distance) {
			best_distance = distance;
			best = known;
		}
	}
	return best;
}

static enum status unknown_option(
	const struct options *options, struct span name, const char *dashes, struct error *err)
{
	const char *nearest = nearest_name(options, name);
	char field[MAX_NAME];

	snprintf(field, sizeof field, "%.*s", SPAN_ARGS(name));
	if (nearest)
		return error_set_field(err, ERR_INVALID, field, "unknown option '%s%.*s'; did you mean '%s%s'?", dashes,
			SPAN_ARGS(name), dashes, nearest);
	return error_set_field(err, ERR_INVALID, field, "unknown option '%s%.*s'", dashes, SPAN_ARGS(name));
}

static enum status check_range(const struct option_spec *spec, int64_t number, struct span text, struct error *err)
{
	bool is_open = spec->min == 0 && spec->max == 0;
	int64_t max = is_open ? INT64_MAX : spec->max;

	if (number < spec->min)
		return error_set_field(
			err, ERR_INVALID, spec->name, "'%.*s' is less than %" PRId64, SPAN_ARGS(text), spec->min);
	if (number > max)
		return error_set_field(
			err, ERR_INVALID, spec->name, "'%.*s' is more than %" PRId64, SPAN_ARGS(text), max);
	return OK;
}

static enum status parse_number(const struct option_spec *spec, struct span text, int64_t *number, struct error *err)
{
	static const char *const wanted[] = {[OPTION_FLAG] = "yes or no",
		[OPTION_I64] = "a whole number",
		[OPTION_BYTES] = "a size such as 64KiB or 1GiB",
		[OPTION_DURATION] = "a duration such as 500ms, 60s or 24h"};
	bool is_good = true;

	switch (spec->kind) {
	case OPTION_TEXT:
		return OK;
	case OPTION_FLAG:
		is_good = parse_flag(text, number);
		break;
	case OPTION_I64:
		is_good = span_parse_i64(text, number);
		break;
	case OPTION_BYTES:
		is_good = option_parse_bytes(text, number);
		break;
	case OPTION_DURATION:
		is_good = option_parse_duration(text, number);
		break;
	}
	if (!is_good)
		return error_set_field(
			err, ERR_INVALID, spec->name, "'%.*s' is not %s", SPAN_ARGS(text), wanted[spec->kind]);
	return spec->kind == OPTION_FLAG ? OK : check_range(spec, *number, text, err);
}

/* Takes one text from one origin; a stronger origin that has spoken keeps its word, but nonsense is refused anywhere. */
static enum status set_value(struct options *options, const struct option_spec *spec, struct span text,
	enum option_origin origin, const char *origin_text, struct error *err)
{
	struct option_value *value = slot_of(options, spec);
	int64_t number = 0;

	TRY(parse_number(spec, text, &number, err));
	if (origin < value->origin)
		return OK;
	if (origin > value->origin || !spec->is_list)
		value->count = 0;
	char *copy = arena_alloc(options->arena, text.len + 1);
	if (!copy || !mem_grow((void **)&value->items, value->count, &value->cap, sizeof *value->items))
		return error_no_memory(err);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	value->items[value->count++] = copy;
	value->number = number;
	value->origin = origin;
	value->origin_text = origin_text;
	return OK;
}

static const char *keep_text(struct options *options, const char *text)
{
	struct span copy = arena_copy(options->arena, span_of(text, strlen(text) + 1));

	return copy.ptr ? copy.ptr : "";
}

static void environment_name(const char *name, char out[MAX_NAME + 16])
{
	int len = snprintf(out, MAX_NAME + 16, "SMFLEET_%s", name);

	for (int i = 0; i < len; i++)
		out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

static enum status read_environment(struct options *options, char *const *environment, struct error *err)
{
	char name[MAX_NAME + 16];

	for (size_t i = 0; i < options->spec_count; i++) {
		const struct option_spec *spec = options->specs[i];
		environment_name(spec->name, name);
		const char *text = environment_find(environment, name);
		struct span rest = span_from(text), part;
		if (!text || !*text)
			continue; /* set but empty: as if it were not set */
		while (span_next(&rest, spec->is_list ? '\n' : '\0', &part)) {
			if (spec->is_list && part.len == 0)
				continue;
			enum status status =
				set_value(options, spec, part, OPTION_FROM_ENVIRONMENT, keep_text(options, name), err);
			if (status != OK) {
				error_prefix(err, "environment variable %s", name);
				return status;
			}
		}
	}
	return OK;
}

static enum status read_config_line(struct options *options, struct span line, const char *place, struct error *err)
{
	ptrdiff_t at = span_find_char(line, '=');

	if (at < 0)
		return error_set(err, ERR_INVALID, "'%.*s' is not of the form `name = value`", SPAN_ARGS(line));
	struct span name = span_trim(span_of(line.ptr, (size_t)at));
	struct span value = span_trim(span_skip(line, (size_t)at + 1));
	if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
		value = span_of(value.ptr + 1, value.len - 2);
	const struct option_spec *spec = find_spec(options, name);
	if (!spec)
		return unknown_option(options, name, "", err);
	TRY(set_value(options, spec, value, OPTION_FROM_FILE, keep_text(options, place), err));
	return OK;
}

static enum status read_config_text(struct options *options, const char *path, struct span text, struct error *err)
{
	struct span line;

	for (int64_t number = 1; span_next(&text, '\n', &line); number++) {
		char place[512];
		line = span_trim(line);
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		snprintf(place, sizeof place, "%s:%" PRId64, path, number);
		enum status status = read_config_line(options, line, place, err);
		if (status != OK) {
			error_prefix(err, "%s", place);
			if (err)
				err->line = number;
			return status;
		}
	}
	return OK;
}

static enum status read_config(struct options *options, const char *path, struct error *err)
{
	AUTO_MEM char *text = mem_alloc(MAX_CONFIG_BYTES + 1);
	FILE *file = fopen(path, "rbe");

	if (!file)
		return error_set_field(
			err, ERR_IO, "config", "cannot open config file '%s': %s", path, strerror(errno));
	size_t len = text ? fread(text, 1, MAX_CONFIG_BYTES + 1, file) : 0;
	int failure = ferror(file) ? errno : 0;
	fclose(file);
	if (!text)
		return error_no_memory(err);
	if (failure)
		return error_set_field(
			err, ERR_IO, "config", "cannot read config file '%s': %s", path, strerror(failure));
	if (len > MAX_CONFIG_BYTES)
		return error_set_field(err, ERR_TOO_LARGE, "config", "config file '%s' is larger than %d bytes", path,
			MAX_CONFIG_BYTES);
	return read_config_text(options, path, span_of(text, len), err);
}

/* The engine's own options. *taken: argument i was one of them; its value may have moved *i on. */
static enum status read_builtin(struct options *options, struct span name, struct span *value, const char *next, int *i,
	bool *taken, struct error *err)
{
	static const char *const actions[] = {"help", "help-markdown", "version"};

	for (size_t k = 0; k < 3; k++) {
		if (span_equal(name, span_from(actions[k]))) {
			if (options->action == OPTIONS_RUN)
				options->action = (enum option_action)(k + 1);
			*taken = true;
		}
	}
	if (!span_equal(name, SPAN("config")))
		return OK;
	*taken = true;
	if (!value->ptr && !next)
		return error_set_field(err, ERR_INVALID, "config", "--config wants a value: FILE");
	options->config_path = value->ptr ? value->ptr : next;
	*i += !value->ptr;
	return OK;
}

static enum status read_flag(struct options *options, const char *argument, const char *next, int *i, struct error *err)
{
	struct span rest = span_from(argument + 2), name, value = {0};
	char place[MAX_NAME + 4];
	bool is_taken = false;

	span_next(&rest, '=', &name);
	value = rest; /* ptr is NULL without '=' */
	TRY(read_builtin(options, name, &value, next, i, &is_taken, err));
	if (is_taken)
		return OK;
	const struct option_spec *spec = find_spec(options, name);
	if (!spec && span_starts_with(name, SPAN("no-"))) {
		spec = find_spec(options, span_skip(name, 3));
		if (!spec || spec->kind != OPTION_FLAG || value.ptr)
			return unknown_option(options, name, "--", err);
		value = SPAN("no");
	}
	if (!spec)
		return unknown_option(options, name, "--", err);
	if (spec->kind == OPTION_FLAG && !value.ptr)
		value = SPAN("yes");
	if (!value.ptr && !next)
		return error_set_field(
			err, ERR_INVALID, spec->name, "--%s wants a value: %s", spec->name, spec->value_name);
	if (!value.ptr) {
		value = span_from(next);
		++*i;
	}
	snprintf(place, sizeof place, "--%s", spec->name);
	enum status status = set_value(options, spec, value, OPTION_FROM_FLAG, keep_text(options, place), err);
	if (status != OK)
		error_prefix(err, "--%s", spec->name);
	return status;
}

static enum status add_word(struct options *options, const char *word, struct error *err)
{
	if (!options->program->takes_words)
		return error_set(err, ERR_INVALID, "'%s' is not understood: an option starts with '--'", word);
	if (!mem_grow((void **)&options->words, options->word_count, &options->word_cap, sizeof *options->words))
		return error_no_memory(err);
	options->words[options->word_count++] = word;
	return OK;
}

static enum status read_behind_dashes(struct options *options, char *const *rest, struct error *err)
{
	if (options->program->takes_command) {
		options->command = rest;
		return *rest ? OK : error_set(err, ERR_INVALID, "a command is wanted behind '--'");
	}
	for (; *rest; rest++)
		TRY(add_word(options, *rest, err));
	return OK;
}

static enum status read_arguments(struct options *options, int argc, char *const *argv, struct error *err)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return read_behind_dashes(options, argv + i + 1, err);
		if (strcmp(argv[i], "-h") == 0)
			options->action = OPTIONS_HELP;
		else if (strncmp(argv[i], "--", 2) == 0)
			TRY(read_flag(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &i, err));
		else
			TRY(add_word(options, argv[i], err));
	}
	return OK;
}

static enum status read_everything(
	struct options *options, int argc, char *const *argv, char *const *environment, struct error *err)
{
	TRY(read_arguments(options, argc, argv, err));
	if (options->action != OPTIONS_RUN)
		return OK; /* help must not fail over a bad environment */
	TRY(read_environment(options, environment, err));
	const char *path =
		options->config_path ? options->config_path : environment_find(environment, "SMFLEET_CONFIG");
	if (path && *path)
		TRY(read_config(options, path, err));
	for (size_t i = 0; i < options->spec_count; i++) {
		const struct option_spec *spec = options->specs[i];
		if (spec->fallback)
			TRY(set_value(options, spec, span_from(spec->fallback), OPTION_FROM_DEFAULT, "default", err));
	}
	return OK;
}

enum status options_parse(struct options **out, const struct option_program *program, int argc, char *const *argv,
	char *const *environment, struct error *err)
{
	AUTO(options) options = mem_zeroed(sizeof *options);

	if (!options)
		return error_no_memory(err);
	options->program = program;
	for (const struct option_spec *spec = program->options; spec->name; spec = option_next(spec))
		options->spec_count++;
	options->argc = argc;
	options->argv = argv;
	options->environment = environment;
	options->arena = arena_new();
	options->mutex = mem_zeroed(sizeof(pthread_mutex_t));
	options->specs = mem_alloc(sizeof(struct option_spec *) * options->spec_count);
	options->values = mem_zeroed(sizeof *options->values * options->spec_count);
	if (!options->arena || !options->specs || !options->values || !options->mutex)
		return error_no_memory(err);
	size_t count = 0;
	for (const struct option_spec *spec = program->options; spec->name; spec = option_next(spec))
		options->specs[count++] = spec;
	pthread_mutex_init(options->mutex, NULL);
	TRY(read_everything(options, argc, argv, environment, err));
	*out = TAKE(options);
	return OK;
}

enum status options_parse_again(struct options **out, const struct options *options, struct error *err)
{
	return options_parse(out, options->program, options->argc, options->argv, options->environment, err);
}

bool options_differ(const struct options *a, const struct options *b, const char *name)
{
	const struct option_spec *spec = find_spec(a, span_from(name));
	const struct option_value *first = value_of(a, name), *second = value_of(b, name);

	if (first->count != second->count)
		return true;
	if (spec->kind != OPTION_TEXT)
		return first->number != second->number;
	for (size_t i = 0; i < first->count; i++)
		if (strcmp(first->items[i], second->items[i]) != 0)
			return true;
	return false;
}

void options_lock(const struct options *options)
{
	pthread_mutex_lock(options->mutex);
}

void options_unlock(const struct options *options)
{
	pthread_mutex_unlock(options->mutex);
}

static const char *copy_in(struct options *options, const char *text)
{
	size_t bytes = text ? strlen(text) + 1 : 0;
	char *copy = text ? arena_alloc(options->arena, bytes) : NULL;

	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

enum status options_take(struct options *options, const struct options *from, const char *name, struct error *err)
{
	const struct option_spec *spec = find_spec(options, span_from(name));
	const struct option_value *new = value_of(from, name);
	struct option_value *value = slot_of(options, spec);
	enum status status = OK;

	options_lock(options);
	const char *origin_text = copy_in(options, new->origin_text);
	const char *item = new->count ? copy_in(options, new->items[0]) : NULL;
	if ((new->origin_text && !origin_text) || (new->count && !item) ||
		(new->count && !value->count &&
			!mem_grow((void **)&value->items, value->count, &value->cap, sizeof *value->items)))
		status = error_no_memory(err);
	if (status == OK) {
		value->origin = new->origin;
		value->origin_text = origin_text;
		value->number = new->number;
		value->count = new->count ? 1 : 0; /* no list is live */
		if (item)
			value->items[0] = item;
	}
	options_unlock(options);
	return status;
}

enum option_action options_action(const struct options *options)
{
	return options->action;
}

bool options_flag(const struct options *options, const char *name)
{
	return value_of(options, name)->number != 0;
}

const char *options_text(const struct options *options, const char *name)
{
	return options_item(options, name, 0);
}

int64_t options_i64(const struct options *options, const char *name)
{
	return value_of(options, name)->number;
}

size_t options_count(const struct options *options, const char *name)
{
	return value_of(options, name)->count;
}

const char *options_item(const struct options *options, const char *name, size_t index)
{
	const struct option_value *value = value_of(options, name);

	return index < value->count ? value->items[index] : NULL;
}

enum option_origin options_origin(const struct options *options, const char *name)
{
	return value_of(options, name)->origin;
}

const char *options_origin_text(const struct options *options, const char *name)
{
	const char *text = value_of(options, name)->origin_text;

	return text ? text : "not set";
}

const struct option_spec *options_table(const struct options *options)
{
	return options->program->options;
}

size_t options_word_count(const struct options *options)
{
	return options->word_count;
}

const char *const *options_words(const struct options *options)
{
	return options->words;
}

const char *options_word(const struct options *options, size_t index)
{
	return index < options->word_count ? options->words[index] : NULL;
}

char *const *options_command(const struct options *options)
{
	return options->command;
}
