#include "state/streams/directory.h"

#include "state/watchers/score_state.h"
#include "state/watchers/sign_state.h"
#include "state/watchers/silence_state.h"
#include "state/watchers/straggler_state.h"
#include "state/watchers/watcher_state.h"
#include "store/jobs.h"

#include <stdio.h>

enum { LIVE_LINES_MAX_BYTES = 256 * 1024 };

struct directory {
	pthread_rwlock_t lock;
	struct map *by_name;
	struct map *by_id; /* key: the 8 bytes of job_id */
	pthread_mutex_t lists_mutex;
	struct stream_list {
		struct stream_state *first;
		struct stream_state
			*taken; /* what was in it at the last swap; still marked, so that nothing is in it twice */
	} lists[STREAM_LISTS];
};

struct definitions *definitions_ref(struct definitions *definitions)
{
	if (definitions)
		atomic_fetch_add(&definitions->refs, 1);
	return definitions;
}

void definitions_unref(struct definitions *definitions)
{
	if (!definitions || atomic_fetch_sub(&definitions->refs, 1) != 1)
		return;
	definition_set_free(definitions->set);
	mem_free(definitions->damage);
	mem_free(definitions);
}

void series_state_free(struct series_state *series)
{
	if (!series)
		return;
	mem_free(series->metric);
	mem_free(series->unit);
	mem_free(series->tail);
	own_axis_done(&series->axis);
	mem_free(series->paces);
	mem_free(series->held.values);
	detector_set_free(series->detectors);
	watchers_free(series->watchers, series->watcher_count);
	mem_free(series);
}

struct attempt_starts series_starts(const struct stream_state *stream, const struct series_state *series)
{
	struct attempt_starts starts;

	starts.count = extractor_attempt_starts(stream->extractor, &starts.steps);
	return own_axis_or(&series->axis, starts);
}

void stream_state_free(struct stream_state *stream)
{
	if (!stream)
		return;
	for (size_t i = 0; i < stream->series_count; i++)
		series_state_free(stream->series[i]);
	mem_free(stream->series);
	map_free(stream->series_index);
	mem_free(stream->by_number);
	for (size_t i = 0; i < stream->range_count; i++)
		kept_filter_free(stream->ranges[i].filter);
	mem_free(stream->ranges);
	extractor_free(stream->extractor);
	definitions_unref(stream->own_definitions);
	said_list_free(stream->said);
	mem_free(stream->damage);
	signs_free(stream->signs);
	log_scores_free(stream->scores);
	silences_free(stream->silences);
	settings_free(stream->settings);
	derive_free(stream->derive);
	buf_done(&stream->live_lines);
	pthread_mutex_destroy(&stream->mutex);
	mem_free(stream->name);
	mem_free(stream->host);
	mem_free(stream->hosts.planned);
	mem_free(stream->host_lines.at);
	mem_free(stream);
}

bool series_has_points(const struct series_state *series)
{
	return series->sealed_points + series->tail_count > 0;
}

/* Few are looked through. Series are only appended; who swaps them swaps the index, too. */
enum { FEW_SERIES = 16 };

static bool index_series(struct stream_state *stream)
{
	if (!stream->series_index && !(stream->series_index = map_new()))
		return false;
	for (; stream->indexed_series < stream->series_count; stream->indexed_series++) {
		struct series_state *series = stream->series[stream->indexed_series];
		struct span metric = span_from(series->metric);
		if (!map_get(stream->series_index, metric) && !map_put(stream->series_index, metric, series))
			return false;
	}
	return true;
}

struct series_state *stream_find_series(struct stream_state *stream, struct span metric)
{
	if (stream->series_count > FEW_SERIES && index_series(stream))
		return map_get(stream->series_index, metric);
	for (size_t i = 0; i < stream->series_count; i++)
		if (span_equal(span_from(stream->series[i]->metric), metric))
			return stream->series[i];
	return NULL;
}

/* A job that goes on may do so without its tracker: what that told before is not told now. */
bool stream_note_told(const struct stream_state *stream)
{
	struct job_state *job = stream->job;
	int64_t began_ms = atomic_load(&job->began_ms);

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_state *series = stream->series[i];
		const struct summary *summary = &series->summary;
		struct told_when when = {atomic_load(&job->life), series->min_ms > began_ms ? series->min_ms : began_ms,
			summary->nan_count + summary->inf_count > 0};
		if (series->is_told && series->max_ms >= began_ms &&
			!told_metrics_add(&job->told, span_from(series->metric), series->role, &when))
			return false;
	}
	return true;
}

struct stream_state *stream_state_new(struct job_state *job, uint32_t stream_id, struct span name, struct span host)
{
	struct stream_state *stream = mem_zeroed(sizeof *stream);

	if (!stream)
		return NULL;
	pthread_mutex_init(&stream->mutex, NULL);
	stream->job = job;
	stream->stream_id = stream_id;
	stream->live_lines = BUF_INIT(LIVE_LINES_MAX_BYTES);
	stream->name = mem_copy_bytes(name.ptr, name.len);
	stream->host = mem_copy_bytes(host.ptr, host.len);
	stream->extractor = extractor_new();
	stream->settings = settings_new();
	stream->derive = derive_new();
	if (!stream->name || !stream->host || !stream->extractor || !stream->settings || !stream->derive) {
		stream_state_free(stream);
		return NULL;
	}
	return stream;
}

static void job_destroy(struct job_state *job)
{
	for (size_t i = 0; i < job->stream_count; i++)
		stream_state_free(job->streams[i]);
	mem_free(job->streams);
	mem_free(job->breaks);
	map_free(job->by_stream);
	job_settings_free(job->settings);
	stragglers_free(job->stragglers);
	definitions_unref(job->definitions);
	pthread_mutex_destroy(&job->mutex);
	told_metrics_done(&job->told);
	mem_free(job->name);
	mem_free(job->team);
	mem_free(job);
}

struct job_state *job_state_new(const struct job_row *row)
{
	struct job_state *job = mem_zeroed(sizeof *job);

	if (!job)
		return NULL;
	pthread_mutex_init(&job->mutex, NULL);
	told_metrics_init(&job->told);
	atomic_init(&job->refs, 1);
	atomic_init(&job->signed_ms, INT64_MAX);
	atomic_init(&job->awaited_ms, INT64_MAX);
	atomic_init(&job->awaited_to_ms, INT64_MAX);
	atomic_init(&job->halts_to_ms, INT64_MIN);
	atomic_init(&job->is_halt_due, true);
	atomic_init(&job->presumed_ms, INT64_MAX);
	atomic_init(&job->gap_from_ms, INT64_MAX);
	atomic_init(&job->over_ms, INT64_MAX);
	atomic_init(&job->alone_from_ms, INT64_MAX);
	atomic_init(&job->alone_to_ms, INT64_MAX);
	atomic_init(&job->lent_from_ms, INT64_MAX);
	atomic_init(&job->lent_to_ms, INT64_MAX);
	atomic_init(&job->gap_to_ms, INT64_MIN);
	atomic_init(&job->life, 1);
	atomic_init(&job->begins, 0);
	atomic_init(&job->began_ms, 0);
	atomic_init(&job->break_changes, 0);
	job->job_id = row->job_id;
	job->generation = row->generation;
	job->name = mem_copy_bytes(row->name.ptr, row->name.len);
	job->team = mem_copy_bytes(row->team.ptr, row->team.len);
	job->by_stream = map_new();
	job->settings = job_settings_new();
	if (!job->name || !job->team || !job->by_stream || !job->settings) {
		job_destroy(job);
		return NULL;
	}
	return job;
}

struct job_state *job_ref(struct job_state *job)
{
	atomic_fetch_add(&job->refs, 1);
	return job;
}

void job_unref(struct job_state *job)
{
	if (job && atomic_fetch_sub(&job->refs, 1) == 1)
		job_destroy(job);
}

/* 0: there is none. */
static bool note_time(atomic_llong *known, int64_t ms)
{
	int64_t now = ms ? ms : INT64_MAX;

	return atomic_exchange(known, now) != now;
}

bool job_note_log(struct job_state *job, const struct tracked_run_row *run)
{
	bool is_news = note_time(&job->alone_from_ms, run->log_alone_ms);

	is_news |= note_time(&job->alone_to_ms, run->log_alone_until_ms);
	is_news |= note_time(&job->lent_from_ms, run->log_lent_ms); /* first: lent again, nothing from before that is */
	return note_time(&job->lent_to_ms, run->log_lent_until_ms) | is_news;
}

bool job_log_is_lent(const struct job_state *job, int64_t ts_ms)
{
	return ts_ms >= atomic_load(&job->lent_from_ms) && ts_ms < atomic_load(&job->lent_to_ms);
}

bool job_add_stream(struct job_state *job, struct stream_state *stream)
{
	pthread_mutex_lock(&job->mutex);
	bool has_room =
		mem_grow((void **)&job->streams, job->stream_count, &job->stream_cap, sizeof(struct stream_state *)) &&
		map_put(job->by_stream, span_from(stream->name), stream);
	if (has_room)
		job->streams[job->stream_count++] = stream;
	pthread_mutex_unlock(&job->mutex);
	return has_room;
}

struct stream_state *job_find_stream(struct job_state *job, struct span name)
{
	pthread_mutex_lock(&job->mutex);
	struct stream_state *found = map_get(job->by_stream, name);
	pthread_mutex_unlock(&job->mutex);
	return found;
}

struct stream_state *job_stream_at(struct job_state *job, size_t index)
{
	pthread_mutex_lock(&job->mutex);
	struct stream_state *stream = index < job->stream_count ? job->streams[index] : NULL;
	pthread_mutex_unlock(&job->mutex);
	return stream;
}

struct stream_state *job_find_stream_id(struct job_state *job, uint32_t stream_id)
{
	struct stream_state *found = NULL;

	pthread_mutex_lock(&job->mutex);
	/* numbered from 1, and mostly in this order here: start-up asks once a slice */
	if (stream_id && stream_id <= job->stream_count && job->streams[stream_id - 1]->stream_id == stream_id)
		found = job->streams[stream_id - 1];
	for (size_t i = 0; i < job->stream_count && !found; i++)
		if (job->streams[i]->stream_id == stream_id)
			found = job->streams[i];
	pthread_mutex_unlock(&job->mutex);
	return found;
}

struct directory *directory_new(void)
{
	AUTO(directory) directory = mem_zeroed(sizeof *directory);

	if (!directory)
		return NULL;
	pthread_rwlock_init(&directory->lock, NULL);
	pthread_mutex_init(&directory->lists_mutex, NULL);
	directory->by_name = map_new();
	directory->by_id = map_new();
	if (!directory->by_name || !directory->by_id)
		return NULL;
	return TAKE(directory);
}

void directory_free(struct directory *directory)
{
	void *value;

	if (!directory)
		return;
	for (int list = 0; list < STREAM_LISTS; list++)
		for (int round = 0; round < 2; round++, directory_swap(directory, list))
			for (struct stream_state *stream; (stream = directory_pop(directory, list));)
				job_unref(stream->job);
	if (directory->by_name)
		for (size_t at = 0; map_next(directory->by_name, &at, NULL, &value);)
			job_unref(value);
	map_free(directory->by_name);
	map_free(directory->by_id);
	pthread_mutex_destroy(&directory->lists_mutex);
	pthread_rwlock_destroy(&directory->lock);
	mem_free(directory);
}

static struct span id_key(const int64_t *job_id)
{
	return span_of((const char *)job_id, sizeof *job_id);
}

static struct job_state *find_counted(struct directory *directory, const struct map *in, struct span key)
{
	pthread_rwlock_rdlock(&directory->lock);
	struct job_state *job = map_get(in, key);
	if (job)
		job_ref(job);
	pthread_rwlock_unlock(&directory->lock);
	return job;
}

struct job_state *directory_find(struct directory *directory, struct span name)
{
	return find_counted(directory, directory->by_name, name);
}

struct job_state *directory_find_id(struct directory *directory, int64_t job_id)
{
	return find_counted(directory, directory->by_id, id_key(&job_id));
}

struct job_state *directory_peek(struct directory *directory, struct span name)
{
	return map_get(directory->by_name, name);
}

size_t directory_count(struct directory *directory)
{
	return map_count(directory->by_name);
}

struct job_state *directory_peek_id(struct directory *directory, int64_t job_id)
{
	return map_get(directory->by_id, id_key(&job_id));
}

bool directory_add(struct directory *directory, struct job_state *job)
{
	struct span name = span_from(job->name);

	pthread_rwlock_wrlock(&directory->lock);
	bool is_added = map_put(directory->by_name, name, job);
	if (is_added && !map_put(directory->by_id, id_key(&job->job_id), job)) {
		map_remove(directory->by_name, name);
		is_added = false;
	}
	pthread_rwlock_unlock(&directory->lock);
	return is_added;
}

void directory_remove(struct directory *directory, struct job_state *job)
{
	pthread_rwlock_wrlock(&directory->lock);
	map_remove(directory->by_name, span_from(job->name));
	map_remove(directory->by_id, id_key(&job->job_id));
	pthread_rwlock_unlock(&directory->lock);
	job_unref(job);
}

enum status directory_list(struct directory *directory, struct job_state ***out, size_t *count, struct error *err)
{
	void *value;

	pthread_rwlock_rdlock(&directory->lock);
	struct job_state **jobs = mem_resize(NULL, map_count(directory->by_name) + 1, sizeof(struct job_state *));
	*count = 0;
	if (jobs)
		for (size_t at = 0; map_next(directory->by_name, &at, NULL, &value);)
			jobs[(*count)++] = job_ref(value);
	pthread_rwlock_unlock(&directory->lock);
	if (!jobs)
		return error_no_memory(err);
	*out = jobs;
	return OK;
}

void directory_mark(struct directory *directory, enum stream_list_kind list, struct stream_state *stream)
{
	pthread_mutex_lock(&directory->lists_mutex);
	if (!stream->links[list].is_in) {
		stream->links[list] = (struct stream_link){directory->lists[list].first, true};
		directory->lists[list].first = stream;
		job_ref(stream->job);
	}
	pthread_mutex_unlock(&directory->lists_mutex);
}

void directory_swap(struct directory *directory, enum stream_list_kind list)
{
	pthread_mutex_lock(&directory->lists_mutex);
	if (!directory->lists[list].taken)
		directory->lists[list].taken = TAKE(directory->lists[list].first);
	pthread_mutex_unlock(&directory->lists_mutex);
}

struct stream_state *directory_pop(struct directory *directory, enum stream_list_kind list)
{
	pthread_mutex_lock(&directory->lists_mutex);
	struct stream_state *stream = directory->lists[list].taken;
	if (stream) {
		directory->lists[list].taken = stream->links[list].next;
		stream->links[list].is_in = false;
	}
	pthread_mutex_unlock(&directory->lists_mutex);
	return stream;
}

bool series_is_derived(uint32_t series_id)
{
	return (series_id & (SERIES_HALF - 1)) >= SERIES_DERIVED;
}
