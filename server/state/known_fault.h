/*
 * Job: which known fault the log told of shortly before a job fell silent or failed: its name, the machine, what was said.
 * Ownership: in the arena that the caller gives. Threads: any that may read.
 */
#pragma once

#include "model/incident.h"
#include "store/jobs.h"
#include "store/store.h"

struct pipeline;

enum {
	/* A machine's fault may be what hung the job until a timeout, if nothing else explains that; a warning that it outlived is none of its end. */
	FAULT_OF_MACHINE_MS = 60 * 60 * 1000,
	FAULT_CRITICAL_MS = 15 * 60 * 1000,
	FAULT_WARNING_MS = 2 * 60 * 1000,
	/* Rank 0 prints the step before while others fail; of streams without times all is by arrival. */
	FAULT_BESIDE_MS = 2 * 60 * 1000,
	FAULT_CHANNEL_MS =
		60 * 1000, /* two channels tell of one event within that: one may read the kernel's log now and then */
	FAULT_AFTER_MS = 15 * 60 * 1000, /* a kernel's line may be shipped later than what it caused */
	FAULT_BROKE_OFF_MS = 30 * 60 * 1000 /* a machine's fault broke off what made its last step so soon behind it */
};

struct known_fault {
	struct span words; /* "NCCL timeout on gpu007: …", at most 1024 bytes; "": there was none */
	struct span facts; /* members of an object, for an incident's evidence */
	struct span detail; /* of an end: the job's reason and these words; "": there was none */
	bool is_looked_for; /* false: nothing is known here of faults, and what was found before stands */
};

/* What broke off work whose last step was then, INT64_MIN: that is not known. */
struct fault_window {
	int64_t from_ms; /* the training went on there behind the break before: nothing that was over then counts; INT64_MIN: it never did */
	int64_t last_step_ms;
	int64_t to_ms;
};
/* What was said, and when; weight: known_fault_weight. */
struct fault_said {
	int weight;
	int64_t first_ms, last_ms;
};
/*
 * The one rule of it (docs/detection.md): how well it explains what showed at at_ms; 0: it is none of this. What was said behind the last
 * step, or of a machine half an hour before, and what was said beside that step is ahead of what work went on behind. machine_ms: where
 * no step is known, how long before at_ms a machine's fault counts: at first FAULT_BROKE_OFF_MS, and if nothing as grave explains it
 * FAULT_OF_MACHINE_MS.
 */
int fault_rank(const struct fault_window *window, int64_t at_ms, int64_t machine_ms, const struct fault_said *said);

/* at_ms: when it showed. */
enum status known_fault_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, const struct fault_window *window, int64_t at_ms, struct known_fault *out,
	struct error *err) MUST_CHECK;

/* Of a job that has failed, its reason with the fault where nobody stated one. history: of the row. */
struct history;
enum status known_fault_of_end(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct history *history, const struct fault_window *window, struct job_row *row, struct known_fault *out,
	struct error *err) MUST_CHECK;

/* The detail of an end anew, of what the store has: the job's reason and its incident's facts. */
enum status known_fault_say_again(
	struct arena *arena, struct span reason, struct span facts, struct span *out, struct error *err) MUST_CHECK;

/* "": nobody says. The machine that sent the line, or that the stream is of; *is_shared: several send it. */
enum status stream_line_host(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span stream, uint64_t line, struct span *host, bool *is_shared, struct error *err) MUST_CHECK;
/* The same of what was said there: a machine, or a list of them, that the line names is its own. */
struct said_hit;
enum status said_hit_host(struct store_reader *reader, struct arena *arena, const struct said_hit *hit,
	struct span *host, bool *is_shared, struct error *err) MUST_CHECK;

/* Of a fault by its name in signatures.json: the machine works on, and nothing broke for it. */
bool known_fault_is_nonfatal(const struct pipeline *pipeline, struct span signature);
/*
 * What explains more weighs more: a machine's fault explains what others saw of it, and what the program did. 0: it explains nothing.
 * told: the severity of its incident, which may be less than the signature's; of a signature that is not known here all there is.
 */
enum { FAULT_WEIGHT_CRITICAL = 4, FAULT_WEIGHT_OF_MACHINE = 5 };
int known_fault_weight(const struct pipeline *pipeline, struct span signature, enum severity told);
/* It says that something else, or somebody else, failed. */
bool known_fault_is_symptom(const struct pipeline *pipeline, struct span signature);
/* Is it the machine's own? *is_drain: it should not be given to the next job. */
bool known_fault_is_of_machine(const struct pipeline *pipeline, struct span signature, bool *is_drain);

/* Somebody said by hand, in its job's document, that what the incident was opened for is not its machine's. */
struct incident_row;
bool known_fault_is_cleared(struct arena *arena, struct span document, const struct incident_row *row);
/* The incident was opened for a fault that its machine survived. */
bool known_fault_is_survived(const struct pipeline *pipeline, const struct incident_row *row);
/* What a message says of such an incident, of what the store has: "GPU has fallen off the bus on gpu017: NVRM: Xid …" */
enum status known_fault_say(
	struct arena *arena, const struct incident_row *row, struct span *out, struct error *err) MUST_CHECK;
