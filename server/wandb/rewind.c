/* A run that goes back to one of its steps, and on from there: init(resume_from="ID?_step=N"). */
#include "model/metrics/batch_points.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "store/jobs.h"
#include "wandb/internal.h"

static enum status read_step(const struct graphql_request *request, double *step, struct error *err)
{
	struct span metric;

	TRY(graphql_text(request, "metricName", WANDB_NAME_MAX_BYTES, &metric, err));
	if (!span_equal(metric, SPAN("_step")))
		return error_set_field(err, ERR_UNSUPPORTED, "metricName",
			"a run goes back by its '_step' alone, not by '%.*s': resume_from=\"ID?_step=N\"",
			SPAN_ARGS(span_cut(metric, 100)));
	if (!json_number_of(json_get(request->variables, "metricValue"), step) || !(*step >= 0))
		return error_set_field(err, ERR_SEMANTIC, "metricValue",
			"'metricValue' must be the step that the run goes back to, 0 or more: resume_from=\"ID?_step=N\"");
	return OK;
}

static enum status find_run(struct wandb_call *call, const struct graphql_request *request, struct wandb_run *run,
	struct tracked_run_row *row, struct error *err)
{
	struct span project, id;

	TRY(graphql_text(request, "project", WANDB_PROJECT_MAX_BYTES, &project, err));
	TRY(graphql_text(request, "runName", WANDB_ID_MAX_BYTES, &id, err));
	TRY(wandb_identify(call, project, id, run, err));
	enum status status = wandb_find_run(call, run, row, err);
	if (status != ERR_NOT_FOUND)
		return status;
	return error_set(err, ERR_NOT_FOUND,
		"the token's team has no run with the id '%.*s' in the project '%.*s' that could go back: "
		"see to id and project, or leave 'resume_from' out, which begins a run",
		SPAN_ARGS(run->id), SPAN_ARGS(run->project));
}

enum status wandb_begin_attempt(struct wandb_call *call, struct batch *batch, int64_t job_id, struct error *err)
{
	struct job_row job;

	TRY(store_read_job_by_id(call->reader, call->arena, job_id, &job, err));
	struct batch_part *part = batch_part(batch, job.name, SPAN(WANDB_STREAM));
	return part && batch_add_begin(batch, part, call->now_ms) ? OK : error_no_memory(err);
}

/* Clients take the count of rows for a step that was reached: 13 rows, of which 5 are superseded, are at most those up to step N. */
static uint64_t count_kept(const struct tracked_file_row *history, double step)
{
	return step + 1 < (double)history->next_line ? (uint64_t)step + 1 : history->next_line;
}

/* What a client that goes on before the first new row is given: the step that the run went back to. */
static enum status write_tail(struct wandb_call *call, const struct tracked_file_row *history, double step,
	struct span *out, struct error *err)
{
	static const char *const times[] = {"_runtime", "_timestamp"};
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct json_writer w = json_writer_on(&text);
	AUTO(json) tail = NULL;
	double value;

	TRY(json_parse(&tail, history->content.len ? history->content : SPAN("{}"), err));
	json_object(&w);
	if (!json_number_of(json_get(tail, "_step"), &value) || value > step)
		value = step;
	json_put_double(&w, "_step", value);
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (json_number_of(json_get(tail, times[i]), &value))
			json_put_double(&w, times[i], value);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	*out = arena_copy(call->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

/* The client counts the lines of its console from 0 again: by their numbers they would be those that are stored. */
static enum status begin_again(
	struct wandb_call *call, int64_t job_id, const struct tracked_file_row *history, double step, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);
	struct batch_file files[] = {{.name = SPAN(WANDB_CONSOLE), .content = SPAN(""), .is_unchecked = true},
		{.name = SPAN(WANDB_HISTORY),
			.origin = history->origin,
			.next_line = count_kept(history, step),
			.is_unchecked = true}};
	struct ingest_result result;

	if (!batch)
		return error_no_memory(err);
	TRY(wandb_begin_attempt(call, batch, job_id, err));
	TRY(write_tail(call, history, step, &files[1].content, err));
	batch->files = files;
	batch->file_count = history->next_line ? 2 : 1;
	batch->files_job_id = job_id;
	batch->team = call->team;
	return pipeline_store(call->pipeline, &batch, &result, err);
}

/* Nothing is deleted: the steps that come again begin an attempt, as a restart's do. */
enum status wandb_rewind_run(struct wandb_call *call, const struct graphql_request *request, struct error *err)
{
	struct tracked_file_row history, config;
	struct tracked_run_row row;
	struct wandb_run run;
	double step;

	TRY(read_step(request, &step, err));
	TRY(find_run(call, request, &run, &row, err));
	TRY(store_read_tracked_file(call->reader, call->arena, row.job_id, SPAN(WANDB_HISTORY), &history, err));
	TRY(store_read_tracked_file(call->reader, call->arena, row.job_id, SPAN(WANDB_CONFIG_FILE), &config, err));
	TRY(begin_again(call, row.job_id, &history, step, err));
	json_key(&call->w, "rewindRun");
	json_object(&call->w);
	wandb_write_bucket(call, "rewoundRun", &run, &row,
		&(struct wandb_bucket){.config = config.content, .history_lines = count_kept(&history, step)});
	json_object_end(&call->w);
	return OK;
}
