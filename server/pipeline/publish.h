/*
 * Job: the publisher thread: what subscribers hear, and readers who will come.
 * Ownership: the pipeline's.
 */
#pragma once

#include "base/span.h"

struct pipeline;

/* A page of this job is opened and will subscribe soon: what comes meanwhile is kept for it. Any thread. */
void pipeline_expect_reader(struct pipeline *pipeline, struct span job);
void *publisher_run(void *pipeline);
