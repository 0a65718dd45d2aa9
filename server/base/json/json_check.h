/*
 * Job: says where a text is no JSON, before cJSON sees it, whose grammar is wider than RFC 8259, cuts strings at \u0000, and tells
 *      neither lines nor columns. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* ERR_INVALID names line and column. Depth is limited (1000). */
enum status json_check(struct span text, struct error *err) MUST_CHECK;

size_t json_bom_length(struct span text); /* of the byte order mark at the beginning: 3 or 0 */
