#include "pipeline/consume/told_before.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/known.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/consume/fault_names.h"
#include "pipeline/consume/signs.h"
#include "state/control.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_ends.h"
#include "store/stream_hosts.h"

enum { HOUR_MS = 60 * 60 * 1000, FAULTS_MAX = 100 };

struct look {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	char *host;
	int64_t from_ms; /* log time; what was over before then was looked at, or is none of it */
	struct arena *arena; /* of the last try */
	struct stretch_told said;
};

static void look_free(struct look *look)
{
	job_unref(look->stream->job);
	arena_free(look->arena);
	mem_free(look->host);
	mem_free(look);
}

static enum status tell(struct look *look, struct store_tx *tx, const struct job_row *job,
	const struct signature_hit_row *hit, struct error *err)
{
	size_t index = signature_index(look->pipeline->signatures, hit->signature);
	struct job_row teller;

	if (index == SIZE_MAX)
		return OK; /* of another set of them */
	TRY(store_read_job_by_id(store_tx_reader(tx), look->arena, hit->job_id, &teller, err));
	struct stretch stretch = {.signature = signature_at(look->pipeline->signatures, index),
		.stream = SPAN(""),
		.host = hit->host,
		.naming = NAMING_SURE,
		.hit = *hit,
		.is_historic = hit->first_ms < clock_wall_ms() - HISTORIC_MS};
	return fault_tell_job(look->pipeline, tx, look->arena, &teller, &stretch, job, &look->said, err);
}

/* Machines that share a stream are charged with nothing of it. */
static enum status is_alone(struct look *look, struct store_tx *tx, bool *out, struct error *err)
{
	struct stream_host_row *rows;
	size_t count;

	TRY(store_read_stream_hosts(store_tx_reader(tx), look->arena, look->stream->job->job_id,
		look->stream->stream_id, &rows, &count, err));
	*out = count && !rows[count - 1].is_shared;
	return OK;
}

/* What this job's log has itself, from a dump of the kernel's log, say, was judged by its line. */
static bool is_told_by_own(
	const struct look *look, const struct node_fault_row *faults, size_t count, const struct signature_hit_row *hit)
{
	for (size_t i = 0; i < count; i++)
		if (faults[i].job_id == look->stream->job->job_id && fault_is_told_elsewhere(&faults[i], hit))
			return true;
	return false;
}

/* Nearly always nobody has told anything of the machine: then nothing else is read. */
static enum status tell_all(struct look *look, struct store_tx *tx, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(look->pipeline->directory, HOUR_MS);
	int64_t job_id = look->stream->job->job_id;
	struct node_fault_row *faults;
	struct said_hit *hits;
	struct job_row job;
	size_t fault_count, count;
	bool is_one;

	TRY(store_read_node_faults(store_tx_reader(tx), look->arena, span_from(look->host), look->from_ms - HOUR_MS,
		FAULTS_MAX, &faults, &fault_count, err));
	if (!fault_count)
		return OK;
	TRY(is_alone(look, tx, &is_one, err));
	if (!is_one)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), look->arena, job_id, &job, err));
	TRY(store_read_told_elsewhere(store_tx_reader(tx), look->arena, &ends, job_id, span_from(look->host),
		look->from_ms, INT64_MAX, FAULTS_MAX, &hits, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct signature_hit_row hit = hits[i].row;
		hit.job_id = hits[i].told_by_job;
		if (!is_told_by_own(look, faults, fault_count, &hit))
			TRY(tell(look, tx, &job, &hit, err));
	}
	return OK;
}

static enum status write_look(void *context, struct store_tx *tx, struct error *err)
{
	struct look *look = context;
	bool is_gone;

	arena_free(look->arena); /* after a commit that failed this runs again */
	look->said = (struct stretch_told){0};
	if (!(look->arena = arena_new()))
		return error_no_memory(err);
	TRY(control_check_job_gone(look->pipeline, tx, look->stream->job, &is_gone, err));
	return is_gone ? OK : tell_all(look, tx, err);
}

static void look_done(void *context, enum status status, const struct error *err)
{
	struct look *look = context;
	struct stream_state *stream = look->stream;

	if (status != OK)
		log_line(LOG_ERROR, "fault_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err->text);
	if (status == OK && look->said.count) {
		atomic_store(&stream->job->is_row_dirty, true);
		directory_mark(look->pipeline->directory, STREAMS_DIRTY, stream);
		for (size_t i = 0; i < look->said.count; i++)
			incidents_publish(look->pipeline, &look->said.rows[i], &look->said.told[i]);
	}
	look_free(look);
}

static enum status push(struct pipeline *pipeline, struct stream_state *stream, int64_t from_ms, struct error *err)
{
	struct look *look = mem_zeroed(sizeof *look);

	if (!look)
		return error_no_memory(err);
	look->pipeline = pipeline;
	look->stream = stream;
	look->from_ms = from_ms;
	job_ref(stream->job);
	look->control = (struct control){.work = write_look, .done = look_done, .context = look, .is_kept = true};
	look->host = mem_copy_string(stream->host);
	enum status status = look->host ? control_push(pipeline, &look->control, err) : error_no_memory(err);
	if (status != OK)
		look_free(look);
	return status;
}

enum status told_before_look(
	struct pipeline *pipeline, struct stream_state *stream, int64_t begin_ms, struct error *err)
{
	uint64_t hash = span_hash(span_from(stream->host));
	bool is_other = stream->told_hash != hash;

	if (stream->said || !stream->host[0] || !pipeline->signatures ||
		(!is_other && stream->last_ms <= stream->told_until_ms))
		return OK;
	/* what is told later finds the job by its newest line */
	TRY(push(pipeline, stream, is_other ? begin_ms : stream->told_until_ms - HOUR_MS, err));
	stream->told_hash = hash;
	stream->told_until_ms = stream->last_ms + HOUR_MS;
	return OK;
}
