/*
 * Job: an answer to "will it fit": bytes by part, the limit, formulas with their inputs, what would fit. Internal to api/.
 * Ownership: borrows all. Threads: workers.
 */
#pragma once

#include "api/machines/fit_settings.h"
#include "base/json/json_write.h"

/* How far real peaks were from the formulas: the median of jobs of the same family. */
struct fit_observed {
	double factor; /* NaN: of none */
	size_t jobs;
};

/* Where a training would run. */
struct fit_place {
	struct span type;
	double count; /* of instances; NaN: not known, as below */
	double ranks, ranks_per_node;
	double limit; /* bytes of a rank */
};

/* Ranks and limit of a document's ResourceConfig; type and count are there. */
void fit_place_find(const struct api *api, const struct json *document, struct fit_place *place);
/* Members of an object that is open: per_device_bytes, fits, limit_bytes, would_fit. */
void fit_write_place(struct json_writer *w, const struct fit_settings *settings, const struct fit_place *place,
	const struct fit_observed *observed);
/* inputs, unknown, from, formulas, model, not_understood, not_covered. */
void fit_write_settings(struct json_writer *w, struct fit_settings *settings);
/* "would_fit": []; ran_out: it did not fit, whatever the formulas say. */
void fit_write_remedies(struct json_writer *w, const struct fit_settings *settings, const struct fit_place *place,
	const struct fit_observed *observed, bool ran_out);
