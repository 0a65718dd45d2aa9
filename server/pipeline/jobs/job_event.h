/*
 * Job: what an EventBridge event says of a training job, read and checked.
 * Ownership: spans into the event's JSON; rows in the caller's arena. Threads: any.
 * Source: docs.aws.amazon.com/sagemaker/latest/dg/automating-sagemaker-with-eventbridge.html. Times are Unix milliseconds,
 *         numbers or strings; seconds and ISO 8601 are taken too, as DescribeTrainingJob prints them.
 */
#pragma once

#include "base/json/json_read.h"
#include "state/jobs/history.h"

struct pipeline;

enum { EVENT_TRANSITIONS_MAX = 1000 };

struct job_event {
	struct span job;
	struct span status; /* "": not said */
	struct span failure_reason;
	struct told_row *told; /* what it says of the history */
	size_t told_count;
	int64_t created_ms, started_ms, ended_ms; /* 0: not said */
	int64_t newest_ms; /* LastModifiedTime, else when it was sent */
	const struct json *detail;
};

enum status job_event_read(struct arena *arena, const struct json *detail, int64_t sent_ms, struct job_event *out,
	struct error *err) MUST_CHECK;

/* Of a document as DescribeTrainingJob prints it: its times and statuses, which are not taken but must be some. */
enum status job_event_check_stated(const struct json *document, struct error *err) MUST_CHECK;

/* The fields that a job's document takes, with TrainingJobName, over what `old` (NULL: nothing) says; tags are a list here. */
enum status job_event_document(
	const struct job_event *event, const struct json *old, struct json **out, struct error *err) MUST_CHECK;

/*
 * What EventBridge says of a training job: `detail` is its document with its status. The job is made if it is not there; what
 * is newer changes its document, and all of it its history, where the same told twice and the older after the newer change
 * nothing. ERR_SEMANTIC with the field in `detail`.
 */
enum event_result { EVENT_ACCEPTED, EVENT_DUPLICATE };

/* What became of one that came with what EventBridge puts around it: others than those of training jobs are ignored. */
enum event_verdict { VERDICT_ACCEPTED, VERDICT_DUPLICATE, VERDICT_IGNORED, VERDICT_REJECTED, VERDICT_COUNT };

struct sent_event {
	struct span type; /* its detail-type */
	struct span time; /* as it is written; "": none */
	const struct json *detail; /* NULL: none */
};

/* OK but for what may pass: busy, no memory, a full disk. why: of one that is ignored or rejected. */
enum status pipeline_judge_event(struct pipeline *pipeline, const struct sent_event *event, struct span team,
	int64_t arrival_ms, enum event_verdict *out, struct error *why, struct error *err) MUST_CHECK;

enum status pipeline_take_event(struct pipeline *pipeline, const struct json *detail, struct span team, int64_t sent_ms,
	enum event_result *result, struct error *err) MUST_CHECK;
