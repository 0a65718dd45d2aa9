#include "pipeline/retention/retention_notice.h"

#include "base/clock.h"
#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"

enum { LOOK_MAX = 4096 }; /* in one round: as many as a plan tells (retention.c) */

struct notice {
	struct pipeline *pipeline;
	struct span team;
	struct incident_row row;
	struct incident_effects told;
};

static enum status write_notice(void *context, struct store_tx *tx, struct error *err)
{
	struct notice *notice = context;

	notice->told = (struct incident_effects){0};
	return incidents_write(notice->pipeline, tx, &notice->row, notice->team, &notice->told, err);
}

static enum status put_notice(struct notice *notice, struct error *err)
{
	TRY(writer_execute(notice->pipeline, write_notice, notice, err));
	incidents_publish(notice->pipeline, &notice->row, &notice->told);
	return OK;
}

/* job_id 0: of any. */
static enum status read_open(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct incident_row **rows, size_t *count, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_RETENTION_DUE,
		.cursor = SPAN(""),
		.limit = limit};
	struct span cursor;

	return store_read_incidents(reader, arena, &filter, rows, count, &cursor, err);
}

enum status retention_notice_since(struct store_reader *reader, int64_t job_id, int64_t *since_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(read_open(reader, arena, job_id, 1, &rows, &count, err));
	*since_ms = count ? rows[0].incident.opened_ms : 0;
	return OK;
}

/* value: when the text goes, in Unix ms; expected: how much it is. */
enum status retention_notice_open(struct pipeline *pipeline, struct store_reader *reader, const struct expendable *job,
	int64_t due_ms, struct error *err)
{
	int64_t since_ms, now_ms = clock_wall_ms();

	TRY(retention_notice_since(reader, job->job_id, &since_ms, err));
	if (since_ms)
		return OK;
	struct notice notice = {.pipeline = pipeline,
		.team = job->team,
		.row = {.job_id = job->job_id,
			.job = job->name,
			.metric = SPAN(""),
			.stream = SPAN(""),
			.incident = {.kind = INCIDENT_RETENTION_DUE,
				.severity = SEVERITY_WARNING,
				.state = INCIDENT_OPEN,
				.opened_ordinal = (uint64_t)now_ms, /* one that is over is not opened again */
				.opened_ms = now_ms,
				.line = NO_LINE,
				.value = (double)due_ms,
				.expected = (double)job->text_bytes}}};
	return put_notice(&notice, err);
}

static bool is_among(int64_t id, const int64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static enum status end_if_over(struct pipeline *pipeline, struct store_reader *reader, const struct incident_row *open,
	bool is_staying, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct expendable text = {.job_id = open->job_id};
	struct retention kept;
	struct job_row job;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, open->job_id, &job, err));
	TRY(store_read_job_retention(reader, open->job_id, &kept, err));
	TRY(store_weigh_text(reader, &text, err));
	if (text.stored_bytes && !kept.is_pinned && !is_staying)
		return OK;
	struct notice notice = {.pipeline = pipeline, .team = job.team, .row = *open};
	notice.row.incident.state = INCIDENT_RECOVERED;
	notice.row.incident.closed_ms = clock_wall_ms();
	notice.row.detail = SPAN("");
	return put_notice(&notice, err);
}

enum status retention_notices_end(struct pipeline *pipeline, struct store_reader *reader, const int64_t *staying_ids,
	size_t staying_count, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_row *rows;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(read_open(reader, arena, 0, LOOK_MAX, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		enum status status = end_if_over(
			pipeline, reader, &rows[i], is_among(rows[i].job_id, staying_ids, staying_count), err);
		if (status != OK && status != ERR_NOT_FOUND) /* it is in the trash */
			return status;
	}
	return OK;
}
