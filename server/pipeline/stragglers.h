/*
 * Job: of jobs whose streams tell their own pace, the stream that is slower than the others (kind straggler, of that stream's
 *      series). Ownership: the caller's. Threads: maintenance, every few seconds.
 * What is found depends on when it is looked: nothing is replayed, the incident that is open in the store is taken up again.
 */
#pragma once

#include "pipeline/internal.h"

void stragglers_run(struct pipeline *pipeline, struct store_reader *reader);
