#include "cli/sender/stored_points.h"

#include "base/map.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/sender/point_rows.h"
#include "cli/sender/job_calls.h"

#include <math.h>

enum { MAX_PATH_BYTES = 8192 };

struct stored_series {
	struct point_rows rows;
	uint64_t number; /* of a series that is too long: how many there are */
	uint64_t held; /* of the room */
	bool is_known; /* since it was asked last */
	bool was_known; /* once: what is new since is of our own sending, or another's */
	bool has_told;
};

struct stored_points {
	uint64_t *room;
	struct json *document; /* of the job's series; NULL: there are none */
	bool has_lines; /* the stream has a log, which may have given points as well */
	bool are_hidden; /* what the server has, from a token that may only write */
	struct map *listed; /* metric -> its row in the document, of the stream */
	struct map *series; /* metric -> struct stored_series: what was asked of them */
	struct point_row **pending; /* of the batch */
	size_t pending_count, pending_cap;
};

struct stored_points *stored_points_new(uint64_t *room)
{
	AUTO(stored_points) stored = mem_zeroed(sizeof *stored);

	if (!stored || !(stored->listed = map_new()) || !(stored->series = map_new()))
		return NULL;
	stored->room = room;
	return TAKE(stored);
}

void stored_points_free(struct stored_points *stored)
{
	void *value;

	if (!stored)
		return;
	for (size_t at = 0; stored->series && map_next(stored->series, &at, NULL, &value);) {
		point_rows_done(&((struct stored_series *)value)->rows);
		mem_free(value);
	}
	map_free(stored->series);
	map_free(stored->listed);
	json_free(stored->document);
	mem_free(stored->pending);
	mem_free(stored);
}

/* ---- what the server is asked ---- */

/* *out stays NULL where there is none. */
static enum status get(struct http_client *client, const struct buf *path, struct json **out, struct error *err)
{
	enum status status = client_get_json(client, path, out, err);

	return status == ERR_NOT_FOUND ? OK : status;
}

static enum status read_list(
	struct stored_points *stored, struct http_client *client, const struct stored_points_of *of, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	TRY(job_want_points_read(client, of->job, of->stream, &stored->has_lines, err));
	url_put_value(&path, "/api/v1/jobs/", span_from(of->job));
	buf_append_text(&path, "/metrics");
	TRY(get(client, &path, &stored->document, err));
	const struct json *row = stored->document ? json_first(json_get(stored->document, "series")) : NULL;
	for (; row; row = json_next(row))
		if (span_equal(json_string_of(json_get(row, "stream")), span_from(of->stream)) &&
			!map_put(stored->listed, json_string_of(json_get(row, "metric")), (void *)row))
			return error_no_memory(err);
	return OK;
}

/* As the server and the files write them: what is not finite is a word. */
static bool read_number(const struct json *node, double *out)
{
	return node && (json_number_of(node, out) ||
			       (json_kind(node) == JSON_STRING && span_parse_double(json_string_of(node), out)));
}

static bool read_whole(const struct json *node, int64_t *out)
{
	double number;

	if (!read_number(node, &number) || !(fabs(number) < 0x1p63))
		return false;
	*out = (int64_t)number;
	return true;
}

/* Columns of a part of the series; points that come from lines are none of the files'. */
static enum status add_columns(
	const struct json *part, struct point_rows *rows, uint64_t *from_lines, struct error *err)
{
	const struct json *step = json_first(json_get(part, "step")), *ts_ms = json_first(json_get(part, "ts_ms"));
	const struct json *value = json_first(json_get(part, "value")), *line = json_first(json_get(part, "line"));

	for (; step && ts_ms && value && line;
		step = json_next(step), ts_ms = json_next(ts_ms), value = json_next(value), line = json_next(line)) {
		struct point_key key;
		double number;
		if (!read_whole(step, &key.step) || !read_whole(ts_ms, &key.ts_ms) || !read_number(value, &key.value) ||
			!read_number(line, &number))
			return error_set(err, ERR_UNAVAILABLE, "the reply holds no points: is this an smfleet server?");
		*from_lines += number >= 0;
		if (number < 0 && !point_rows_add(rows, &key))
			return error_no_memory(err);
	}
	return OK;
}

static enum status read_rows(struct http_client *client, const struct stored_points_of *of, struct span metric,
	struct point_rows *rows, uint64_t *from_lines, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) document = NULL;

	url_put_value(&path, "/api/v1/jobs/", span_from(of->job));
	url_put_value(&path, "/points?raw=true&attempts=all&stream=", span_from(of->stream));
	url_put_value(&path, "&metric=", metric);
	TRY(get(client, &path, &document, err));
	const struct json *part = document ? json_first(json_get(document, "series")) : NULL;
	for (; part; part = json_next(part))
		if (span_equal(json_string_of(json_get(part, "metric")), metric) &&
			span_equal(json_string_of(json_get(part, "stream")), span_from(of->stream)))
			TRY(add_columns(part, rows, from_lines, err));
	return OK;
}

static void tell_number(const struct stored_points *stored, struct stored_series *series,
	const struct stored_points_of *of, struct span metric)
{
	if (series->has_told)
		return;
	series->has_told = true;
	client_say(of->program,
		"stream '%s' of job '%s' has %llu points of '%.*s', too many to be compared one by one%s: the first %llu of the files are taken to be there",
		of->stream, of->job, (unsigned long long)series->number, SPAN_ARGS(metric),
		stored->has_lines ? ", some perhaps from its log" : "", (unsigned long long)series->number);
}

/* Of a series that is asked again: what was taken of it stays so. */
static enum status ask_rows(struct stored_series *series, struct http_client *client, const struct stored_points_of *of,
	struct span metric, struct error *err)
{
	AUTO_DONE(point_rows) rows = {0};
	uint64_t from_lines = 0;

	TRY(read_rows(client, of, metric, &rows, &from_lines, err));
	point_rows_sort(&rows, series->was_known ? &series->rows : NULL);
	point_rows_done(&series->rows);
	series->rows = rows;
	rows = (struct point_rows){0};
	if (from_lines && !series->has_told)
		client_say(of->program,
			"stream '%s' of job '%s' has %llu points of '%.*s' from its log: those of the files come beside them",
			of->stream, of->job, (unsigned long long)from_lines, SPAN_ARGS(metric));
	series->has_told |= from_lines > 0;
	return OK;
}

/* A series that is too long now, but was not once, keeps what was compared. */
static void hold(struct stored_points *stored, struct stored_series *series)
{
	uint64_t room = *stored->room + series->held;

	series->held = series->rows.count;
	*stored->room = room > series->held ? room - series->held : 0;
}

static enum status know_series(struct stored_points *stored, struct http_client *client,
	const struct stored_points_of *of, struct span metric, struct stored_series **out, struct error *err)
{
	const struct json *row = map_get(stored->listed, metric);
	struct stored_series *series = map_get(stored->series, metric);
	double count = 0;

	*out = series;
	if (series && series->is_known)
		return OK;
	if (!series) {
		series = mem_zeroed(sizeof *series);
		if (!series || !map_put(stored->series, metric, series)) {
			mem_free(series);
			return error_no_memory(err);
		}
	}
	if (row)
		(void)read_number(json_get(row, "count"), &count);
	bool is_too_long = count > STORED_POINTS_MAX || (count > 0 && (uint64_t)count > *stored->room + series->held);
	series->number = is_too_long ? (uint64_t)count : 0;
	if (is_too_long)
		tell_number(stored, series, of, metric);
	else if (count > 0)
		TRY(ask_rows(series, client, of, metric, err));
	hold(stored, series);
	series->is_known = series->was_known = true;
	*out = series;
	return OK;
}

/* ---- a batch ---- */

static void forget_list(struct stored_points *stored)
{
	void *value;

	map_free(stored->listed);
	stored->listed = NULL;
	json_free(stored->document);
	stored->document = NULL;
	for (size_t at = 0; map_next(stored->series, &at, NULL, &value);)
		((struct stored_series *)value)->is_known = false;
}

enum status stored_points_begin(struct stored_points *stored, struct http_client *client,
	const struct stored_points_of *of, bool asks, struct error *err)
{
	for (size_t i = 0; i < stored->pending_count; i++)
		stored->pending[i]->pending = 0;
	stored->pending_count = 0;
	if (!asks)
		return OK;
	forget_list(stored);
	stored->listed = map_new();
	if (!stored->listed)
		return error_no_memory(err);
	enum status status = read_list(stored, client, of, err);
	stored->are_hidden = status == ERR_FORBIDDEN;
	return stored->are_hidden ? OK : status;
}

bool stored_points_are_hidden(const struct stored_points *stored)
{
	return stored->are_hidden;
}

static bool read_key(const struct json *point, struct point_key *key)
{
	const struct json *ts_ms = json_get(point, "ts_ms");

	key->ts_ms = 0;
	return read_whole(json_get(point, "step"), &key->step) && read_number(json_get(point, "value"), &key->value) &&
	       (!ts_ms || read_whole(ts_ms, &key->ts_ms));
}

enum status stored_points_take(struct stored_points *stored, struct http_client *client,
	const struct stored_points_of *of, const struct filed_point *point, bool *is_there, struct error *err)
{
	AUTO(json) document = NULL;
	struct stored_series *series;
	struct point_key key;

	*is_there = false;
	if (!stored->document || json_parse(&document, point->object, NULL) != OK)
		return OK;
	TRY(know_series(stored, client, of, json_string_of(json_get(document, "metric")), &series, err));
	if (series->number) {
		*is_there = point->number < series->number;
		return OK;
	}
	if (!series->rows.count || !read_key(document, &key))
		return OK;
	if (!mem_grow((void **)&stored->pending, stored->pending_count, &stored->pending_cap, sizeof *stored->pending))
		return error_no_memory(err);
	struct point_row *row = point_rows_take(&series->rows, &key, point->is_time_assumed);
	if (row)
		stored->pending[stored->pending_count++] = row;
	*is_there = row != NULL;
	return OK;
}

bool stored_points_has_time(const struct stored_points *stored, struct span object, int64_t ts_ms)
{
	AUTO(json) point = NULL;
	double last_ms;

	if (!stored->document || json_parse(&point, object, NULL) != OK)
		return false;
	const struct json *row = map_get(stored->listed, json_string_of(json_get(point, "metric")));
	return row && json_number_of(json_get(row, "last_ts_ms"), &last_ms) && (double)ts_ms <= last_ms;
}

void stored_points_end(struct stored_points *stored)
{
	void *value;

	for (size_t i = 0; i < stored->pending_count; i++) {
		stored->pending[i]->taken++;
		stored->pending[i]->pending--;
	}
	stored->pending_count = 0;
	for (size_t at = 0; map_next(stored->series, &at, NULL, &value);)
		point_rows_drop_late(&((struct stored_series *)value)->rows);
}
