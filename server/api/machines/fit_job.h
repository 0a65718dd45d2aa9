/*
 * Job: what a job's settings and machines make of "will it fit", and what was observed of its like. Internal to api/.
 * Ownership: spans are in the arena or the document. Threads: workers.
 */
#pragma once

#include "api/machines/fit_answer.h"
#include "store/alerts.h"

struct fit_observation {
	struct span job;
	struct span metric; /* whose greatest value is the peak */
	double peak; /* bytes */
	double formula; /* total of a device by the job's own settings */
};

struct fit_job {
	struct api *api;
	struct store_reader *reader;
	struct arena *arena;
	const struct json *document; /* its machines settled by hand already */
	struct advice_facts *facts;
	struct fit_settings settings;
	struct fit_observed observed;
	struct fit_observation *observations;
};

/* api, reader, arena and document are there. row: as advice_facts_read has it. */
enum status fit_job_read(struct fit_job *job, const struct job_row *row, int64_t now_ms, struct error *err) MUST_CHECK;
void fit_job_place(const struct fit_job *job, struct fit_place *out); /* the document's own */
/* Does the incident tell of a GPU out of memory? Its said is asked. */
bool fit_is_out_of_memory(const struct incident_row *row);
/* "would_fit": [...] for such a job, into the arena; "" where the settings do not suffice. */
enum status fit_job_advise(struct api *api, struct store_reader *reader, struct arena *arena, int64_t job_id,
	int64_t now_ms, struct span *members, struct error *err) MUST_CHECK;
