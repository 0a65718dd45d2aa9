/*
 * Job: when machines send streams: from the first line or session on, until another machine sends the stream, a time of silence (not while a
 *      session of theirs lasts), or, once silent, until they begin to send to another job.
 * Ownership: texts are the arena's. Threads: as store.h.
 */
#pragma once

#include "store/driver/statement.h"
#include "store/faults.h"

/* A machine while it sends a stream. */
struct stay {
	int64_t job_id;
	uint32_t stream_id;
	int64_t from_ms, since_ms; /* as stream_hosts has them */
	int64_t first_ms, last_ms; /* of the stream's lines; 0: none is known */
	struct span host;
	int64_t until_ms; /* as stream_hosts has it */
	int64_t next_ms; /* from when on another machine sends the stream; 0: none does */
	int64_t opened_ms; /* when the stream's newest session was; 0: it had none */
	int64_t exit_ms; /* when the process of that ended; 0: nobody said */
	int64_t job_end_ms; /* so long it lasts where nobody did */
	int64_t end_ms; /* the last time at which it sends it */
	bool is_settled; /* nothing is asked of the time between its last line and that end */
	int64_t reach_ms; /* the last end of its host's and its job's stays that begin no later */
};
/* Columns of stream_hosts h and streams s. */
#define STAY_FOR_EVER "9223372036854775807"
#define STAY_BEGINNING "h.job_id, h.stream_id, h.from_ms, h.since_ms, s.first_ms, s.last_ms"
#define STAY_COLUMNS                                                                                                     \
	STAY_BEGINNING                                                                                                   \
	", h.host, h.until_ms, coalesce((SELECT n.from_ms FROM stream_hosts AS n WHERE n.job_id = h.job_id"              \
	" AND n.stream_id = h.stream_id AND n.number = h.number + 1), 0)"                                                \
	", coalesce((SELECT x.opened_ms FROM sessions AS x WHERE x.job_id = h.job_id AND x.stream_id = h.stream_id), 0)" \
	", coalesce((SELECT e.at_ms FROM exits AS e WHERE e.job_id = h.job_id AND e.stream_id = h.stream_id), 0)"        \
	", coalesce((SELECT nullif(o.ended_ms, 0) FROM jobs AS o WHERE o.job_id = h.job_id), " STAY_FOR_EVER ")"
#define STAY_STREAM " AND s.job_id = h.job_id AND s.stream_id = h.stream_id"

int64_t stay_begin_ms(const struct stay *stay);
struct stay stay_read(struct statement *s, struct arena *arena);

/* When a machine began to send streams, of those that came within the two times. */
struct beginning {
	int64_t ms, job_id;
	size_t other; /* the next one that is of another job; their number: none is */
};
struct beginnings {
	struct span host;
	int64_t job_id; /* whose are left out; 0: nobody's */
	int64_t after_ms, until_ms;
	struct beginning *items; /* ascending */
	size_t count;
};

/* Who asks for machines of jobs, and what it read last: stays of one host that are asked for by their last lines share it. */
struct presence {
	struct store_reader *reader;
	struct arena *arena;
	const struct stream_ends *ends;
	struct beginnings elsewhere;
};

/* Did it send the stream at some time of the two? */
enum status stay_is_sent(struct presence *p, struct stay *stay, int64_t first_ms, int64_t last_ms, bool *out,
	struct error *err) MUST_CHECK;
/* Those of one host, with the end that silence or another machine put to them. */
void stays_end_by_silence(struct presence *p, struct stay *stays, size_t count);
/* And by its sending to other jobs, unless is_settled; with reaches: by job, and by their beginning. */
enum status stays_end_by_leaving(struct presence *p, struct stay *stays, size_t count, struct error *err) MUST_CHECK;
/* Whether that host sent any of these, of one job, at some time of the two, which are of that time alone then. */
bool stays_were_there(const struct stay *stays, size_t count, int64_t *first_ms, int64_t *last_ms);
