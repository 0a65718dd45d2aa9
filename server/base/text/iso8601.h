/*
 * Job: ISO 8601 times (the profile of RFC 3339, and the small departures that logs show) <-> Unix milliseconds.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/span.h"

enum { ISO8601_BYTES = 32 };

/*
 * YYYY-MM-DD, then perhaps T, t or a space, hh:mm, perhaps :ss with a fraction behind '.' or ',', perhaps Z or an offset
 * (+hh:mm, +hhmm, +hh; a space before it). Without an offset: UTC. What is finer than a millisecond is dropped.
 */
bool iso8601_parse(struct span text, int64_t *unix_ms);
/* "2026-11-21T02:31:59.123Z" and a NUL; years outside 0..9999 are clamped. */
void iso8601_format(int64_t unix_ms, char out[ISO8601_BYTES]);
/* Days from 1970-01-01 to a date of the Gregorian calendar; month 1..12. */
int64_t iso8601_days(int64_t year, unsigned month, unsigned day);
