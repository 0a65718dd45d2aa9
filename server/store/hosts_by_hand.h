/*
 * Job: whose a stream is, as somebody set it. stream_hosts.h then has that machine alone, for all of its lines; what was told of its
 * machines stands beside it, grows on, and counts again when the setting is taken back.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/stream_hosts.h"

struct host_by_hand {
	uint32_t stream_id;
	struct span stream, host;
};
/* In order of stream_id. */
enum status store_read_hosts_by_hand(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct host_by_hand **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_has_host_by_hand(
	struct store_reader *reader, int64_t job_id, uint32_t stream_id, bool *has_it, struct error *err) MUST_CHECK;
/* What its machines were charged with for its lines is that host's. *stream_id 0: the job has no such stream. */
enum status store_set_host_by_hand(struct store_tx *tx, int64_t job_id, struct span stream, struct span host,
	uint32_t *stream_id, struct error *err) MUST_CHECK;
/* *host: that was told last, in the arena; "": none, or several at once, which are charged with nothing. */
enum status store_take_host_back(struct store_tx *tx, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span *host, struct error *err) MUST_CHECK;

/* As store_put_stream_host and store_read_stream_hosts, of a stream whose host was set. */
enum status store_put_told_host(struct store_tx *tx, const struct stream_host_row *row, struct error *err) MUST_CHECK;
enum status store_read_told_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct stream_host_row **out, size_t *count, struct error *err) MUST_CHECK;
