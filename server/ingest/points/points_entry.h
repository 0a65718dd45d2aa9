/*
 * Job: one JSON object of points (an entry of "series" or of "points") -> names and columns. Flat: no tree, every byte
 *      of a number read once.
 * Ownership: spans point into the text; columns are the entry's and are used again. Threads: values.
 */
#pragma once

#include "ingest/ndjson_scan.h"
#include "model/metrics/batch_points.h"

struct points_column {
	int64_t *integers; /* of step and ts_ms */
	double *values; /* of value */
	size_t count, cap;
	bool is_given;
};

enum points_name { POINTS_METRIC, POINTS_STREAM, POINTS_UNIT, POINTS_ROLE, POINTS_NAME_COUNT };

struct points_entry {
	struct ndjson_value names[POINTS_NAME_COUNT];
	struct points_column steps, times, values;
};

void points_entry_done(struct points_entry *entry);
/* Gives back columns of more than `items`: those of one large entry must not stay for as long as its sender stays connected. */
void points_entry_shrink(struct points_entry *entry, size_t items);

/*
 * is_columns: step, ts_ms and value are arrays, of one length; else numbers. ERR_INVALID: err says what, err->field
 * where ("value[17]"), *at is the byte.
 */
enum status points_entry_scan(
	struct points_entry *entry, struct span text, bool is_columns, size_t *at, struct error *err) MUST_CHECK;
/* The same of what lies in front of the bytes: how many of them it is. 0: it is not whole, or not good; points_entry_scan says why. */
size_t points_entry_take(struct points_entry *entry, struct span bytes, bool is_columns);
