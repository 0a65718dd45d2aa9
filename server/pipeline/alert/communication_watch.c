#include "pipeline/alert/communication_watch.h"

#include "base/hash128.h"
#include "base/json/json_write.h"
#include "base/median.h"
#include "model/incident.h"
#include "pipeline/alert/job_incident.h"
#include "read/charts/anatomy_traces.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

#include <math.h>

enum { FACTS_BYTES = 32 << 10, OPEN_MOST = 1000 };

static const double points_least = 0.10, times_least = 1.5;

/* Shares: of the GPU's time, and of the communication. */
struct figures {
	double exposed, communication, overlap;
};

struct judged {
	const struct anatomy_trace *newest;
	struct figures now, usual;
	bool is_known, is_more;
};

static const struct {
	const char *cause, *action;
} CAUSES[] = {
	{"communication takes longer",
		"Look for a link or a machine that is slow: whether EFA was chosen, errors of NVLink or the network, a rank that the "
		"others wait for, more or larger messages than before."},
	{"less of the communication runs beside computation",
		"See what changed in the order of work: bucket size (DDP's bucket_cap_mb, Megatron's --ddp-bucket-size), overlap of "
		"gradients and parameters (--overlap-grad-reduce, --overlap-param-gather), FSDP's prefetch, CUDA_DEVICE_MAX_CONNECTIONS."}};

static struct figures figures_of(const struct gpu_trace *trace)
{
	return (struct figures){.exposed = gpu_trace_share(trace, gpu_trace_exposed_us(trace)),
		.communication = gpu_trace_share(trace, trace->communication_us),
		.overlap = trace->communication_us ? (double)trace->overlap_us / (double)trace->communication_us : 1};
}

static struct figures medians_of(const struct anatomy_trace *traces, size_t count)
{
	double exposed[COMMUNICATION_TRACES_MOST], communication[COMMUNICATION_TRACES_MOST],
		overlap[COMMUNICATION_TRACES_MOST];

	for (size_t i = 0; i < count; i++) {
		struct figures figures = figures_of(&traces[i].trace);
		exposed[i] = figures.exposed;
		communication[i] = figures.communication;
		overlap[i] = figures.overlap;
	}
	return (struct figures){median_of(exposed, count), median_of(communication, count), median_of(overlap, count)};
}

/* The stream's, in their order; what lasted no time at all says nothing. */
static size_t pick(struct anatomy_traces *traces, struct span stream)
{
	size_t count = 0;

	for (size_t i = 0; i < traces->count; i++)
		if (span_equal(traces->traces[i].trace.stream, stream) && traces->traces[i].trace.kernel_us)
			traces->traces[count++] = traces->traces[i];
	return count;
}

static struct judged judge(struct anatomy_traces *traces, struct span stream)
{
	size_t count = pick(traces, stream);
	struct judged judged = {0};

	if (count <= COMMUNICATION_TRACES_LEAST)
		return judged;
	size_t before = count - 1 < COMMUNICATION_TRACES_MOST ? count - 1 : COMMUNICATION_TRACES_MOST;
	judged.newest = &traces->traces[count - 1];
	judged.now = figures_of(&judged.newest->trace);
	judged.usual = medians_of(judged.newest - before, before);
	judged.is_known = true;
	judged.is_more = judged.now.exposed >= judged.usual.exposed + points_least &&
			 judged.now.exposed >= judged.usual.exposed * times_least;
	return judged;
}

/* What more of it comes from: it is what communicates, without what runs beside that. */
static size_t find_cause(const struct judged *j)
{
	double longer = j->now.communication - j->usual.communication;
	double less_beside = j->usual.overlap * j->usual.communication - j->now.overlap * j->now.communication;

	return longer < less_beside;
}

static enum status write_facts(const struct judged *j, size_t cause, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_put_text(&w, "cause", CAUSES[cause].cause);
	json_put_text(&w, "action", CAUSES[cause].action);
	json_put_span(&w, "stream", j->newest->trace.stream);
	json_put_span(&w, "trace", j->newest->trace.trace);
	json_put_span(&w, "file", j->newest->trace.file);
	json_put_double(&w, "communication", j->now.communication);
	json_put_double(&w, "communication_before", j->usual.communication);
	json_put_double(&w, "overlap", j->now.overlap);
	json_put_double(&w, "overlap_before", j->usual.overlap);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	buf_append(out, text.ptr + 1, text.len - 2); /* its members alone */
	return buf_status(out, err);
}

static enum status open(struct pipeline *pipeline, struct job_state *job, const struct judged *j, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job};
	const struct gpu_trace *trace = &j->newest->trace;
	size_t cause = find_cause(j);
	int64_t at_ms = trace->profiled_ms ? trace->profiled_ms : j->newest->received_ms;
	int64_t step = trace->last_step < 0 ? 0 : trace->last_step;
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);
	struct hash128 hash = {0};

	hash128_add(&hash, trace->stream);
	hash128_add(&hash, trace->trace);
	TRY(write_facts(j, cause, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.detail = span_from(CAUSES[cause].cause);
	note.row.incident = job_incident_since(
		INCIDENT_COMMUNICATION_EXPOSED, step, at_ms, 100 * j->now.exposed, 100 * j->usual.exposed);
	note.row.incident.opened_ordinal = hash.low & (uint64_t)INT64_MAX; /* one a trace */
	return job_incident_put(&note, err);
}

static bool is_of_stream(const struct incident_row *row, struct span stream)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES + 2);
	AUTO(json) evidence = NULL;
	struct error err;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	return !text.failure && json_parse(&evidence, buf_span(&text), &err) == OK &&
	       span_equal(json_string_of(json_get(evidence, "stream")), stream);
}

/* *out NULL: none of this stream. */
static enum status find_open(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span stream,
	const struct incident_row **out, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_COMMUNICATION_EXPOSED,
		.cursor = SPAN(""),
		.limit = OPEN_MOST};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	*out = NULL;
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	for (size_t i = 0; i < count && !*out; i++)
		if (is_of_stream(&rows[i], stream))
			*out = &rows[i];
	return OK;
}

/* One that nobody wrote to since the start is not in RAM: its row says all that an incident needs. */
static enum status find_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span name, struct job_state **out, struct error *err)
{
	struct job_row row;

	*out = directory_find(pipeline->directory, name);
	if (*out)
		return OK;
	TRY(store_read_job(reader, arena, name, &row, err));
	*out = job_state_new(&row);
	return *out ? OK : error_no_memory(err);
}

enum status communication_watch_look(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job_name, struct span stream, struct error *err)
{
	AUTO(job_state) job = NULL;
	const struct incident_row *row;
	struct anatomy_traces traces;

	TRY(find_job(pipeline, reader, arena, job_name, &job, err));
	TRY(anatomy_read_traces(reader, arena, job->job_id, INT64_MIN, INT64_MAX, &traces, err));
	struct judged judged = judge(&traces, stream);
	if (!judged.is_known)
		return OK;
	TRY(find_open(reader, arena, job->job_id, stream, &row, err));
	if (judged.is_more)
		return row ? OK : open(pipeline, job, &judged, err);
	return row ? job_incident_end(pipeline, job, row, err) : OK;
}
