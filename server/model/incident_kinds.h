/* Made by deploy/incident-kinds out of incident_kinds.json: change that. */
#pragma once

enum incident_kind {
	INCIDENT_LOSS_SPIKE,
	INCIDENT_DIVERGENCE,
	INCIDENT_NON_FINITE,
	INCIDENT_RETENTION_DUE, /* of a job, no series: its log text will be deleted by a limit */
	INCIDENT_PLATEAU,
	INCIDENT_LOSS_DROP,
	INCIDENT_GRAD_SPIKE,
	INCIDENT_THROUGHPUT_DROP,
	INCIDENT_THROUGHPUT_CHANGE,
	INCIDENT_STALL, /* of a stream, no series */
	INCIDENT_JOB_FAILED, /* of a job, no series */
	INCIDENT_STRAGGLER,
	INCIDENT_RULE, /* the expression of a user's rule is true */
	INCIDENT_LOG_SIGNATURE, /* of a job: what lines of its log say outright */
	INCIDENT_NODE_SUSPECT, /* of a job: one of its machines is at fault */
	INCIDENT_DEADLINE, /* of a job: it will not be done in time */
	INCIDENT_CHECKPOINT_OVERDUE, /* of a job */
	INCIDENT_DEFINITION_SILENT, /* of a series: its definition finds no value any more */
	INCIDENT_ENTROPY_COLLAPSE,
	INCIDENT_REWARD_COLLAPSE,
	INCIDENT_RESTART_DIFFERS, /* of a job: behind a restart it is not where it was */
	INCIDENT_TRAINING_ALERT, /* of a job: what its training says by its tracker's own alert() */
	INCIDENT_COMMUNICATION_EXPOSED, /* of a job: by its traces, more of the GPU's time is communication that nothing runs beside */
	INCIDENT_DATA_WAIT, /* of a job: more of its steps is waiting for data */
	INCIDENT_RATE_DRIFTS, /* of a job: its learning rate is not the declared one */
	INCIDENT_EVALUATION_FELL, /* of a job: a score of its newest evaluated checkpoint is worse than that of the one before */
	INCIDENT_KIND_COUNT
};

/* What one thing leads to another of; OWN: the same in other streams alone; NONE: each stands for itself. */
enum incident_cause { INCIDENT_CAUSE_NONE, INCIDENT_CAUSE_LOSS, INCIDENT_CAUSE_PACE, INCIDENT_CAUSE_OWN };

/* X(KIND, name, harm, cause, verb in messages) */
// clang-format off
#define INCIDENT_KINDS(X) \
	X(LOSS_SPIKE, "loss_spike", LOSS_SPIKE, INCIDENT_CAUSE_LOSS, " jumped to ") \
	X(DIVERGENCE, "divergence", DIVERGENCE, INCIDENT_CAUSE_LOSS, " diverges: ") \
	X(NON_FINITE, "non_finite", NON_FINITE, INCIDENT_CAUSE_LOSS, " became ") \
	X(RETENTION_DUE, "retention_due", RETENTION_DUE, INCIDENT_CAUSE_NONE, NULL) \
	X(PLATEAU, "plateau", PLATEAU, INCIDENT_CAUSE_OWN, " stopped falling: ") \
	X(LOSS_DROP, "loss_drop", LOSS_DROP, INCIDENT_CAUSE_OWN, " fell too far at once: ") \
	X(GRAD_SPIKE, "grad_spike", LOSS_SPIKE, INCIDENT_CAUSE_LOSS, " jumped to ") \
	X(THROUGHPUT_DROP, "throughput_drop", THROUGHPUT_DROP, INCIDENT_CAUSE_PACE, " says the job became slower: ") \
	X(THROUGHPUT_CHANGE, "throughput_change", THROUGHPUT_CHANGE, INCIDENT_CAUSE_OWN, " says the job became faster: ") \
	X(STALL, "stall", STALL, INCIDENT_CAUSE_NONE, NULL) \
	X(JOB_FAILED, "job_failed", JOB_FAILED, INCIDENT_CAUSE_NONE, NULL) \
	X(STRAGGLER, "straggler", THROUGHPUT_DROP, INCIDENT_CAUSE_PACE, ", a stream slower than the others: ") \
	X(RULE, "rule", RULE, INCIDENT_CAUSE_OWN, NULL) \
	X(LOG_SIGNATURE, "log_signature", LOG_SIGNATURE, INCIDENT_CAUSE_NONE, NULL) \
	X(NODE_SUSPECT, "node_suspect", NODE_SUSPECT, INCIDENT_CAUSE_NONE, NULL) \
	X(DEADLINE, "deadline", DEADLINE, INCIDENT_CAUSE_NONE, NULL) \
	X(CHECKPOINT_OVERDUE, "checkpoint_overdue", CHECKPOINT_OVERDUE, INCIDENT_CAUSE_NONE, NULL) \
	X(DEFINITION_SILENT, "definition_silent", DEFINITION_SILENT, INCIDENT_CAUSE_OWN, NULL) \
	X(ENTROPY_COLLAPSE, "entropy_collapse", ENTROPY_COLLAPSE, INCIDENT_CAUSE_OWN, " collapsed: ") \
	X(REWARD_COLLAPSE, "reward_collapse", REWARD_COLLAPSE, INCIDENT_CAUSE_OWN, " lost what it had gained: ") \
	X(RESTART_DIFFERS, "restart_differs", RESTART_DIFFERS, INCIDENT_CAUSE_NONE, NULL) \
	X(TRAINING_ALERT, "training_alert", TRAINING_ALERT, INCIDENT_CAUSE_NONE, NULL) \
	X(COMMUNICATION_EXPOSED, "communication_exposed", COMMUNICATION_EXPOSED, INCIDENT_CAUSE_NONE, NULL) \
	X(DATA_WAIT, "data_wait", DATA_WAIT, INCIDENT_CAUSE_NONE, NULL) \
	X(RATE_DRIFTS, "rate_drifts", RATE_DRIFTS, INCIDENT_CAUSE_NONE, NULL) \
	X(EVALUATION_FELL, "evaluation_fell", EVALUATION_FELL, INCIDENT_CAUSE_NONE, NULL)
// clang-format on
