/*
 * Job: which properties of jobs searches keep in memory: what a term or an order of the query language asks for, and the SQL that
 *      reads such a column, of all jobs or of one.
 * Ownership: spans are the query's or the arena's. Threads: values.
 */
#pragma once

#include "base/buf.h"
#include "model/metrics/metric.h"
#include "model/query.h"
#include "store/columns/job_column.h"
#include "store/store.h"

enum search_source_kind { SEARCH_JOB_NUMBER, SEARCH_JOB_TEXT, SEARCH_ATTRIBUTE, SEARCH_WORDS, SEARCH_FIGURE };

struct search_source {
	enum search_source_kind kind;
	const char *column; /* of jobs: a literal of this folder */
	struct span key; /* of an attribute, or a metric's name */
	const char *by_hand; /* the attribute that counts instead of it where a job has that; NULL: none */
	enum role role; /* of a figure; ROLE_OTHER: by the metric's name */
	enum query_aggregate aggregate;
};

enum search_leaf_kind {
	SEARCH_LEAF_TEXTS, /* of the document: texts that may be numbers */
	SEARCH_LEAF_COLUMN, /* a text of the job: never a number */
	SEARCH_LEAF_TIME,
	SEARCH_LEAF_DURATION, /* sources: started, and when its time was over */
	SEARCH_LEAF_FIGURE,
	SEARCH_LEAF_WORD, /* sources: the name, then tags and notes */
};

enum { SEARCH_LEAF_SOURCES = 5 };

struct search_leaf {
	enum search_leaf_kind kind;
	struct search_source sources[SEARCH_LEAF_SOURCES];
	size_t count;
	bool ignores_case; /* words like Failed */
};

/* False: the term is of nothing that is kept in memory. */
bool search_leaf_of(const struct query_term *term, struct arena *arena, struct search_leaf *out);
/* Every job has it. */
struct search_source search_every_job(void);
/* The attribute that `sort=` names: hp.KEY, tag.KEY, env.KEY, a property, or a short name. */
bool search_attribute_of(struct span name, struct search_source *out);
/* Seconds as the job's row shows them: billable, TrainingTimeInSeconds; *sql is of `jobs AS j`. */
bool search_seconds_of(struct span name, struct search_source *source, const char **sql);

/* Which change makes it out of date: enum search_change. */
unsigned search_source_changes(const struct search_source *source);
/* The same for equal sources alone. */
void search_source_print(const struct search_source *source, struct buf *out);
/* For people: "hp.lr", "loss.final". */
void search_source_name(const struct search_source *source, struct buf *out);
struct job_column *search_source_column(const struct search_source *source) __attribute__((warn_unused_result));
/* jobs NULL: of all jobs; else adds what these have. */
enum status search_source_read(const struct search_source *source, struct store_reader *reader,
	struct job_column *column, const int64_t *jobs, size_t count, struct error *err) MUST_CHECK;

/*
 * What an aggregate is in `summaries AS s LEFT JOIN rankings AS r`: is_there: when it is there at all. A number, or NaN by is_nan.
 */
struct search_figure {
	const char *column;
	const char *is_nan;
	const char *is_there;
};
struct search_figure search_figure_of(enum query_aggregate aggregate);
#define SEARCH_RANKINGS " LEFT JOIN rankings AS r ON r.job_id = s.job_id AND r.metric = s.metric"
