/*
 * Job: restarts and checkpoints that a job's document, or a change of one, sets right by hand (model/jobs/by_hand_place.h) are of whoever asks.
 * Ownership: the document is the caller's. Threads: that of the request.
 */
#pragma once

#include "base/error.h"

struct json;
struct pipeline;

enum status by_hand_take_signed(const struct pipeline *pipeline, struct json *document, struct error *err) MUST_CHECK;
