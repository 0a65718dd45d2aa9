/*
 * Job: the thread that hands slices over which have waited long enough, each 50 ms, and reads tokens again that could not be read.
 * Ownership: start/stop; it borrows the api, and the pipeline while it runs. Threads: one starts and stops it.
 */
#pragma once

#include "api/core/api_state.h"

enum status upload_timer_start(struct upload_timer **out, struct api *api, struct error *err) MUST_CHECK;
void upload_timer_stop(struct upload_timer *timer);
