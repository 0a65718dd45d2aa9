/* How a job got its cluster, and why it did not get one that waited; the seconds of start-ups, cold against warm. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/machines/pool_near.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "fleet/pool.h"
#include "model/jobs/by_hand.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/transitions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LEFT_MAX = 2000, PAGE_JOBS = 1000, GROUPS_MAX = 2000, KEY_MAX_BYTES = 160 };

static const int64_t day_ms = 24LL * 3600 * 1000;

/* ---- one job ---- */

struct start {
	struct job_row job;
	struct pool_job_row row;
	struct pool_shape shape;
	int64_t cold_ms;
};

static int64_t end_of(const struct pool_job_row *row)
{
	return row->ended_ms > row->begun_ms ? row->ended_ms : row->begun_ms;
}

/* When a cluster waited no more, as far as is known. */
static int64_t gone_ms(const struct pool_job_row *row)
{
	return row->state == POOL_AVAILABLE ? row->until_ms : end_of(row) + row->retained_ms;
}

/* Of the same shape, but gone: taken by another, or not kept long enough. */
static void write_missed(struct json_writer *w, const struct start *start, const struct pool_job_row *left)
{
	json_object(w);
	json_put_i64(w, "pool", left->pool_id);
	json_put_span(w, "job", left->name);
	json_put_text(w, "reason", left->state == POOL_REUSED ? "taken" : "gone");
	if (left->heir.len)
		json_put_span(w, "taken_by", left->heir);
	json_put_i64(w, "gone_ms", gone_ms(left));
	json_put_i64(w, "too_late_seconds", (start->row.begun_ms - gone_ms(left)) / 1000);
	json_object_end(w);
}

static enum status write_why(struct store_reader *reader, struct arena *arena, const struct start *start,
	struct json_writer *w, struct error *err)
{
	struct pool_near nearest[POOL_NEAR_MAX];
	int64_t at_ms = start->row.begun_ms;
	struct pool_job_row *left;
	size_t count, near_count = 0, missed = 0;

	TRY(store_read_pools_left(
		reader, arena, at_ms - 2 * POOL_KEEP_ALIVE_MAX_MS, at_ms, LEFT_MAX, &left, &count, err));
	json_key(w, "why");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		struct pool_near near = {
			.pool_id = left[i].pool_id, .job = left[i].name, .until_ms = gone_ms(&left[i])};
		struct span fields;
		if (left[i].shape == start->row.shape && left[i].job_id != start->row.job_id &&
			missed < POOL_NEAR_MAX) {
			write_missed(w, start, &left[i]);
			missed++;
		}
		if (left[i].shape == start->row.shape || near.until_ms <= at_ms)
			continue;
		TRY(store_read_pool_shape(reader, arena, left[i].shape, &fields, err));
		if (!pool_shape_parse(&near.shape, fields))
			continue;
		near.differences = pool_shape_count_differences(&near.shape, &start->shape);
		pool_near_keep(nearest, &near_count, &near);
	}
	for (size_t i = 0; i < near_count; i++)
		pool_near_write(w, &nearest[i], &start->shape);
	json_array_end(w);
	return OK;
}

/* Seconds in each secondary status; the present one counts until now. */
static enum status write_seconds(struct store_reader *reader, struct arena *arena, const struct start *start,
	int64_t now_ms, struct json_writer *w, struct error *err)
{
	struct transition_row *rows;
	size_t count;

	TRY(store_read_transitions(reader, arena, start->job.job_id, &rows, &count, err));
	json_key(w, "status_seconds");
	json_object(w);
	for (size_t i = 0; i < count; i++) {
		int64_t sum_ms = 0;
		bool is_first = true;
		for (size_t k = 0; k < count; k++) {
			int64_t last_ms = start->job.ended_ms ? start->job.ended_ms : now_ms;
			int64_t end_ms = rows[k].end_ms ? rows[k].end_ms : last_ms;
			if (!span_equal(rows[k].status, rows[i].status))
				continue;
			is_first = is_first && k >= i;
			sum_ms += end_ms > rows[k].start_ms ? end_ms - rows[k].start_ms : 0;
		}
		if (!is_first)
			continue;
		json_key_span(w, rows[i].status);
		json_i64(w, sum_ms / 1000);
	}
	json_object_end(w);
	return OK;
}

static const char *kind_of(const struct start *start)
{
	if (!start->shape.is_whole)
		return "none"; /* mixed clusters, spot instances, and who does not say what it runs on */
	return start->row.position ? "warm" : "cold";
}

static void write_turn(const struct start *start, int64_t now_ms, struct json_writer *w)
{
	const struct pool_job_row *row = &start->row;
	int64_t idle_ms = row->state == POOL_AVAILABLE ? now_ms - end_of(row) : row->retained_ms;

	if (row->pool_id) {
		json_put_i64(w, "pool", row->pool_id);
		json_put_i64(w, "position", row->position);
		json_put_text(w, "state", pool_state_name((enum pool_state)row->state));
		json_put_i64(w, "idle_seconds", idle_ms > 0 ? idle_ms / 1000 : 0);
	}
	bool has_both = row->startup_ms >= 0 && start->cold_ms >= 0;
	int64_t saved_ms = has_both && start->cold_ms > row->startup_ms ? start->cold_ms - row->startup_ms : 0;
	api_put_seconds(w, "startup_seconds", row->startup_ms);
	api_put_seconds(w, "cold_startup_seconds", start->cold_ms);
	if (row->position)
		api_put_seconds(w, "saved_seconds", has_both ? saved_ms : -1);
}

static enum status write_start(struct store_reader *reader, struct arena *arena, struct span name, int64_t now_ms,
	struct json_writer *w, struct error *err)
{
	AUTO(json) document = NULL;
	struct start start = {.cold_ms = -1};

	TRY(store_read_job(reader, arena, name, &start.job, err));
	TRY(json_parse(&document, start.job.document, err));
	TRY(by_hand_settle(document, err));
	TRY(pool_shape_read(&start.shape, document, arena, err));
	TRY(store_read_pool_job(reader, arena, start.job.job_id, &start.row, err));
	if (start.row.job_id)
		TRY(pool_cold_startup_ms(reader, start.row.shape, &start.cold_ms, err));
	json_object(w);
	json_put_span(w, "job", start.job.name);
	json_put_text(w, "start", kind_of(&start));
	if (start.row.job_id)
		write_turn(&start, now_ms, w);
	TRY(write_seconds(reader, arena, &start, now_ms, w, err));
	if (start.row.job_id && start.shape.is_whole && !start.row.position)
		TRY(write_why(reader, arena, &start, w, err));
	json_object_end(w);
	return OK;
}

enum status api_job_warm_pool(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_reader_begin(own->reader, err));
	enum status status = write_start(
		own->reader, arena, http_request_segment(request, 0), http_request_arrival_ms(request), &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

/* ---- all of them ---- */

enum grouping { BY_TYPE, BY_DAY, BY_POOL };

struct side { /* cold or warm */
	int64_t jobs, measured; /* of those the start-up is known */
	int64_t startup_ms;
	int64_t held_ms; /* from the begin to the end, of jobs that have ended, and what the cluster waited before */
	int64_t ended;
};

struct group {
	char key[KEY_MAX_BYTES];
	struct side cold, warm;
	int64_t idle_ms, saved_ms;
	int64_t unknown_savings; /* warm jobs of which it is not known what that saved */
};

struct accounting {
	struct store_reader *reader;
	struct arena *arena;
	enum grouping by;
	int64_t now_ms;
	struct group *groups;
	size_t count;
	bool is_partial;
	struct known_shape {
		uint64_t shape;
		struct span type;
		int64_t cold_ms;
	} * shapes;
	size_t shape_count, shape_cap;
};

static enum status find_shape(struct accounting *all, uint64_t shape, const struct known_shape **out, struct error *err)
{
	struct span fields;

	for (size_t i = all->shape_count; i-- > 0;)
		if (all->shapes[i].shape == shape) {
			*out = &all->shapes[i];
			return OK;
		}
	if (all->shape_count == all->shape_cap) {
		size_t cap = all->shape_cap ? 2 * all->shape_cap : 64;
		struct known_shape *grown = arena_alloc(all->arena, cap * sizeof *grown);
		if (!grown)
			return error_no_memory(err);
		if (all->shape_count)
			memcpy(grown, all->shapes, all->shape_count * sizeof *grown);
		all->shapes = grown;
		all->shape_cap = cap;
	}
	struct known_shape *known = &all->shapes[all->shape_count];
	known->shape = shape;
	TRY(store_read_pool_shape(all->reader, all->arena, shape, &fields, err));
	if (!span_next(&fields, '\n', &known->type))
		known->type = SPAN("");
	TRY(pool_cold_startup_ms(all->reader, shape, &known->cold_ms, err));
	all->shape_count++;
	*out = known;
	return OK;
}

static struct group *find_group(struct accounting *all, const struct pool_job_row *row, const struct known_shape *shape)
{
	char key[KEY_MAX_BYTES];
	time_t second = (time_t)(row->begun_ms / 1000);
	struct tm day;

	if (all->by == BY_TYPE)
		snprintf(key, sizeof key, "%.*s", SPAN_ARGS(shape->type));
	else if (all->by == BY_POOL)
		snprintf(key, sizeof key, "%lld", (long long)row->pool_id);
	else if (!gmtime_r(&second, &day) || !strftime(key, sizeof key, "%Y-%m-%d", &day))
		return NULL;
	for (size_t i = all->count; i-- > 0;)
		if (strcmp(all->groups[i].key, key) == 0)
			return &all->groups[i];
	if (all->count == GROUPS_MAX) {
		all->is_partial = true;
		return NULL;
	}
	struct group *group = &all->groups[all->count++];
	*group = (struct group){0};
	memcpy(group->key, key, sizeof key);
	return group;
}

static void add_job(struct accounting *all, struct group *group, const struct pool_job_row *row, int64_t cold_ms)
{
	struct side *side = row->position ? &group->warm : &group->cold;
	int64_t idle_ms = row->state == POOL_AVAILABLE ? all->now_ms - end_of(row) : row->retained_ms;

	side->jobs++;
	if (row->startup_ms >= 0) {
		side->measured++;
		side->startup_ms += row->startup_ms;
	}
	if (row->ended_ms) {
		side->ended++;
		side->held_ms += end_of(row) - row->begun_ms;
	}
	group->idle_ms += idle_ms > 0 ? idle_ms : 0;
	if (row->position && (row->startup_ms < 0 || cold_ms < 0))
		group->unknown_savings++;
	else if (row->position && cold_ms > row->startup_ms)
		group->saved_ms += cold_ms - row->startup_ms;
}

static enum status add_page(struct accounting *all, const struct pool_job_row *rows, size_t count, struct error *err)
{
	const struct known_shape *shape;

	for (size_t i = 0; i < count; i++) {
		if (all->by == BY_POOL && !rows[i].pool_id)
			continue;
		TRY(find_shape(all, rows[i].shape, &shape, err));
		struct group *group = find_group(all, &rows[i], shape);
		if (group)
			add_job(all, group, &rows[i], shape->cold_ms);
	}
	return OK;
}

static enum status add_all(struct accounting *all, int64_t from_ms, int64_t to_ms, struct error *err)
{
	struct pool_job_row after = {0};
	size_t count;

	do {
		AUTO(arena) page = NULL;
		struct pool_job_row *rows;
		TRY(api_arena(&page, err));
		TRY(store_read_pool_jobs(all->reader, page, &after, from_ms, to_ms, PAGE_JOBS, &rows, &count, err));
		TRY(add_page(all, rows, count, err));
		if (count)
			after = (struct pool_job_row){
				.job_id = rows[count - 1].job_id, .begun_ms = rows[count - 1].begun_ms};
	} while (count == PAGE_JOBS);
	return OK;
}

static void write_side(struct json_writer *w, const char *name, const struct side *side, int64_t idle_ms)
{
	double hours = (double)(side->held_ms + idle_ms) / 3600000;

	json_key(w, name);
	json_object(w);
	json_put_i64(w, "jobs", side->jobs);
	json_put_i64(w, "measured_jobs", side->measured);
	api_put_seconds(w, "startup_seconds", side->measured || !side->jobs ? side->startup_ms : -1);
	api_put_known(w, "mean_startup_seconds",
		side->measured ? (double)side->startup_ms / 1000 / (double)side->measured : NAN);
	if (hours > 0)
		json_put_double(w, "jobs_per_hour", (double)side->ended / hours);
	json_object_end(w);
}

static void write_groups(const struct accounting *all, struct json_writer *w)
{
	static const char *const keys[] = {[BY_TYPE] = "instance_type", [BY_DAY] = "day", [BY_POOL] = "pool"};

	json_key(w, "rows");
	json_array(w);
	for (size_t i = 0; i < all->count; i++) {
		const struct group *group = &all->groups[i];
		json_object(w);
		json_put_text(w, keys[all->by], group->key);
		write_side(w, "cold", &group->cold, 0);
		write_side(w, "warm", &group->warm, group->idle_ms);
		json_put_i64(w, "idle_seconds", group->idle_ms / 1000);
		bool is_known = !group->warm.jobs || group->unknown_savings < group->warm.jobs;
		api_put_seconds(w, "saved_seconds", is_known ? group->saved_ms : -1);
		json_object_end(w);
	}
	json_array_end(w);
	if (all->is_partial)
		json_put_bool(w, "partial", true);
}

static enum status read_grouping(const struct http_request *request, enum grouping *by, struct error *err)
{
	static const char *const names[] = {[BY_TYPE] = "type", [BY_DAY] = "day", [BY_POOL] = "pool"};
	struct span text = SPAN("day");

	http_request_query(request, "by", &text);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(text, span_from(names[i]))) {
			*by = (enum grouping)i;
			return OK;
		}
	return error_set_field(err, ERR_INVALID, "by", "by '%.*s' is none of type, day, pool", SPAN_ARGS(text));
}

static enum status read_ms(const struct http_request *request, const char *name, int64_t *ms, struct error *err)
{
	struct span text;

	if (!http_request_query(request, name, &text) || (span_parse_i64(text, ms) && *ms >= 0))
		return OK;
	return error_set_field(
		err, ERR_INVALID, name, "%s '%.*s' is no time in Unix milliseconds", name, SPAN_ARGS(text));
}

enum status api_startup(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct accounting all = {.reader = own->reader, .now_ms = http_request_arrival_ms(request)};
	int64_t to_ms = all.now_ms, from_ms = to_ms - 30 * day_ms;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(read_grouping(request, &all.by, err));
	TRY(read_ms(request, "from_ms", &from_ms, err));
	TRY(read_ms(request, "to_ms", &to_ms, err));
	all.arena = arena;
	all.groups = arena_alloc(arena, GROUPS_MAX * sizeof *all.groups);
	if (!all.groups)
		return error_no_memory(err);
	TRY(add_all(&all, from_ms, to_ms, err));
	json_object(&w);
	write_groups(&all, &w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
