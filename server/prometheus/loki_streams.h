/*
 * Job: what Loki's queries share: their window, the streams of jobs and the labels of these.
 * Ownership: the caller's. Threads: a worker; `gave_up` any.
 */
#pragma once

#include "prometheus/call.h"
#include "prometheus/jobs.h"
#include "prometheus/logql.h"
#include "read/logs/log_search.h"
#include "read/view.h"

enum { LOKI_LABELS = 3 };

struct loki_asked {
	struct prom_call *call;
	struct logql logql; /* prepared */
	int64_t from_ms, to_ms; /* the end not included */
	size_t limit;
	bool is_forward;
	atomic_bool gave_up; /* a pattern, on a line */
};

/* Nanoseconds, or as Prometheus' times. Lines have whole milliseconds: the first that is not before it, for a begin and an end alike. */
enum status loki_time(
	const struct prom_call *call, const char *name, int64_t fallback, int64_t *ms, struct error *err) MUST_CHECK;
enum status loki_window(const struct prom_call *call, int64_t *from_ms, int64_t *to_ms, struct error *err) MUST_CHECK;

void loki_stream_labels(struct prom_labels *out, struct prom_label room[LOKI_LABELS + 1], struct span job,
	const struct stream_view *stream);
/* Without lines it is not. */
enum status loki_is_asked(const struct loki_asked *asked, struct span job, const struct stream_view *stream, bool *is,
	struct error *err) MUST_CHECK;
/* Of a job that is not there none. */
enum status loki_read_streams(struct prom_call *call, struct arena *arena, struct span job, struct job_view *view,
	struct error *err) MUST_CHECK;
enum status loki_each_job(const struct loki_asked *asked, jobs_take *take, void *context, struct error *err) MUST_CHECK;
struct log_asker loki_asker(const struct prom_call *call);
/* What is left to a query of its time, at least one. */
int64_t loki_left_ms(const struct prom_call *call);
/* ERR_SEMANTIC: nobody knows which lines of the job are meant. */
enum status loki_check_patterns(const struct loki_asked *asked, struct span job, struct error *err) MUST_CHECK;

/* loki_counts.c: expressions of counts of lines, or of none, as data sources are tested by */
prom_handler loki_counts, loki_counts_range;
