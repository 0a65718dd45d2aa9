/*
 * Job: SQL of how long a job trained and is billed for, as its row shows it (pipeline/jobs/job_times.c): of `jobs AS j`.
 * Ownership and threads: text.
 */
#pragma once

#include "store/driver/common_sql.h"
#include "store/sql/jobs/unbilled.h"

/* Somebody set its start or its end right: what is stated is not of these. */
#define JOB_HAS_TIMES_BY_HAND                                                                                          \
	"EXISTS (SELECT 1 FROM attributes AS b WHERE b.job_id = j.job_id"                                              \
	" AND ((b.key = 'by_hand.start_ms' AND b.number = j.started_ms)"                                               \
	" OR (b.key = 'by_hand.end_ms' AND b.number = j.ended_ms)))"
/* NULL: no such seconds count. */
#define JOB_STATED_S(field)                                                                                            \
	"(SELECT a.number FROM attributes AS a WHERE a.job_id = j.job_id AND a.key = '" field                          \
	"' AND NOT " JOB_HAS_TIMES_BY_HAND " ORDER BY a.position LIMIT 1)"
/* As store_read_idle has it. */
#define JOB_IDLE_MS(end_ms)                                                                                            \
	"(SELECT CAST(coalesce(sum(" SQL_LESSER(                                                                       \
		"t.end_ms", end_ms) " - t.start_ms), 0) AS BIGINT) FROM transitions AS t"                              \
				    " WHERE t.job_id = j.job_id AND t.start_ms BETWEEN j.started_ms AND " end_ms       \
				    " AND t.end_ms > t.start_ms AND t.status IN " UNBILLED_STATUSES ")"
/* As it was worked out last. */
#define JOB_PAUSED_MS "coalesce((SELECT p.paused_ms FROM goodput AS p WHERE p.job_id = j.job_id), 0)"

/* When its time was over: its end, or of one that nobody ended and that is silent, or of the past, its last sign of life; NULL: not yet. */
#define JOB_UNTIL_MS                                                                                                   \
	"(CASE WHEN j.ended_ms > 0 THEN j.ended_ms ELSE (SELECT " SQL_GREATER("u.work_to_ms",                          \
		"j.started_ms") " FROM goodput AS u WHERE u.job_id = j.job_id AND u.is_over <> 0 AND u.work_to_ms > 0) END)"

/* Whole seconds; NULL: of a job that has not ended, or took no time, and states none. */
#define JOB_TOOK_TIME "j.started_ms > 0 AND j.ended_ms > j.started_ms"
#define JOB_TRAINING_S                                                                                                 \
	"coalesce(" JOB_STATED_S("TrainingTimeInSeconds") ", CASE WHEN " JOB_TOOK_TIME                                 \
							  " THEN (j.ended_ms - j.started_ms) / 1000 END)"
#define JOB_BILLABLE_S                                                                                                 \
	"coalesce(" JOB_STATED_S("BillableTimeInSeconds") ", CASE WHEN " JOB_TOOK_TIME " THEN " SQL_NOT_BELOW_0(       \
		"j.ended_ms - j.started_ms - " JOB_IDLE_MS("j.ended_ms") " - " JOB_PAUSED_MS) " / 1000 END)"
