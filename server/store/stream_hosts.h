/*
 * Job: which machine sent which lines of a stream. streams.host is the one that sends now ("": unknown, or several at once).
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

struct stream_host_row {
	int64_t job_id;
	uint32_t stream_id;
	uint32_t number; /* in the order of the lines, from 0 */
	uint64_t from_line;
	int64_t from_ms; /* log time of that line; 0: of the first that the stream ever had */
	int64_t since_ms; /* when that came */
	int64_t until_ms; /* when its last line came (written formerly: when another machine's first did); 0: it still sends */
	struct span host;
	bool is_shared; /* several machines send at once */
};
/* By its number: replaces. The stream's present host is to be set as well. */
enum status store_put_stream_host(struct store_tx *tx, const struct stream_host_row *row, struct error *err) MUST_CHECK;
enum status store_set_present_host(
	struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct span host, struct error *err) MUST_CHECK;
/* stream_id 0: of all streams of the job. In order of stream and number. */
enum status store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Whose the line is, or (line NO_LINE) what was sent at that log time; host "": it is not known. */
enum status store_find_stream_host(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, int64_t at_ms, struct stream_host_row *out, struct error *err) MUST_CHECK;
/* How a machine of some stream spells that name, which has no case, or else one that a line named with a fault; *out "": none is called so. */
enum status store_find_spelling(struct store_reader *reader, struct arena *arena, struct span name, struct span *out,
	struct error *err) MUST_CHECK;
/* Of a short name that several full ones have. */
#define STORE_SEVERAL_MACHINES SPAN("?")

/* As what machine a name is known to a team ("": to all), that is of a stream of its jobs or of jobs of no team: by itself, or the one whose short
 * or full name it is. *out "": as none; or as several. */
enum status store_find_machine(struct store_reader *reader, struct arena *arena, struct span name, struct span team,
	struct span *out, struct error *err) MUST_CHECK;
/* The other form, short or full, of that name by which lines alone have charged a machine; *out "": there is none, it sends streams itself, or the
 * short name is of machines of several domains. Who asks for a team (not "") may have it only if its jobs alone have charged it. */
enum status store_find_charged_form(struct store_reader *reader, struct arena *arena, struct span name,
	struct span team, struct span *out, struct error *err) MUST_CHECK;
/* Faults that the host was charged with for lines of the stream, from that one on, are nobody's. */
enum status store_drop_node_faults(
	struct store_tx *tx, const struct stream_host_row *row, struct error *err) MUST_CHECK;
