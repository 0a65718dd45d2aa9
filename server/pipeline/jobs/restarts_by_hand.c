#include "pipeline/jobs/restarts_by_hand.h"

#include "base/json/json_read.h"
#include "model/incident.h"
#include "model/jobs/restart_verdict.h"
#include "pipeline/alert/incidents.h"

enum status restarts_by_hand_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *job, struct restarts_ended *out, struct error *err)
{
	const struct incident_filter filter = {.job_id = job->job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_RESTART_DIFFERS,
		.cursor = SPAN(""),
		.limit = RESTARTS_ENDED_MAX};
	AUTO(json) document = NULL;
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	out->count = 0; /* after a commit that failed this runs again */
	TRY(json_parse(&document, job->document, err));
	if (!json_get_path(document, "by_hand.restarts"))
		return OK;
	TRY(store_read_incidents(store_tx_reader(tx), arena, &filter, &rows, &count, &cursor, err));
	for (size_t i = 0; i < count; i++) {
		struct incident_row *row = &out->rows[out->count];
		/* incidents know the attempt alone: of two restarts within one only the first begins it, and is told of */
		if (!restart_verdicts_end(document, rows[i].incident.opened_ordinal))
			continue;
		*row = rows[i];
		row->incident.state = INCIDENT_RECOVERED;
		row->incident.closed_ms = job->modified_ms;
		row->detail = SPAN("");
		out->told[out->count] = (struct incident_effects){0};
		TRY(incidents_write(pipeline, tx, row, job->team, &out->told[out->count], err));
		out->count++;
	}
	return OK;
}

void restarts_by_hand_say(struct pipeline *pipeline, const struct restarts_ended *ended)
{
	for (size_t i = 0; i < ended->count; i++)
		incidents_publish(pipeline, &ended->rows[i], &ended->told[i]);
}
