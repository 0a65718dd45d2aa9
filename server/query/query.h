/*
 * Job: query text -> tree, tree -> canonical text. The store compiles the tree; nothing here knows SQL.
 * Ownership: everything in the caller's arena. Threads: values.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/text/zone.h"
#include "model/jobs/aggregate.h"

enum {
	QUERY_MAX_BYTES = 8192,
	QUERY_MAX_TERMS = 64,
	QUERY_MAX_DEPTH = 32,
	QUERY_MAX_VALUES = 256,
	QUERY_MAX_NAMES = 8,
	QUERY_MAX_FIGURES = 32
};

/* now_ms: what "-7d" and "today" are relative to. *out is NULL for an empty text. ERR_SEMANTIC with column: what was
 * expected there. */
enum status query_parse(
	struct query_node **out, struct span text, int64_t now_ms, struct arena *arena, struct error *err) MUST_CHECK;
/* The same where "today", and dates and times that name no zone, are of this one; NULL: UTC, as above. */
enum status query_parse_in(struct query_node **out, struct span text, int64_t now_ms, const struct zone *zone,
	struct arena *arena, struct error *err) MUST_CHECK;
/* Canonical text: parses to an equal tree. */
void query_print(const struct query_node *node, struct buf *out);

/* Lists of an aggregation, parted by commas. ERR_SEMANTIC with column. */
enum status query_parse_names(struct aggregate_name out[QUERY_MAX_NAMES], size_t *count, struct span text,
	struct arena *arena, struct error *err) MUST_CHECK;
enum status query_parse_figures(struct aggregate_figure out[QUERY_MAX_FIGURES], size_t *count, struct span text,
	struct arena *arena, struct error *err) MUST_CHECK;
