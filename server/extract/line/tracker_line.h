/*
 * Job: tells what a tracker's own client prints, as its summary at the end: what it tells of was logged before.
 * Ownership: none. Threads: any.
 */
#pragma once

#include "extract/line/prefix.h"

bool tracker_line_is(const struct prefix *prefix);
