/*
 * Job: tells whether a line is one that a trainer prints when it starts or loads a checkpoint.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "base/span.h"

bool line_is_start(struct span text);
