/*
 * Job: something that went wrong in a series, from the point that tripped it to its recovery. Plain values.
 */
#pragma once

#include "model/incident_kinds.h"
#include "base/span.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL, SEVERITY_COUNT };
enum incident_state { INCIDENT_OPEN, INCIDENT_RECOVERED, INCIDENT_STATE_COUNT };
/* The numbers are in the database. */
enum incident_close {
	INCIDENT_CLOSED_ITSELF,
	INCIDENT_CLOSED_WITH_JOB,
	INCIDENT_CLOSED_WITH_ATTEMPT, /* the same goes wrong in the next one: another incident */
	INCIDENT_CLOSED_WITH_DELETION, /* of the job */
	INCIDENT_CLOSED_RULE_CHANGED,
	INCIDENT_CLOSED_RULE_DELETED,
	INCIDENT_CLOSED_RULE_DISABLED,
	INCIDENT_CLOSED_DEFINITIONS, /* a back-fill with others does not find it */
	INCIDENT_CLOSED_CLEARED, /* somebody says that the fault was not the machine's */
	INCIDENT_CLOSED_NEW_LEVEL, /* it stays as it is, and is compared with what was before no more */
	INCIDENT_CLOSE_COUNT
};

const char *incident_kind_name(enum incident_kind kind); /* "loss_spike" */
enum incident_cause incident_kind_cause(enum incident_kind kind);
/* Another kind of which a message about this one is; else itself. */
enum incident_kind incident_kind_harm(enum incident_kind kind);
const char *incident_kind_verb(enum incident_kind kind); /* " jumped to "; NULL: it has words of its own */
bool incident_kind_parse(struct span name, enum incident_kind *out);
const char *severity_name(enum severity severity);
bool severity_parse(struct span name, enum severity *out);
const char *incident_state_name(enum incident_state state);
bool incident_state_parse(struct span name, enum incident_state *out);
const char *incident_close_name(
	enum incident_close why); /* as in docs/detection.md: "job_ended"; NULL: it came to its end by itself */
bool incident_close_parse(struct span name, enum incident_close *out);
const char *incident_close_words(enum incident_close why); /* "until the job ended"; NULL as well */

/* Of opened_ordinal: what is said of no series has its time there, and above it a hash of what is said. */
enum { INCIDENT_TIME_BITS = 43 };
/* Of a job the same signature, or host, at the same time is the same incident, whoever says it again. */
uint64_t incident_ordinal_of(struct span what, int64_t at_ms);

/* What a detector says about a series. The key of an incident is (series, kind, opened_ordinal): replay repeats nothing. */
struct incident {
	enum incident_kind kind;
	enum severity severity;
	enum incident_state state;
	uint64_t opened_ordinal; /* of the point that tripped it, in its series */
	int64_t first_step; /* where it began, as far as can be told */
	int64_t last_step; /* the newest step that belongs to it */
	int64_t opened_step; /* of the point that tripped it */
	int64_t opened_ms;
	int64_t closed_ms; /* 0 while open */
	enum incident_close closed_why; /* it came to its end, or something else did */
	uint64_t line; /* of the point that tripped it */
	int64_t rule_id; /* of INCIDENT_RULE: whose; 0 else */
	bool is_historic; /* its lines were old when they came: no webhook */
	/* Open yet at a later point, whose step, time and value these are: news where the job had ended since; of a restart, where it was
	 * taken back since. Not kept. */
	bool is_again;
	int64_t number_ms; /* of a NaN that was sent as a point: of the newest number before it; of a printed one: before the one that was sent last; 0: not known. Not kept */
	/* evidence, as of the opening; docs/detection.md, "The evidence", says what it is of each kind */
	double value; /* of the tripping point, or of the median of points that tripped it */
	double expected; /* what was usual before */
	double spread; /* the noise, as a standard deviation; 0: the kind has none */
	double score; /* how many spreads lie between value and expected; 0: the kind has none */
	double worst; /* the farthest value so far, not only at the opening */
	int64_t worst_step;
};
