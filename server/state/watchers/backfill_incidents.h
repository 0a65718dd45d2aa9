/*
 * Job: what the detectors of a back-fill said, kept until it is shown. Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "base/codec/pack.h"
#include "model/incident.h"

enum { SAID_MAX = 2000 };

struct said_incident {
	uint32_t series_id;
	bool is_written; /* as it stands, in the transaction of the change */
	struct incident incident;
};

struct said_list {
	struct said_incident *items;
	size_t count, cap;
};

struct said_list *said_list_new(void) __attribute__((warn_unused_result));
void said_list_free(struct said_list *list);
/* One that is there already (series, kind, opened_ordinal) is replaced. Beyond SAID_MAX others are left out. */
enum status said_list_put(
	struct said_list *list, uint32_t series_id, const struct incident *incident, struct error *err) MUST_CHECK;
void said_list_pack(const struct said_list *list, struct buf *out);
enum status said_list_unpack(struct said_list *list, struct span packed, struct error *err) MUST_CHECK;

AUTO_TYPE(said_list)
