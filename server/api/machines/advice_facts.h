/*
 * Job: what advice looks at: a job's settings and fields under their names, and what was measured. Internal to api/.
 * Ownership: everything is in the arena, or in the document. Threads: workers.
 */
#pragma once

#include "api/core/api_state.h"
#include "fleet/advice.h"
#include "read/charts/derivation.h"
#include "store/jobs.h"

enum { ADVICE_STREAMS_MAX = 512 };

struct advice_facts {
	struct advice_setting *settings;
	size_t count, cap;
	struct derivation_parameters parameters;
	/* which network each stream that said so has chosen */
	struct network {
		struct span stream;
		struct span name; /* "efa", "socket", or another provider of libfabric */
	} networks[ADVICE_STREAMS_MAX];
	size_t network_count;
};
/* Its settings and machines alone, without what was measured. row: as below. */
enum status advice_facts_read_settings(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, struct advice_facts *out, struct error *err) MUST_CHECK;
/* row: with job_id 0 nothing was stored yet, and only its document counts. */
enum status advice_facts_read(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, int64_t now_ms, struct advice_facts *out,
	struct error *err) MUST_CHECK;
