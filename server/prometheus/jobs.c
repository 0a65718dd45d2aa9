#include "prometheus/jobs.h"

#include "ingest/ingest.h"
#include "store/search.h"

enum { JOBS_A_PAGE = 100, DAY_MS = 86400000 };

bool jobs_is_of_machines(struct span job)
{
	struct span name = SPAN(INGEST_MACHINES_JOB);

	return span_starts_with(job, name) && (job.len == name.len || job.ptr[name.len] == '/');
}

enum status jobs_fit(const struct series_reading *reading, const struct jobs_asked *asked, struct span job, bool *fits,
	struct error *err)
{
	struct span value = asked->has_machines && jobs_is_of_machines(job) ? SPAN("") : job;

	*fits = true;
	for (size_t i = 0; *fits && i < asked->matcher_count; i++)
		if (span_equal(asked->matchers[i].name, asked->label))
			TRY(matcher_fits(&asked->matchers[i], reading->scratch, value, fits, err));
	return OK;
}

struct walk {
	struct series_reading *reading;
	const struct jobs_asked *asked;
	jobs_take *take;
	void *context;
};

static enum status take_job(const struct walk *walk, struct span job, struct error *err)
{
	struct prom_budget *budget = walk->reading->budget;
	bool fits;

	TRY(budget_check(budget, err));
	TRY(jobs_fit(walk->reading, walk->asked, job, &fits, err));
	if (!fits)
		return OK;
	if (!budget->jobs)
		return error_set(err, ERR_TOO_LARGE,
			"more than %zu jobs may have what is asked for (--max-prometheus-jobs); name one by the label %.*s",
			budget->most_jobs, SPAN_ARGS(walk->asked->label));
	budget->jobs--;
	return walk->take(walk->context, job, err);
}

/* A day of grace: clocks differ, and a job may be heard of behind its end. */
static bool may_overlap(const struct walk *walk, const struct job_row *row)
{
	return row->created_ms - DAY_MS <= walk->asked->to_ms &&
	       (!row->ended_ms || jobs_is_of_machines(row->name) || row->ended_ms + DAY_MS >= walk->asked->from_ms);
}

static enum status take_page(const struct walk *walk, const struct job_search_result *page, struct error *err)
{
	TRY(budget_check(walk->reading->budget, err));
	for (size_t i = 0; i < page->count; i++)
		if (may_overlap(walk, &page->rows[i]))
			TRY(take_job(walk, page->rows[i].name, err));
	return page->is_partial ? error_set(err, ERR_UNAVAILABLE, "the search of jobs timed out (--job-search-ms)")
				: OK;
}

static enum status walk_jobs(const struct walk *walk, struct error *err)
{
	AUTO_DONE(buf) cursor = BUF_INIT(1 << 16);

	do {
		AUTO(arena) arena = arena_new();
		struct job_search search = {.sort = SPAN("name"),
			.cursor = cursor.len ? buf_span(&cursor) : SPAN(""),
			.limit = JOBS_A_PAGE,
			.limit_ms = walk->reading->search_ms};
		struct job_search_result page;
		if (!arena)
			return error_no_memory(err);
		TRY(store_search_jobs(walk->reading->reader, arena, &search, &page, err));
		TRY(take_page(walk, &page, err));
		buf_reset(&cursor);
		buf_append_span(&cursor, page.next_cursor);
		TRY(buf_status(&cursor, err));
	} while (cursor.len);
	return OK;
}

enum status jobs_each(struct series_reading *reading, const struct jobs_asked *asked, jobs_take *take, void *context,
	struct error *err)
{
	struct walk walk = {reading, asked, take, context};

	for (size_t i = 0; i < asked->matcher_count; i++) { /* one that names the job: that is looked at alone */
		const struct matcher *matcher = &asked->matchers[i];
		if (span_equal(matcher->name, asked->label) && matcher->op == MATCHER_IS && matcher->value.len)
			return take_job(&walk, matcher->value, err);
	}
	return walk_jobs(&walk, err);
}
