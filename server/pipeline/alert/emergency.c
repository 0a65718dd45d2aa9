#include "pipeline/alert/emergency.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/alert/incident_effects.h"
#include "read/checkpoints.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"

bool emergency_parse(struct span text, struct emergency_acts *out)
{
	struct span rest = text, part;

	*out = (struct emergency_acts){0};
	while (rest.len) {
		(void)!span_next(&rest, ',', &part);
		if (span_equal(part, SPAN("checkpoint")))
			out->checkpoint = true;
		else if (span_equal(part, SPAN("stop")))
			out->stop = true;
		else
			return false;
	}
	return true;
}

enum status emergency_newest_step(
	struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t *step, struct error *err)
{
	struct checkpoint_row *rows;
	size_t count;

	TRY(checkpoints_read_all(
		reader, arena, job_id, INT64_MAX, 1, &rows, &count, err)); /* whether another was saved */
	*step = count ? rows[0].step : -1;
	return OK;
}

enum status emergency_act(struct pipeline *pipeline, struct store_tx *tx, const struct incident_row *incident,
	struct emergency_acts acts, struct incident_effects *told, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct emergency_row row;
	int64_t now_ms = clock_wall_ms();

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_emergency(store_tx_reader(tx), incident->job_id, &row, err));
	if (row.job_id || (!acts.checkpoint && !acts.stop))
		return OK;
	row = (struct emergency_row){
		.job_id = incident->job_id, .incident_id = incident->incident_id, .asked_ms = now_ms};
	if (acts.stop)
		row.stop_due_ms = acts.checkpoint ? now_ms + pipeline->options.emergency_grace_ms : now_ms;
	TRY(emergency_newest_step(store_tx_reader(tx), arena, incident->job_id, &row.checkpoint_step, err));
	TRY(store_put_emergency(tx, &row, err));
	if (!acts.checkpoint)
		return OK;
	told->command = (struct command_row){
		.job_id = incident->job_id, .command = SPAN("checkpoint"), .stream = SPAN(""), .created_ms = now_ms};
	return store_add_command(tx, &told->command, err);
}

/* The job's tag wins over the option: "off", or what is to be done. */
static struct span asked_of(const struct pipeline *pipeline, const struct json *document)
{
	const struct json *tags = json_get(document, "Tags");

	for (const struct json *tag = json_first(tags); tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "Key")), SPAN("on-non-finite"))) {
			struct span value = json_string_of(json_get(tag, "Value"));
			return span_equal(value, SPAN("off")) ? SPAN("") : value;
		}
	return pipeline->options.on_non_finite;
}

enum status emergency_look(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *incident, struct incident_effects *told, struct error *err)
{
	AUTO(json) document = NULL;
	struct emergency_acts acts;
	struct job_row job;

	if (incident->incident.kind != INCIDENT_NON_FINITE || incident->incident.severity != SEVERITY_CRITICAL ||
		incident->incident.state != INCIDENT_OPEN || incident->incident.is_historic)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), arena, incident->job_id, &job, err));
	TRY(json_parse(&document, job.document, err));
	struct span asked = asked_of(pipeline, document);
	if (job.ended_ms || !asked.len)
		return OK;
	if (!emergency_parse(asked, &acts)) {
		log_line(LOG_WARNING, "emergency_unknown", "job=\"%.*s\" tag=\"%.*s\"", SPAN_ARGS(job.name),
			SPAN_ARGS(asked));
		return OK;
	}
	return emergency_act(pipeline, tx, incident, acts, told, err);
}
