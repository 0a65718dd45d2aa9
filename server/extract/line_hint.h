/*
 * Job: tells whether a line is one that a trainer prints when it starts, loads a checkpoint or has died.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

bool line_is_start(struct span text);
