/*
 * Job: a JSON object as W&B flattens it: nested keys joined by dots, each value that is not an object by a call. NaN and Infinity may be
 *      bare or in quotes, as its clients write them. Pure.
 * Ownership: what a leaf shows is good during the call. Threads: any.
 */
#pragma once

#include "base/buf.h"

enum flat_kind { FLAT_NUMBER, FLAT_TEXT, FLAT_BOOL, FLAT_NULL, FLAT_LIST };

struct flat_leaf {
	struct span path;
	enum flat_kind kind;
	double number; /* of FLAT_NUMBER, FLAT_BOOL, and of a text that is one of W&B's: NaN, Infinity, -Infinity */
	bool is_number;
	struct span raw; /* as it stands there, quotes included */
	struct span text; /* of FLAT_TEXT, without escapes */
};
typedef enum status flat_take(void *context, const struct flat_leaf *leaf, struct error *err);

/* Objects with "_type" (pictures, tables and other media), and what is nested deeper than FLAT_DEPTH, are left out and counted. */
enum { FLAT_DEPTH = 16, FLAT_PATH_MAX_BYTES = 1024 };
enum status flat_read(
	struct span object, flat_take *take, void *context, size_t *left_out, struct error *err) MUST_CHECK;
