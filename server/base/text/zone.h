/*
 * Job: what time it is somewhere: UTC <-> local time by a zone of the IANA data base (/usr/share/zoneinfo) or POSIX's TZ text.
 *      libc's own functions know one zone a process, so the files and the rules are read here.
 * Ownership: new/free. Threads: immutable; any. A NULL zone is UTC.
 * Source: RFC 8536 (TZif), POSIX.1-2017 8.3 (TZ).
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"

struct zone;

/* "UTC" and "" give NULL. ERR_SEMANTIC: nobody knows it. */
enum status zone_new(struct zone **out, struct span name, struct error *err) MUST_CHECK;
void zone_free(struct zone *zone);

/* Of a file's bytes, as zone_new reads them. */
enum status zone_parse_file(struct zone **out, struct span bytes, struct error *err) MUST_CHECK;

/* What local time is ahead of UTC at that moment. */
int64_t zone_offset_ms(const struct zone *zone, int64_t utc_ms);
/* Of a local time that there is twice the first one; of one that is skipped, as far behind the gap as it is into it. */
int64_t zone_to_utc_ms(const struct zone *zone, int64_t local_ms);

AUTO_TYPE(zone)
