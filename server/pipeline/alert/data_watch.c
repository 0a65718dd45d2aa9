#include "pipeline/alert/data_watch.h"

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/job_incident.h"
#include "read/charts/anatomy_read.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

#include <math.h>

enum { STREAMS_READ = 2, STEPS_BEFORE_LEAST = 24, FACTS_BYTES = 4096 };

static const double points_least = 0.10, times_least = 1.5, points_back = 0.05;

struct judged {
	struct span stream;
	int64_t since, since_ms; /* a step, and when the log has it */
	double now, usual; /* shares; NaN: not known */
};

static const struct anatomy_stream *find_known(const struct anatomy *anatomy, struct span name)
{
	for (size_t i = 0; i < anatomy->count; i++) {
		const struct anatomy_stream *stream = &anatomy->streams[i];
		if (!isnan(stream->share[ANATOMY_DATA]) && (!name.len || span_equal(stream->name, name)))
			return stream;
	}
	return NULL;
}

static enum status read_share(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct anatomy_range *range, struct span stream, size_t least, double *out,
	struct error *err)
{
	struct anatomy anatomy;

	TRY(anatomy_read(pipeline, reader, arena, job, range, &anatomy, err));
	const struct anatomy_stream *found = find_known(&anatomy, stream);
	*out = found && found->steps >= least ? found->share[ANATOMY_DATA] : NAN;
	return OK;
}

static enum status judge(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct judged *out, struct error *err)
{
	struct anatomy_range range = {INT64_MIN, INT64_MAX, STREAMS_READ};
	struct anatomy anatomy;

	*out = (struct judged){.now = NAN, .usual = NAN};
	TRY(anatomy_read(pipeline, reader, arena, job, &range, &anatomy, err));
	const struct anatomy_stream *found = find_known(&anatomy, SPAN(""));
	if (!found || found->late_step < 0)
		return OK;
	out->stream = found->name;
	out->since = range.from = found->late_step;
	out->since_ms = found->late_ms;
	TRY(read_share(pipeline, reader, arena, job, &range, out->stream, ANATOMY_LATE_LEAST, &out->now, err));
	range = (struct anatomy_range){INT64_MIN, out->since - 1, STREAMS_READ};
	return read_share(pipeline, reader, arena, job, &range, out->stream, STEPS_BEFORE_LEAST, &out->usual, err);
}

/* ---- what to look at ---- */

static bool has_file_system(const struct json *document)
{
	for (const struct json *at = json_first(json_get(document, "InputDataConfig")); at; at = json_next(at))
		if (json_get_path(at, "DataSource.FileSystemDataSource"))
			return true;
	return false;
}

static struct span input_mode(const struct json *document)
{
	struct span mode = json_string_of(json_get_path(document, "AlgorithmSpecification.TrainingInputMode"));

	for (const struct json *at = json_first(json_get(document, "InputDataConfig")); at; at = json_next(at))
		if (json_string_of(json_get(at, "InputMode")).len)
			mode = json_string_of(json_get(at, "InputMode"));
	return mode;
}

static const char *find_action(const struct json *document)
{
	struct span mode = input_mode(document);

	if (has_file_system(document))
		return "The data are on FSx or EFS: look at its throughput and at who else reads it, at lazy loading from S3 (the first epoch), and at "
		       "the loader's workers.";
	if (span_equal(mode, SPAN("FastFile")) || span_equal(mode, SPAN("Pipe")))
		return "The data are read from S3 while the job trains: look for SlowDown (503) and many small objects; larger shards, input mode File "
		       "or FSx for Lustre read faster. Then at the loader's workers.";
	if (span_equal(mode, SPAN("File")))
		return "The data were copied to the machine: look at the loader's workers and prefetch (num_workers, prefetch_factor), at decoding and "
		       "tokenizing on the processor, and at the volume's throughput.";
	return "Look at the loader's workers and prefetch (num_workers, prefetch_factor), at decoding on the processor, and at the storage that it "
	       "reads and who else reads that.";
}

static enum status write_facts(
	const struct judged *judged, const struct job_row *row, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	AUTO(json) document = NULL;

	TRY(json_parse(&document, row->document, err));
	json_put_text(&w, "action", find_action(document));
	json_put_span(&w, "stream", judged->stream);
	return buf_status(out, err);
}

static enum status open(struct pipeline *pipeline, struct job_state *job, const struct job_row *row,
	const struct judged *judged, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job};
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);

	TRY(write_facts(judged, row, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.incident = job_incident_since(
		INCIDENT_DATA_WAIT, judged->since, judged->since_ms, 100 * judged->now, 100 * judged->usual);
	return job_incident_put(&note, err);
}

/* ---- looks ---- */

static enum status look(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_row *known;
	struct judged judged;
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, job->job_id, &row, err));
	if (row.ended_ms)
		return OK;
	TRY(judge(pipeline, reader, arena, row.name, &judged, err));
	if (isnan(judged.now) || isnan(judged.usual))
		return OK;
	TRY(job_incident_find_open(reader, arena, job->job_id, INCIDENT_DATA_WAIT, &known, err));
	if (known)
		return judged.now < judged.usual + points_back ? job_incident_end(pipeline, job, known, err) : OK;
	bool is_more = judged.now >= judged.usual + points_least && judged.now >= judged.usual * times_least;
	return is_more ? open(pipeline, job, &row, &judged, err) : OK;
}

static enum status watch(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	return each_job_is_due(job, &job->data_look) ? look(pipeline, reader, job, err) : OK;
}

void data_watch_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "data_watch_failed", watch);
}
