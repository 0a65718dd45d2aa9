/* Live events of warm pools: on the publisher's thread, out of the rows in the order in which they changed. */
#include "base/log.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "pipeline/life/pools.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/pools.h"

enum { EVENTS_A_TICK = 200, EVENT_MAX_BYTES = 64 << 10 };

static enum status write_event(struct store_reader *reader, struct arena *arena, const struct pool_job_row *row,
	struct json_writer *w, struct error *err)
{
	struct pool_shape shape;
	struct span fields;

	TRY(store_read_pool_shape(reader, arena, row->shape, &fields, err));
	json_object(w);
	json_put_i64(w, "id", row->pool_id);
	json_put_text(w, "state", pool_state_name((enum pool_state)row->state));
	json_put_span(w, "job", row->name);
	json_put_i64(w, "jobs", row->position + 1);
	if (pool_shape_parse(&shape, fields)) {
		json_put_span(w, "InstanceType", shape.fields[0]);
		json_put_span(w, "InstanceCount", shape.fields[1]);
	}
	if (row->state == POOL_AVAILABLE)
		json_put_i64(w, "expires_ms", row->until_ms);
	json_object_end(w);
	return buf_status(w->out, err);
}

static enum status publish_one(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, uint64_t seq, const struct buf *json, struct error *err)
{
	struct job_row row;
	enum status status = store_read_job_by_id(reader, arena, job_id, &row, err);

	if (status == ERR_NOT_FOUND) /* it was deleted a moment ago */
		return OK;
	TRY(status);
	const struct hub_topic topic = {row.name, row.team};
	return hub_publish(pipeline->options.hub, topic, HUB_POOL, seq, buf_span(json), err);
}

static enum status publish_all(
	struct pipeline *pipeline, struct store_reader *reader, int64_t *change, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) json = BUF_INIT(EVENT_MAX_BYTES);
	struct pool_job_row *rows;
	uint64_t seq = atomic_load(&pipeline->figures.committed_seq);
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_pool_changes(reader, arena, *change, EVENTS_A_TICK, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct json_writer w = json_writer_on(&json);
		buf_reset(&json);
		*change = rows[i].change;
		if (!hub_wants(pipeline->options.hub, rows[i].name, HUB_POOL)) {
			hub_skip(pipeline->options.hub, rows[i].name, HUB_POOL, seq);
			continue;
		}
		TRY(write_event(reader, arena, &rows[i], &w, err));
		TRY(publish_one(pipeline, reader, arena, rows[i].job_id, seq, &json, err));
	}
	return OK;
}

void pools_publish(struct pipeline *pipeline, struct store_reader *reader, int64_t *change)
{
	struct error err;

	if (publish_all(pipeline, reader, change, &err) != OK)
		log_line(LOG_WARNING, "event_dropped", "kind=pool error=\"%s\"", err.text);
}
