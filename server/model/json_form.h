/*
 * Job: what JSON allows and a document must not have: a key twice in one object, of which only one could be kept, a number that
 *      no double holds (1e400), and, though JSON does not allow it either, bytes that are no UTF-8; and what no name has. Pure.
 */
#pragma once

#include "base/json/json_read.h"

/* ERR_SEMANTIC with the field. */
enum status json_check_form(const struct json *document, struct error *err) MUST_CHECK;
/* ERR_SEMANTIC with the field: longer than `most`, with a control character, or no UTF-8. what: the name, in messages. */
enum status json_check_name(
	struct span name, size_t most, const char *field, const char *what, struct error *err) MUST_CHECK;
