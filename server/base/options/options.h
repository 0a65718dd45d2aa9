/*
 * Job: one table of options drives the command line, the environment, the config file, --help and the documentation.
 *      Every option --some-name VALUE is also SMFLEET_SOME_NAME and a line `some-name = VALUE` of --config FILE;
 *      the command line wins over the environment, that over the file, that over the default.
 * Ownership: new/free; texts live as long as the options (or as argv and the table). Threads: read-only after parsing, but for
 *      options that are live (options_take).
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"

enum option_kind {
	OPTION_FLAG, /* --name, --no-name; elsewhere yes|no|true|false|1|0 */
	OPTION_TEXT,
	OPTION_I64,
	OPTION_BYTES, /* 65536, 64KiB, 1GiB, 10MB; options_i64 gives bytes */
	OPTION_DURATION, /* 500ms, 60 or 60s, 5m, 24h, 7d; options_i64 gives milliseconds */
};

struct option_spec {
	const char *name; /* long name without dashes; NULL ends the table */
	enum option_kind kind;
	bool is_list; /* text that may be given several times; in the environment one a line */
	const char *value_name; /* "DIR", for help; NULL for flags */
	const char *fallback; /* the default as one would write it; NULL: none (0, "", off) */
	int64_t min, max; /* of numbers, in bytes or milliseconds where those; both 0: not below 0 */
	const char *help; /* one sentence; it is wrapped */
	const char *heading; /* starts a group in the help with this option; NULL: none */
	bool is_live; /* a reload of the config file applies it */
	const struct option_spec *more; /* at the end of a table: the table that goes on there; NULL: none */
};

/* for (spec = table; spec->name; spec = option_next(spec)): all of a table and of those that go on with it, none of them empty. */
static inline const struct option_spec *option_next(const struct option_spec *spec)
{
	spec++;
	return !spec->name && spec->more ? spec->more : spec;
}

struct option_program {
	const char *name; /* "sm-ship" */
	const char *version;
	const char *about; /* one sentence */
	const char *usage; /* what follows the name; several forms are parted by '\n' */
	const char *notes; /* printed below the options: exit status and the like; may be NULL */
	const struct option_spec *options;
	bool takes_words; /* words that are no options: files, a query, a subcommand */
	bool takes_command; /* `-- COMMAND ARGS` */
};

/* --help (-h), --help-markdown, --version and --config belong to the engine and stand in no table. */
enum option_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_HELP_MARKDOWN, OPTIONS_VERSION };

enum option_origin {
	OPTION_FROM_NOWHERE,
	OPTION_FROM_DEFAULT,
	OPTION_FROM_FILE,
	OPTION_FROM_ENVIRONMENT,
	OPTION_FROM_FLAG
};

struct options;

/* ERR_INVALID with the option as err->field, and err->line in a config file. environment: as environ, may be NULL. */
enum status options_parse(struct options **out, const struct option_program *program, int argc, char *const *argv,
	char *const *environment, struct error *err) MUST_CHECK;
void options_free(struct options *options);
/* The same command line and environment over what the config file says now: both must still be there. */
enum status options_parse_again(struct options **out, const struct options *options, struct error *err) MUST_CHECK;
bool options_differ(const struct options *a, const struct options *b, const char *name);
/* Only of options that are live; readers of these hold the lock. */
enum status options_take(
	struct options *options, const struct options *from, const char *name, struct error *err) MUST_CHECK;
void options_lock(const struct options *options);
void options_unlock(const struct options *options);

enum option_action options_action(const struct options *options);
/* Prints what --help, --help-markdown or --version ask for. */
void options_print(const struct option_program *program, enum option_action action, struct buf *out);

/* A name that is not in the table ends the program: it is a mistake in the source. */
bool options_flag(const struct options *options, const char *name);
const char *options_text(const struct options *options, const char *name); /* NULL: not given and no default */
int64_t options_i64(const struct options *options, const char *name); /* numbers, bytes, milliseconds */
size_t options_count(const struct options *options, const char *name); /* of a list */
const char *options_item(const struct options *options, const char *name, size_t index);
enum option_origin options_origin(const struct options *options, const char *name);
/* "default", "/etc/smfleet.conf:12", "SMFLEET_LISTEN", "--listen": where the value comes from. */
const char *options_origin_text(const struct options *options, const char *name);

/* All there are, by option_next. */
const struct option_spec *options_table(const struct options *options);

size_t options_word_count(const struct options *options);
const char *const *options_words(const struct options *options);
const char *options_word(const struct options *options, size_t index);
/* What stands behind `--`, ends with NULL; NULL: there was no `--`. */
char *const *options_command(const struct options *options);

/* The value of a variable in an environ-like table, or NULL. */
const char *environment_find(char *const *environment, const char *name);
/* Insertions, deletions, changes and swaps of neighbours that turn a into b, for "did you mean"; 64 for long texts. */
size_t text_distance(struct span a, struct span b);
bool option_parse_bytes(struct span text, int64_t *bytes);
bool option_parse_duration(struct span text, int64_t *ms);

AUTO_TYPE(options)
