/*
 * Job: where in a query somebody is typing: a name, or a value of a name; and how what is suggested is written there.
 * Ownership: spans point into the text. Threads: pure.
 */
#pragma once

#include "base/buf.h"

struct query_place {
	size_t from; /* byte at which the term begins that is being typed */
	struct span head; /* of it, what stays: a minus, and before a value the name and the operator */
	struct span name; /* before the operator: "hp.lr", metric."train:loss".min */
	struct span typed; /* the beginning of the name or value, without a quote */
	bool has_operator;
};

/* text: the query up to the cursor. ERR_INVALID: nobody types that much. */
enum status query_place_of(struct span text, struct query_place *out, struct error *err) MUST_CHECK;

/* Appends the whole term with this name or value in the place of what was typed, quoted where it must be. */
void query_put_suggestion(const struct query_place *place, struct span text, struct buf *out);

/* The attribute that a property is stored as: "owner" is tag.owner; "" : none. Appends to out. */
void query_put_attribute(struct span name, struct buf *out);

/* The short names of properties; ends with NULL. */
const char *const *query_property_names(void);
