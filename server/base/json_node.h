/*
 * Job: what a node of a JSON document is, for the two files that make and change them.
 * Ownership: a node owns its text, key and children, not its neighbour. Threads: one at a time.
 */
#pragma once

#include "base/json_read.h"

struct json {
	struct json *next; /* in the same array or object */
	struct json *child; /* the first */
	struct span key; /* in an object; ptr is the node's own, or NULL */
	enum json_kind kind;
	bool is_true;
	union {
		struct span text; /* of a string; ptr is the node's own */
		double number;
	};
};
