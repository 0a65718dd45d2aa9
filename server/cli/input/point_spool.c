#include "cli/input/point_spool.h"

#include "base/json/json_write.h"
#include "base/map.h"
#include "cli/http/client.h"
#include "cli/sender/job_calls.h"
#include "cli/spool/spool_file.h"

#include <inttypes.h>
#include <unistd.h>

enum { MAX_WAITING_BYTES = 256 << 20 }; /* who puts flushes much earlier */

struct run {
	unsigned stream, source;
	struct spool_file file;
	struct map *counts; /* metric -> uint64_t */
};

struct point_spool {
	const char *program;
	struct spool *spool;
	const char *folder;
	struct run *runs;
	size_t count, cap;
	struct buf waiting; /* lines of one run */
	size_t flushed; /* bytes of them that are in the spool */
	size_t run;
};

enum status point_spool_new(
	struct point_spool **out, const char *program, struct spool *spool, const char *spool_folder, struct error *err)
{
	struct point_spool *points = mem_zeroed(sizeof *points);

	if (!points)
		return error_no_memory(err);
	points->program = program;
	points->spool = spool;
	points->folder = spool_folder;
	points->waiting = BUF_INIT(MAX_WAITING_BYTES);
	*out = points;
	return OK;
}

static void run_done(struct run *run)
{
	struct span metric;
	void *value;

	for (size_t at = 0; run->counts && map_next(run->counts, &at, &metric, &value);)
		mem_free(value);
	map_free(run->counts);
	spool_file_done(&run->file);
}

void point_spool_free(struct point_spool *points)
{
	if (!points)
		return;
	for (size_t i = 0; i < points->count; i++)
		run_done(&points->runs[i]);
	mem_free(points->runs);
	buf_done(&points->waiting);
	mem_free(points);
}

enum status point_spool_open(struct point_spool *points, unsigned stream, size_t *out, struct error *err)
{
	struct error why = {0};

	for (*out = 0; *out < points->count; ++*out)
		if (points->runs[*out].stream == stream)
			return OK;
	if (!mem_grow((void **)&points->runs, points->count, &points->cap, sizeof *points->runs))
		return error_no_memory(err);
	struct run *run = &points->runs[points->count];
	*run = (struct run){.stream = stream, .file = SPOOL_FILE_NONE, .counts = map_new()};
	if (!run->counts)
		return error_no_memory(err);
	points->count++;
	TRY(spool_file_open(&run->file, points->folder, "points", &why, err));
	if (why.status != OK)
		client_say(points->program, "%s: points wait in memory instead", why.text);
	if (run->file.path[0]) { /* the points are in the user's files: nobody looks for it when we are killed */
		unlink(run->file.path);
		run->file.path[0] = 0;
	}
	return spool_add_source(points->spool,
		&(struct spool_source){.fd = run->file.fd, .stream = stream, .is_ours = true}, &run->source, err);
}

static bool next_number(struct run *run, struct span metric, uint64_t *number)
{
	uint64_t *count = map_get(run->counts, metric);

	if (!count) {
		count = mem_zeroed(sizeof *count);
		if (!count || !map_put(run->counts, metric, count)) {
			mem_free(count);
			return false;
		}
	}
	*number = (*count)++;
	return true;
}

bool point_spool_put(struct point_spool *points, size_t run, const struct spool_point *point)
{
	struct json_writer w = json_writer_on(&points->waiting);
	uint64_t number;

	points->run = run;
	if (!next_number(&points->runs[run], point->metric, &number))
		return false;
	buf_printf(&points->waiting, "%s%" PRIu64 "\t", point->is_time_assumed ? "~" : "", number);
	json_object(&w);
	json_put_span(&w, "metric", point->metric);
	json_put_i64(&w, "step", point->step);
	if (point->ts_ms)
		json_put_i64(&w, "ts_ms", point->ts_ms);
	json_put_double(&w, "value", point->value);
	json_object_end(&w);
	buf_append_char(&points->waiting, '\n');
	return points->waiting.failure == OK;
}

void point_spool_put_setting(struct point_spool *points, size_t run, struct span key, struct span json)
{
	struct json_writer w = json_writer_on(&points->waiting);

	points->run = run;
	buf_append_text(&points->waiting, JOB_POINTS_SETTING "\t");
	json_object(&w);
	json_key_span(&w, key);
	json_raw(&w, json);
	json_object_end(&w);
	buf_append_char(&points->waiting, '\n');
}

size_t point_spool_waiting_bytes(const struct point_spool *points)
{
	return points->waiting.len - points->flushed;
}

bool point_spool_flush(struct point_spool *points)
{
	struct span rest = span_skip(buf_span(&points->waiting), points->flushed);

	if (rest.len)
		points->flushed += spool_offer(points->spool, points->runs[points->run].source, rest);
	if (points->flushed < points->waiting.len)
		return false;
	buf_reset(&points->waiting);
	points->flushed = 0;
	return true;
}
