#include "pipeline/jobs/emergency_run.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/emergency.h"
#include "pipeline/jobs/job_transition.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/faults.h"
#include "store/jobs.h"

enum { WAITING_MAX = 100 };

struct stopping {
	struct emergency_row row;
	struct command_row command;
};

static enum status write_stop(void *context, struct store_tx *tx, struct error *err)
{
	struct stopping *stopping = context;

	stopping->row.stop_due_ms = 0;
	TRY(store_put_emergency(tx, &stopping->row, err));
	return stopping->command.created_ms ? store_add_command(tx, &stopping->command, err) : OK;
}

static enum status stop(
	struct pipeline *pipeline, const struct emergency_row *row, const struct job_row *job, struct error *err)
{
	struct stopping stopping = {.row = *row};
	AUTO(json) unless = NULL;
	struct job_transition transition = {.secondary = SPAN("Stopping"),
		.message = SPAN("stopped because of an incident"),
		.failure_reason = SPAN(""),
		.time_ms = clock_wall_ms()};

	if (!job->ended_ms)
		stopping.command = (struct command_row){.job_id = row->job_id,
			.command = SPAN("stop"),
			.stream = SPAN(""),
			.created_ms = transition.time_ms};
	TRY(json_parse(&unless, SPAN("[\"Completed\",\"Failed\",\"Stopped\"]"), err));
	TRY(writer_execute(pipeline, write_stop, &stopping, err));
	if (job->ended_ms)
		return OK;
	if (pipeline->options.command_given)
		pipeline->options.command_given(pipeline->options.context, &stopping.command);
	transition.unless = unless;
	enum status status = pipeline_add_transition(pipeline, job->name, SPAN(""), &transition, NULL, err);
	return status == ERR_CONFLICT ? OK : status; /* it ended meanwhile */
}

static enum status look_at(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct emergency_row *row, struct error *err)
{
	struct job_row job;
	int64_t step;

	TRY(store_read_job_by_id(reader, arena, row->job_id, &job, err));
	TRY(emergency_newest_step(reader, arena, row->job_id, &step, err));
	bool is_due = job.ended_ms || step != row->checkpoint_step || clock_wall_ms() >= row->stop_due_ms;
	return is_due ? stop(pipeline, row, &job, err) : OK;
}

void emergency_run(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO(arena) arena = arena_new();
	struct emergency_row *rows;
	struct error err;
	size_t count;

	if (!arena || store_read_emergencies(reader, arena, WAITING_MAX, &rows, &count, &err) != OK)
		return; /* the next round tries again */
	for (size_t i = 0; i < count; i++) {
		enum status status = look_at(pipeline, reader, arena, &rows[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "emergency_failed", "error=\"%s\"", err.text);
	}
}
