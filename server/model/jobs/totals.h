/*
 * Job: the mean of what was observed between two readings of a sum and a count that only grow, as histograms and summaries are sent.
 * Plain values. Any thread.
 * Source: the data model of OpenTelemetry's metrics, "Resets and gaps"; Prometheus' counters, which say no start.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct totals {
	bool is_known; /* false: nothing was read yet */
	int64_t start_ms; /* of the counting; NO_TIME: not known. That of the reading itself: not known either */
	int64_t ts_ms;
	double sum, count;
};

/*
 * *last becomes the new reading; true: *mean is of what was observed since the one before it. The counting began anew where the start
 * is later, or the count lower: then since it began, and so for the first reading if it says when that was. A reading that is older than
 * the last one changes nothing.
 */
bool totals_read(struct totals *last, const struct totals *now, double *mean);
