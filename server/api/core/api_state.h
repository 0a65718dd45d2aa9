/* Job: what the API's files share. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_options.h"
#include "base/buf.h"
#include "pipeline/jobs/job_event.h"
#include "state/audit.h"
#include "store/tokens.h"

#include <pthread.h>
#include <stdatomic.h>

struct upload;
struct upload_timer;
struct session_table;
struct page_sessions;
struct person_sessions;
struct sign_in_desks;

enum { AWS_KEY_ID_BYTES = 20 };
/* A sender's clock is not ahead by more. */
enum { DAY_MS = 24 * 60 * 60 * 1000 };
struct aws_key {
	char id[AWS_KEY_ID_BYTES + 1];
};

struct api {
	struct api_options options;
	struct http_server *_Atomic server; /* workers run before it is known */
	bool are_reads_own; /* --team-reads=own */
	atomic_bool is_stopping;
	int64_t started_ms;
	struct zone *zone; /* of times that name none; NULL: UTC */
	pthread_mutex_t tokens_loading; /* one at a time: who reads last has what is on disk */
	atomic_bool are_tokens_stale; /* they changed on disk and could not be read: the tick tries again */
	pthread_rwlock_t tokens_lock;
	struct arena *tokens_arena;
	struct token_row *tokens;
	struct aws_key *aws_keys; /* of each of them */
	size_t token_count;
	struct page_sessions *ended_sessions;
	struct person_sessions *person_sessions;
	struct sign_in_desks *desks; /* of the OpenID providers */
	pthread_mutex_t uploads_mutex;
	struct upload *uploads;
	struct upload_timer *upload_timer;
	struct session_table *sessions;
	struct ingest_labels *labels, *prometheus_labels;
	struct ingest_span_names *span_names;
	struct advice *advice;
	char *frame_ancestors; /* of pages with embed=1 */
	atomic_uint_fast64_t no_job_lines; /* of shippers: no label said of which job they are */
	atomic_uint_fast64_t bad_times;
	atomic_uint_fast64_t rejected_samples; /* of remote write and pushes in Prometheus' text */
	atomic_uint_fast64_t events[VERDICT_COUNT]; /* of EventBridge */
};

/* A worker's own things. */
struct api_worker {
	struct api *api;
	struct store_reader *reader; /* of what whoever asks may see: one of these */
	struct store_reader *whole, *narrow; /* narrow: with --team-reads=own, once it was needed */
	struct actor actor; /* of the request that it answers */
	char verb[64], thing[1024];
	struct buf body;
};
