#include "pipeline/jobs/hosts_by_hand.h"

#include "base/log.h"
#include "pipeline/commit/machine_join.h"
#include "pipeline/jobs/incident_hosts.h"
#include "state/streams/directory.h"
#include "state/streams/host_lines.h"
#include "store/hosts_by_hand.h"
#include "store/streams.h"

#include <stdio.h>

struct host_setting {
	uint32_t stream_id;
	struct span host;
	bool is_by_hand;
};

static const struct host_by_hand *find_set(const struct host_by_hand *set, size_t count, struct span stream)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(set[i].stream, stream))
			return &set[i];
	return NULL;
}

static bool is_named(const struct json *hosts, struct span stream)
{
	for (const struct json *at = hosts ? json_first(hosts) : NULL; at; at = json_next(at))
		if (span_equal(json_key_of(at), stream))
			return true;
	return false;
}

static enum status take_back(struct store_tx *tx, struct arena *arena, int64_t job_id, const struct host_by_hand *set,
	struct hosts_set *out, struct error *err)
{
	struct host_setting *setting = &out->rows[out->count++];

	setting->stream_id = set->stream_id;
	return store_take_host_back(tx, arena, job_id, set->stream_id, &setting->host, err);
}

/* A stream that is not there is none to be set: the document may be carried without its log. */
static enum status set_one(struct store_tx *tx, struct arena *arena, const struct job_row *job, const struct json *host,
	struct hosts_set *out, struct error *err)
{
	struct host_setting setting = {.is_by_hand = true};

	TRY(store_find_spelling(store_tx_reader(tx), arena, json_string_of(host), &setting.host, err));
	if (!setting.host.len)
		setting.host = arena_copy(arena, json_string_of(host));
	if (!setting.host.ptr)
		return error_no_memory(err);
	TRY(machine_join(tx, setting.host, job->team, err));
	TRY(store_set_host_by_hand(tx, job->job_id, json_key_of(host), setting.host, &setting.stream_id, err));
	if (setting.stream_id)
		out->rows[out->count++] = setting;
	return OK;
}

enum status hosts_by_hand_write(
	struct store_tx *tx, struct arena *arena, const struct job_row *job, struct hosts_set *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct host_by_hand *set;
	size_t count;

	*out = (struct hosts_set){0};
	TRY(json_parse(&document, job->document.len ? job->document : SPAN("{}"), err));
	const struct json *hosts = json_get_path(document, "by_hand.hosts");
	TRY(store_read_hosts_by_hand(store_tx_reader(tx), arena, job->job_id, &set, &count, err));
	if (!count && !hosts)
		return OK;
	size_t named = hosts ? json_count(hosts) : 0;
	out->rows = arena_alloc(arena, (count + named + 1) * sizeof *out->rows);
	if (!out->rows)
		return error_no_memory(err);
	memset(out->rows, 0, (count + named + 1) * sizeof *out->rows);
	for (size_t i = 0; i < count; i++)
		if (!is_named(hosts, set[i].stream))
			TRY(take_back(tx, arena, job->job_id, &set[i], out, err));
	for (const struct json *at = hosts ? json_first(hosts) : NULL; at; at = json_next(at)) {
		const struct host_by_hand *is = find_set(set, count, json_key_of(at));
		if (!is || !span_equal_fold(is->host, json_string_of(at)))
			TRY(set_one(tx, arena, job, at, out, err));
	}
	return out->count ? incident_hosts_follow(tx, job, err) : OK;
}

void hosts_by_hand_apply(struct pipeline *pipeline, int64_t job_id, const struct hosts_set *set)
{
	struct job_state *job = set->count ? directory_peek_id(pipeline->directory, job_id) : NULL;

	for (size_t i = 0; job && i < set->count; i++) {
		const struct host_setting *setting = &set->rows[i];
		struct stream_state *stream = job_find_stream_id(job, setting->stream_id);
		char *host = stream ? mem_copy_bytes(setting->host.ptr, setting->host.len) : NULL;
		if (stream && !host) /* it is so on disk, and after a start */
			log_line(LOG_WARNING, "host_not_shown", "job=\"%s\" stream=\"%s\" error=\"out of memory\"",
				job->name, stream->name);
		if (host)
			host_lines_set_host(stream, host, setting->is_by_hand);
	}
}

enum status hosts_by_hand_check(
	struct store_reader *reader, struct arena *arena, int64_t job_id, const struct json *changes, struct error *err)
{
	const struct json *hosts = json_get(changes, "hosts");
	struct stream_row *rows;
	size_t count;
	char field[128];

	for (const struct json *at = hosts ? json_first(hosts) : NULL; at; at = json_next(at)) {
		if (json_kind(at) == JSON_NULL)
			continue;
		TRY(store_read_streams(reader, arena, job_id, json_key_of(at), &rows, &count, err));
		if (count)
			continue;
		int len = json_key_of(at).len < 80 ? (int)json_key_of(at).len : 80;
		snprintf(field, sizeof field, "by_hand.hosts.%.*s", len, json_key_of(at).ptr);
		return error_set_field(err, ERR_SEMANTIC, field, "the job has no stream '%.*s' whose host could be set",
			len, json_key_of(at).ptr);
	}
	return OK;
}
