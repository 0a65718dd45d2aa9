/*
 * Job: what happened in a time, of some jobs or of all that the reader sees: for whoever looks, and for the messages that tell it.
 * Ownership: in the arena. Threads: any that may read; no view of the database need be open.
 */
#pragma once

#include "model/incident.h"
#include "model/query.h"
#include "store/alerts.h"
#include "store/goodput.h"
#include "store/search.h"

struct report_span {
	int64_t from_ms, to_ms; /* both ends in it */
	struct query_node *query; /* of which jobs; NULL: of all */
};

enum report_jobs { REPORT_FAILED, REPORT_ENDED, REPORT_STARTED, REPORT_RUNNING, REPORT_JOBS_COUNT };
/* "failed", "ended" (all other ends), "started", "running" (now, whenever it began) */
const char *report_jobs_name(enum report_jobs which);
/*
 * Each thing is in the report of the time in which this server learned of it, and in no other one: what came late is in that of its coming.
 * It is late there if it happened before.
 */
static inline bool report_is_late(const struct report_span *of, int64_t happened_ms)
{
	return happened_ms < of->from_ms;
}
/* Of a row of that list; *known_ms: when it became known. REPORT_RUNNING: never. */
bool report_job_is_late(
	const struct report_span *of, enum report_jobs which, const struct job_row *job, int64_t *known_ms);
/* Which jobs, in which order; how many is the caller's. */
enum status report_search(const struct report_span *of, enum report_jobs which, struct arena *arena,
	struct job_search *out, struct error *err) MUST_CHECK;

/* Of how many of the running ones nothing was heard for so long: those that `silent_ms` (--silent-after) makes silent. */
enum status report_search_silent(const struct report_span *of, int64_t silent_ms, struct arena *arena,
	struct job_search *out, struct error *err) MUST_CHECK;

/* Those that became known in it, whatever became of them: the worst first, of these the newest. */
struct report_incidents {
	struct incident_row *rows;
	size_t count, by_severity[SEVERITY_COUNT];
	bool has_more; /* older ones were not read */
};
enum status report_read_incidents(struct store_reader *reader, struct arena *arena, const struct report_span *of,
	struct report_incidents *out, struct error *err) MUST_CHECK;

/* Of all jobs that the reader sees: what broke off is not kept by what a query asks of. */
struct report_lost {
	struct goodput_cause *causes;
	size_t count;
	int64_t breaks, lost_node_ms;
};
enum status report_read_lost(struct store_reader *reader, struct arena *arena, const struct report_span *of,
	struct report_lost *out, struct error *err) MUST_CHECK;
static inline int64_t goodput_cause_lost_ms(const struct goodput_cause *cause)
{
	return cause->redone_node_ms + cause->restart_node_ms;
}

/* Of a job that runs: when it was heard of last, and of the metric that answers for its loss. */
struct report_loss {
	int64_t heard_ms; /* 0: never */
	struct span metric; /* "": it has none, and what follows means nothing */
	double last;
	int64_t step;
	bool has_best;
	double best;
	int64_t best_step;
};
enum status report_read_loss(struct store_reader *reader, struct arena *arena, int64_t job_id, struct report_loss *out,
	struct error *err) MUST_CHECK;
