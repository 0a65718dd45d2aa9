/*
 * Job: incidents of a machine go by another name of it.
 * Ownership: none is kept. Threads: the writer.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/alerts.h"

/* Its machine, "": it has none; a span in *facts, which are the caller's. */
struct span incident_read_machine(const struct incident_row *row, struct json **facts);
/* In its facts, its summary and its ordinal. */
enum status incident_rename(struct store_tx *tx, const struct incident_row *row, const struct json *facts,
	struct span host, struct error *err) MUST_CHECK;

typedef enum status incident_visit(void *context, const struct incident_row *row, struct error *err);
/* Of the job's incidents those that may be of a machine, also those that are over. */
enum status incidents_of_machines(struct store_tx *tx, struct arena *arena, int64_t job_id, incident_visit *visit,
	void *context, struct error *err) MUST_CHECK;
