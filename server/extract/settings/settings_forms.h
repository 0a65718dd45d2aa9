/*
 * Job: the written forms of settings, one function each: text in, keys and values out through settings_put.
 * Ownership: the caller's memory. Threads: values.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

struct json;
struct settings;

/* prefix: the path above, "" at the top. A key or value beyond the limits is left out. ERR_MEMORY alone is an error. */
enum status settings_put(struct settings *settings, struct span prefix, struct span key, struct span value,
	struct error *err) MUST_CHECK;

/* `Name(key=value, …)` from its opening parenthesis on: Python's repr of a Namespace or a dataclass. */
enum status settings_take_call(struct settings *settings, struct span call, struct error *err) MUST_CHECK;
/* All leaves of an object; arrays of scalars are joined by commas. */
enum status settings_take_json(
	struct settings *settings, struct span prefix, const struct json *object, struct error *err) MUST_CHECK;
/* `{'key': value, 'more': {…}}`: Python's repr of a dictionary, whose keys are strings; the text begins with its brace. */
enum status settings_take_dict(
	struct settings *settings, struct span prefix, struct span dict, struct error *err) MUST_CHECK;
/* The next line of a YAML configuration; one that is none ends it (yaml_left). */
enum status settings_take_yaml(struct settings *settings, struct span text, struct error *err) MUST_CHECK;
/* `--key value --flag --other=value …`, as typed into a shell. */
enum status settings_take_options(struct settings *settings, struct span options, struct error *err) MUST_CHECK;

/* "number of parameters: 124.44M" and the like. */
enum status settings_take_said(struct settings *settings, struct span text, struct error *err) MUST_CHECK;

/* A value as Python prints it, as it would be typed: no quotes, true and false in lower case. */
struct span settings_typed(struct span value);

/* Of the opening bracket at text[0]: the length up to and with the one that closes it, 0: it stays open. Knows quotes. */
size_t settings_bracket_length(struct span text);
