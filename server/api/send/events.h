/* Job: events of EventBridge, counted, whichever door they came by. Ownership: none. Threads: workers. */
#pragma once

#include "pipeline/jobs/job_event.h"

struct api;

void api_event_judged(struct api *api, enum event_verdict verdict);
/* Of one request: who waits for jobs that changed is told. */
void api_events_end(struct api *api);
