/*
 * Job: replays the journal at the start.
 * Ownership: the pipeline's. Threads: the one that starts it.
 */
#pragma once

#include "base/error.h"

struct pipeline;

enum status recover_journal(struct pipeline *pipeline, struct error *err) MUST_CHECK;
