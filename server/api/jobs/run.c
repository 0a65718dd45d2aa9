/* Runs: the chain of jobs that a job is a link of. */
#include "api/jobs/run.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/machines/goodput.h"
#include "base/json/json_write.h"
#include "store/run.h"
#include "store/tracked_runs.h"

static void write_links(struct json_writer *w, const struct run_link *links, size_t count)
{
	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_span(w, "TrainingJobName", links[i].job);
		json_put_span(w, "TrainingJobStatus", links[i].status);
		json_key(w, "CreationTime");
		json_seconds(w, links[i].created_ms);
		if (links[i].continues.len) {
			json_put_span(w, "continues", links[i].continues);
			json_put_text(w, "reason", "its tag continues says so");
		}
		json_object_end(w);
	}
	json_array_end(w);
}

/* The job that the first one goes on with, where the chain has it not: it is not there, or not for this reader. A chain may be a circle. */
static void write_left_out(struct json_writer *w, const struct run_link *links, size_t count)
{
	struct span before = links[0].continues;

	for (size_t i = 0; i < count && before.len; i++)
		if (span_equal(links[i].job, before))
			before = SPAN("");
	if (before.len)
		json_put_span(w, "left_out", before);
}

static enum status write_proposals(struct store_reader *reader, struct arena *arena, const struct run_link *links,
	size_t count, struct json_writer *w, struct error *err)
{
	struct run_proposal proposals[RUN_PROPOSALS_MAX];
	size_t proposed;

	json_key(w, "proposed");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		TRY(store_propose_run(reader, arena, &links[i], proposals, &proposed, err));
		for (size_t j = 0; j < proposed; j++) {
			json_object(w);
			json_put_span(w, "TrainingJobName", links[i].job);
			json_put_span(w, "continues", proposals[j].continues);
			json_put_span(w, "reason", proposals[j].reason);
			json_object_end(w);
		}
	}
	json_array_end(w);
	return OK;
}

enum status api_job_run(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct run_link *links;
	size_t count, at;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_run(reader, arena, http_request_segment(request, 0), &links, &count, &at, err));
	json_object(&w);
	json_put_span(&w, "run", links[0].job);
	write_left_out(&w, links, count);
	write_links(&w, links, count);
	TRY(api_write_run_goodput(reader, arena, links, count, &w, err));
	TRY(write_proposals(reader, arena, links, 1, &w, err)); /* the others state what they go on with */
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_write_run_jobs(
	struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	json_array(w);
	for (size_t i = 0; i <= at; i++)
		json_span(w, links[i].job);
	json_array_end(w);
	return OK;
}

enum status api_write_run(
	struct store_reader *reader, struct arena *arena, struct span job, struct json_writer *w, struct error *err)
{
	struct run_link *links;
	size_t count, at;
	bool is_continued = false;

	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	if (links[at].continues.len)
		json_put_span(w, "continues", links[at].continues);
	for (size_t i = at + 1; i < count; i++)
		is_continued |= span_equal(links[i].continues, job);
	if (!is_continued)
		return OK;
	json_key(w, "continued_by");
	json_array(w);
	for (size_t i = at + 1; i < count; i++)
		if (span_equal(links[i].continues, job))
			json_span(w, links[i].job);
	json_array_end(w);
	return OK;
}

enum status api_write_run_family(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct json_writer *w, struct error *err)
{
	struct run_family family;

	TRY(store_read_run_family(reader, arena, job_id, &family, err));
	if (family.parent.len)
		json_put_span(w, "parent_job", family.parent);
	if (!family.child_count)
		return OK;
	json_key(w, "child_jobs");
	json_array(w);
	for (size_t i = 0; i < family.child_count; i++)
		json_span(w, family.children[i].job);
	json_array_end(w);
	if (family.has_more)
		json_put_bool(w, "has_more_child_jobs", true);
	return OK;
}
