/* Job: what the REST surface is made with. Ownership: borrowed for its life. Threads: values. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "http/assets.h"
#include "ingest/labels.h"
#include "store/attachments.h"
#include "store/store.h"

struct filters;
struct hub;
struct options;
struct people;
struct pipeline;
struct webhook_formats;
struct api_options {
	struct pipeline *pipeline;
	struct store *store;
	struct hub *hub;
	struct filters *filters; /* of the hub's lines */
	struct assets *assets;
	const struct embedded_file *downloads; /* NAME.gz, and SHA256SUMS */
	struct span advice; /* advice.json */
	const unsigned char *seal_key; /* SEAL_KEY_BYTES */
	const struct options *settings; /* what the server was started with */
	const struct people *people; /* whom others vouch for */
	int64_t sign_in_ms; /* of a person whom a provider has signed in: so long at most */
	size_t max_sign_ins; /* browsers that are signed in by one */
	size_t max_waiting_sign_ins; /* of one address, for one provider; 0: no limit */
	bool needs_sign_in; /* even while there is no token: somebody vouches for people */
	bool is_open; /* --insecure: nobody ever does */
	const char *team_reads; /* "own": tokens of a team that are not an admin's read its jobs alone; "open": all */
	bool is_tls; /* the session's cookie is for TLS alone */
	bool is_demo;
	size_t max_line_bytes;
	size_t max_points_bytes;
	size_t max_push_bytes; /* of a body of Loki's or OTLP's */
	size_t max_record_bytes; /* of a line of an import */
	const char *labels[LABEL_ROLES]; /* of shippers: lists of names */
	const char *span_names; /* of OTLP's traces: --span-names */
	const char *prometheus_job_labels; /* the same of Prometheus' series, in place of LABEL_JOB's */
	size_t slice_bytes;
	int64_t silent_ms; /* as the pipeline's */
	int64_t skew_ms; /* a clock that is off by so much is warned of */
	uint64_t max_views; /* saved, of one owner */
	uint64_t max_workspaces; /* of a team */
	size_t max_workspace_bytes; /* of one */
	struct span references; /* references.json */
	struct span limits; /* limits.json */
	uint64_t max_evaluations; /* scores of a job */
	size_t max_evaluation_bytes; /* of one document */
	uint64_t max_traces; /* of a job */
	struct attachment_limits attachments;
	uint64_t max_notes, max_note_bytes; /* of a job; of one */
	size_t max_rules;
	int64_t rule_preview_ms; /* a rule is tried on what is stored for so long */
	const struct webhook_formats *webhook_formats;
	size_t max_events; /* of EventBridge's, in one request */
	size_t max_chart_queries; /* in one request */
	size_t max_chart_buckets; /* of all of them */
	int64_t trash_ms; /* how long deleted jobs can be restored */
	int64_t lease_ms; /* of a session */
	size_t max_sessions;
	size_t max_commands; /* of one job */
	const char *timezone; /* of times in queries that name none */
	size_t max_compare_jobs;
	size_t max_scraped_series; /* of jobs, in one /metrics?jobs= */
	int64_t max_signature_ms; /* a signed address is good for so long at most */
	const char *ssh_template; /* of the command that opens a shell on a machine; "": none */
	struct span public_url; /* origin for links, without a slash at the end */
	const char *embed_origins; /* who may frame pages with embed=1: separated by commas; "": nobody */
	uint64_t max_groups; /* of an aggregation */
	uint64_t max_group_periods; /* of a job in one */
	uint64_t max_group_values; /* kept for medians and percentiles of all of them */
	int64_t job_search_ms; /* a search of jobs ends then, with what it has */
	int64_t search_ms; /* a search of logs ends then, with what it has */
	int64_t search_cpu_ms; /* the same, of what its threads have run together */
	size_t max_reply_bytes; /* of a page of lines */
	/* Reads the config file again: appends {"changed", "needs_restart"}. NULL: there is none to read. Any thread. */
	enum status (*reload)(void *context, struct buf *out, struct error *err);
	/* A changed webhook may make deliveries due. */
	void (*deliveries_due)(void *context);
	/* An event of EventBridge's has come: there may be more to know where it came from. Any thread. */
	void (*event_taken)(void *context);
	/* The figures of those whom this layer does not know, as Prometheus' text. Any thread; NULL: there are none. */
	void (*write_metrics)(void *context, struct buf *out);
	void *context;
};
