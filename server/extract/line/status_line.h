/*
 * Job: the lines that the SageMaker SDK prints between those of the job that it follows, as what they say of the job:
 *      "2020-01-28 08:57:36 Starting - Launching requested ML instances......", "Billable seconds: 76".
 * Ownership: spans into the line. Threads: any.
 * Source: secondary_training_status_message and logs_for_job of sagemaker-python-sdk (session.py); times are UTC.
 *
 * A trainer's chatter may look alike, and must not end a job: the form is exact, from the line's first byte on, the status one of
 * SageMaker's, and the message of an ending SageMaker's own.
 */
#pragma once

#include "base/span.h"

struct status_line {
	struct span status; /* "": none; the line says seconds */
	struct span message; /* without the dots that count the waiting */
	int64_t ts_ms;
	bool is_billable; /* the seconds are those that were billed, else those of the training */
	int64_t seconds;
};

/* Whether it is worth a look: almost no line is. Times of SageMaker begin in 2017. */
static inline bool status_line_may_be(struct span text)
{
	return text.len > sizeof "Training seconds: " - 1 &&
	       (text.ptr[0] == '2' || text.ptr[0] == 'T' || text.ptr[0] == 'B');
}

bool status_line_read(struct span text, int64_t arrival_ms, struct status_line *out);
