/*
 * Job: the timestamp at or near the start of a log line, in the forms that trainers and SageMaker print (docs/times.md).
 * Ownership: nothing. Threads: any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* False: the line shows none. A time without a zone is UTC; arrival_ms resolves the year where none is shown. */
bool line_time_parse(struct span text, int64_t arrival_ms, int64_t *ts_ms);
/* zone_ms: what a time without a zone is ahead of UTC. */
bool line_time_parse_in(struct span text, int64_t arrival_ms, int64_t zone_ms, int64_t *ts_ms);
