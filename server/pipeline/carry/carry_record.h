/*
 * Job: the records that a whole job is carried in, one a line of NDJSON (docs/carry.md): job, then each stream with its lines
 *      and points, then incidents, then notes, then scores of evaluations, then what traces say, then attachments with their
 *      parts, then end. Pure: bytes in, rows out, and back.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_write.h"
#include "model/metrics/batch.h"
#include "model/incident.h"
#include "pipeline/carry/carry_attachment.h"
#include "store/alerts.h"
#include "store/carry.h"
#include "store/evaluations.h"
#include "store/gpu_traces.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/notes.h"
#include "store/retention.h"
#include "store/stream_hosts.h"
#include "store/streams.h"
#include "store/told.h"
#include "store/transitions.h"

enum { CARRY_FORMAT = 1 };

enum carry_kind {
	CARRY_JOB,
	CARRY_STREAM,
	CARRY_LINES,
	CARRY_POINTS,
	CARRY_INCIDENT,
	CARRY_NOTE,
	CARRY_EVALUATION,
	CARRY_TRACE,
	CARRY_ATTACHMENT,
	CARRY_PART,
	CARRY_END,
	CARRY_KIND_COUNT
};

extern const char
	*const carry_sources[SOURCE_ASSUMED_BY_HAND + 1]; /* of transitions; the first ones of what was told, too */

struct carry_job {
	struct job_row row; /* without its number */
	struct span definitions; /* those in force; "": none of its own */
	struct transition_row *transitions;
	size_t transition_count;
	struct told_row *told; /* what the transitions are made of, whatever was set by hand */
	size_t told_count;
	struct event_times event_times;
	bool has_told; /* older records have but the transitions */
	struct setting_row *settings; /* by the name of the stream */
	size_t setting_count;
	struct status_message *messages; /* beside statuses, also those that came before the newest */
	size_t message_count;
	struct retention retention;
	int64_t newest_event_ms;
};

struct carry_stream {
	struct stream_row row; /* state: of exactly these lines and points */
	struct expired_text expired; /* first_kept_line 0: nothing was deleted */
	struct stream_host_row *hosts; /* older records have but the stream's */
	size_t host_count;
	struct source_row *sources;
	size_t source_count;
	struct signature_hit_row *hits;
	size_t hit_count;
	struct checkpoint_row *checkpoints;
	size_t checkpoint_count;
	int64_t session_ms; /* when its newest session was opened */
	bool has_session;
	struct exit_row exit;
	bool has_exit;
};

struct carry_lines {
	struct span stream;
	uint64_t first;
	struct line *lines;
	size_t count;
};

struct carry_points {
	struct span stream;
	struct span metric;
	uint64_t first;
	struct point *points;
	size_t count;
};

struct carry_counts {
	uint64_t streams;
	uint64_t lines; /* that are here: what a limit deleted is not */
	uint64_t points;
	uint64_t incidents;
	uint64_t notes; /* older records have none */
	uint64_t evaluations; /* as well */
	uint64_t traces; /* as well */
	uint64_t attachments; /* as well */
};

struct carry_end {
	struct span name;
	struct carry_counts counts;
};

struct carry_record {
	enum carry_kind kind;
	union {
		struct carry_job job;
		struct carry_stream stream;
		struct carry_lines lines;
		struct carry_points points;
		struct incident_row incident;
		struct note_row note;
		struct evaluation_score evaluation;
		struct gpu_trace_row trace;
		struct attachment_row attachment;
		struct carry_part part;
		struct carry_end end;
	};
};

const char *carry_kind_name(enum carry_kind kind);
/* One record, and a newline. */
void carry_write(const struct carry_record *record, struct buf *out);
/* ERR_INVALID: no JSON; ERR_SEMANTIC with the field. */
enum status carry_read(struct span text, struct arena *arena, struct carry_record *out, struct error *err) MUST_CHECK;
