/*
 * Job: NAME_sum and NAME_count of a histogram or a summary, which are lines of their own and need not be neighbours, put
 *      together by name, labels, step and time. Part of ingest/points/prometheus.c.
 * Ownership: freed by its parser. Threads: as ingest.h.
 */
#pragma once

#include "ingest/points/points_text.h"

enum prometheus_part { PART_SUM, PART_COUNT, PART_CREATED };

struct prometheus_pairs *prometheus_pairs_new(void) __attribute__((warn_unused_result));
void prometheus_pairs_free(struct prometheus_pairs *pairs);

/* metric is without the part's ending. */
enum status prometheus_pairs_put(struct ingest_parser *parser, struct batch *batch, struct span metric,
	enum prometheus_part part, int64_t step, int64_t ts_ms, double value, struct error *err) MUST_CHECK;
/* All of them go into the batch; what had no partner as a metric without a role. */
enum status prometheus_pairs_end(struct ingest_parser *parser, struct batch *batch, struct error *err) MUST_CHECK;
/* A point of a part: its metric has no role. */
enum status prometheus_part_add(struct ingest_parser *parser, struct batch *batch, struct span metric, int64_t step,
	int64_t ts_ms, double value, struct error *err) MUST_CHECK;
