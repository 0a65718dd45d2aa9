/*
 * Job: what the collector's files share: the jobs that it follows, and where it stands in their streams.
 * Ownership: of the collector. Threads: the collector's.
 */
#pragma once

#include "base/map.h"
#include "collect/calls.h"

#define TRAINING_GROUP "/aws/sagemaker/TrainingJobs"

struct followed_stream {
	struct followed_stream *next;
	struct buf full; /* as AWS calls it: JOB/algo-1-1700000000 */
	struct buf name; /* algo-1 */
	struct buf token; /* of the next page; empty: not asked yet, from_ms says where to begin */
	int64_t from_ms;
	uint64_t known_lines; /* of those at from_ms so many are here already */
};

struct followed_job {
	struct buf name;
	double modified_s; /* LastModifiedTime, as last described */
	bool is_over;
	unsigned quiet_rounds; /* since it was over: nothing came */
	struct followed_stream *streams;
};

struct follow {
	struct calls *calls;
	const struct collector_options *options;
	struct collector_figures *figures;
	struct store_reader *reader;
	struct map *jobs; /* name -> followed_job */
	int64_t since_ms; /* what changed before is known */
	bool has_more; /* the round ended before the logs did */
};

/* Lists what changed, and tells the pipeline of each. */
enum status follow_jobs(struct follow *follow, struct error *err) MUST_CHECK;
/* Reads on in the log streams of those that run, or ended of late. */
enum status follow_logs(struct follow *follow, struct error *err) MUST_CHECK;
void follow_free_streams(struct followed_job *job);
/* Is this error the job's alone? Then it is told and counted, and the others go on. */
bool follow_is_of_one(
	struct follow *follow, const struct followed_job *job, enum status status, const struct error *err);
