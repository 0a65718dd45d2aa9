/* Job: streams and series. Ownership and threads: as store.h. */
#pragma once

#include "model/metrics/metric.h"
#include "model/metrics/point.h"
#include "store/store.h"

struct stream_row {
	int64_t job_id;
	uint32_t stream_id; /* numbered within the job from 1; 0 in store_put_stream: a new one */
	struct span name;
	struct span host; /* that sends now: stream_hosts.h; a new stream's first */
	int64_t created_ms;
	/* The first sealed_lines lines, and all that was derived from them, are in blocks, chunks and state; the rest is in the
	 * journal. sealed_seq: the newest commit of which something is sealed. */
	uint64_t sealed_seq;
	uint64_t sealed_lines;
	uint64_t sealed_bytes; /* as sent, newlines included */
	int64_t first_ms; /* log times of the sealed lines; 0: none */
	int64_t last_ms;
	struct span state; /* of the stream's consumers as of sealed_seq; opaque here */
};
enum status store_put_stream(struct store_tx *tx, struct stream_row *row, struct error *err) MUST_CHECK;
/* The same of one that is there, without its name and host; nothing happens when it is gone. Waits for no answer. */
enum status store_seal_stream(struct store_tx *tx, const struct stream_row *row, struct error *err) MUST_CHECK;
/* name empty: all streams of the job, in order of their number. */
enum status store_read_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct stream_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Those from that number on, in order of their number. */
enum status store_read_streams_from(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t first,
	struct stream_row **out, size_t *count, struct error *err) MUST_CHECK;

struct series_row {
	int64_t job_id;
	uint32_t series_id; /* unique within the job; 0 in store_put_series: a new one, else inserted or updated */
	uint32_t stream_id;
	struct span metric;
	struct span labels; /* canonical label set, "" */
	struct span unit;
	enum role role;
	uint64_t sealed_points;
	struct summary sealed; /* over the sealed points that are not superseded */
};
enum status store_put_series(struct store_tx *tx, struct series_row *row, struct error *err) MUST_CHECK;
/* Where there is a row it stays as it is: how much is sealed only the sealer knows. */
enum status store_have_series(struct store_tx *tx, const struct series_row *row, struct error *err) MUST_CHECK;
/* stream_id 0: of all streams; metric empty: all. */
enum status store_read_series(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span metric, struct series_row **out, size_t *count, struct error *err) MUST_CHECK;
