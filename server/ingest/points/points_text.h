/*
 * Job: what the line-wise forms of points share (Prometheus text, CSV): lines cut from a body as it arrives, points put into
 *      their series, a bad line that harms itself alone and is told.
 * Ownership and threads: as ingest.h. A form is a take_line and what it keeps.
 */
#pragma once

#include "ingest/ingest.h"
#include "model/metrics/batch_points.h"

struct csv_columns;
struct prometheus_pairs;

struct ingest_parser {
	struct ingest_options options; /* its names are in the arena */
	struct arena *arena;
	/* One line without its end. ERR_INVALID is the line's own (rejected and told), anything else the body's. */
	enum status (*take_line)(
		struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err);
	struct buf carry; /* the open line as far as it has come */
	uint64_t line_number; /* from 1 */
	struct buf metric, text; /* at work */
	struct csv_columns *columns; /* of CSV: its head, in the arena */
	struct prometheus_pairs *pairs; /* of Prometheus, which frees it: parts of distributions */
	/* At the end of the body, what is still held; NULL: nothing ever. */
	enum status (*take_end)(struct ingest_parser *parser, struct batch *batch, struct error *err);
	bool is_head_bad; /* there is no telling what the lines mean: the mistake is the body's */
	struct buf warnings;
	uint64_t rejected;
};

enum status points_text_open(struct ingest_parser **out, const struct ingest_options *options,
	enum status (*take_line)(struct ingest_parser *, struct batch *, struct span, struct error *),
	struct error *err) MUST_CHECK;
enum status points_text_feed(
	struct ingest_parser *parser, struct batch *batch, struct span bytes, struct error *err) MUST_CHECK;
enum status points_text_finish(struct ingest_parser *parser, struct batch *batch, struct error *err) MUST_CHECK;
struct span points_text_warning(const struct ingest_parser *parser);
void points_text_free(struct ingest_parser *parser);

/* A point of a metric in its stored form; stream "" : the body's. ts_ms NO_TIME: that of arrival. */
enum status points_text_add(struct ingest_parser *parser, struct batch *batch, struct span stream, struct span metric,
	int64_t step, int64_t ts_ms, double value, struct error *err) MUST_CHECK;
/* The body's part of that stream, made when it is not there; "": the body's own. */
enum status points_text_part(struct ingest_parser *parser, struct batch *batch, struct span stream,
	struct batch_part **out, struct error *err) MUST_CHECK;
/* A rejection of a part of a line: the rest of it counts. */
void points_text_reject(struct ingest_parser *parser, struct batch *batch, const char *why);
/* A whole number from 0 to 2^53, also as "12.0", which spreadsheets make of it. */
bool points_text_step(struct span text, int64_t *step);
