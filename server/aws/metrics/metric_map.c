#include "aws/metrics/metric_map.h"

#include "ingest/ingest.h"
#include "model/metrics/stream_name.h"

static const char training_jobs[] = "/aws/sagemaker/TrainingJobs";
static const char job_dimension[] = "TrainingJobName", host_dimension[] = "Host";
static const char other_streams[] = "cloudwatch/", machine_streams[] = "system/";

enum { NAME_MAX_BYTES = 255, TEXT_MAX_BYTES = 1 << 14 };

bool metric_map_is_apart(struct span stream)
{
	return stream_is_system(stream) || span_starts_with(stream, span_from(other_streams));
}

static struct span find(const struct metric_identity *identity, const char *name)
{
	for (size_t i = 0; i < identity->dimension_count; i++)
		if (span_equal(identity->dimensions[i].name, span_from(name)))
			return identity->dimensions[i].value;
	return SPAN("");
}

static enum status join(struct arena *arena, const char *before, struct span text, struct span *out, struct error *err)
{
	size_t len = strlen(before);
	char *joined = arena_alloc(arena, len + text.len + 1);

	if (!joined)
		return error_no_memory(err);
	memcpy(joined, before, len);
	memcpy(joined + len, text.ptr, text.len);
	*out = span_of(joined, len + text.len);
	return OK;
}

/* JOB/HOST: a job's name may have slashes, a host's has none. */
static enum status place_machine(struct arena *arena, struct span host, struct metric_place *out, struct error *err)
{
	size_t at = host.len;

	while (at > 0 && host.ptr[at - 1] != '/')
		at--;
	if (at < 2 || at == host.len)
		return error_set(err, ERR_SEMANTIC, "the dimension Host is '%.*s', not JOB/HOST",
			(int)(host.len < 200 ? host.len : 200), host.ptr);
	out->job = span_of(host.ptr, at - 1);
	return join(arena, machine_streams, span_skip(host, at), &out->stream, err);
}

static enum status place_training(
	struct arena *arena, const struct metric_identity *identity, struct metric_place *out, struct error *err)
{
	struct span host = find(identity, host_dimension);

	out->job = find(identity, job_dimension);
	if (!out->job.len && host.len)
		return place_machine(arena, host, out, err);
	if (!out->job.len)
		return error_set(err, ERR_SEMANTIC,
			"metrics of %s have the dimension TrainingJobName, or Host (JOB/HOST)", training_jobs);
	out->is_whole_job = !host.len;
	out->stream = host.len ? host : SPAN("algo-1");
	return OK;
}

static bool is_place(const struct metric_identity *identity, struct span dimension)
{
	if (span_equal(dimension, span_from(job_dimension)))
		return true;
	return span_equal(identity->namespace_name, span_from(training_jobs)) &&
	       span_equal(dimension, span_from(host_dimension));
}

static enum status name_series(
	struct arena *arena, const struct metric_identity *identity, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);
	AUTO_DONE(buf) canonical = BUF_INIT(TEXT_MAX_BYTES);
	size_t labels = 0;
	struct error cause;

	buf_append_span(&text, identity->name);
	for (size_t i = 0; i < identity->dimension_count; i++) {
		const struct metric_dimension *dimension = &identity->dimensions[i];
		if (!is_place(identity, dimension->name))
			ingest_metric_label(&text, labels++ == 0, dimension->name, dimension->value);
	}
	if (labels)
		buf_append_char(&text, '}');
	if (labels > METRIC_LABELS_MAX)
		return error_set(err, ERR_SEMANTIC,
			"metric '%.*s' has %zu dimensions; beside TrainingJobName and Host at most %d are kept",
			SPAN_ARGS(identity->name), labels, METRIC_LABELS_MAX);
	TRY(buf_status(&text, err));
	enum status status = ingest_metric_name(buf_span(&text), &canonical, &cause);
	if (status != OK)
		return error_set(err, status == ERR_MEMORY ? status : ERR_SEMANTIC, "%s", cause.text);
	*out = arena_copy(arena, buf_span(&canonical));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status check_name(const char *what, struct span name, struct error *err)
{
	struct error cause;

	if (ingest_check_name(what, name, NAME_MAX_BYTES, &cause) == OK)
		return OK;
	return error_set(err, ERR_SEMANTIC, "%s", cause.text);
}

enum status metric_map_place(
	struct arena *arena, const struct metric_identity *identity, struct metric_place *out, struct error *err)
{
	*out = (struct metric_place){0};
	if (span_equal(identity->namespace_name, span_from(training_jobs))) {
		TRY(place_training(arena, identity, out, err));
	} else {
		out->job = find(identity, job_dimension);
		out->job = out->job.len ? out->job : identity->namespace_name;
		TRY(join(arena, other_streams, identity->namespace_name, &out->stream, err));
	}
	TRY(check_name("job", out->job, err));
	TRY(check_name("stream", out->stream, err));
	return name_series(arena, identity, &out->metric, err);
}

/* ---- the other way round ---- */

static enum status add_labels(struct arena *arena, const struct metric_label *labels, size_t count,
	struct metric_dimension *dimensions, size_t *used, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) value = BUF_INIT(TEXT_MAX_BYTES);
		ingest_metric_unescape(labels[i].value, &value);
		struct span text = arena_copy(arena, buf_span(&value));
		if (!text.ptr)
			return error_no_memory(err);
		dimensions[(*used)++] = (struct metric_dimension){labels[i].name, text};
	}
	return OK;
}

static enum status machine_of(
	struct arena *arena, struct span job, struct span host, struct span *out, struct error *err)
{
	char *text = arena_alloc(arena, job.len + host.len + 1);

	if (!text)
		return error_no_memory(err);
	memcpy(text, job.ptr, job.len);
	text[job.len] = '/';
	memcpy(text + job.len + 1, host.ptr, host.len);
	*out = span_of(text, job.len + host.len + 1);
	return OK;
}

enum status metric_map_identity(struct arena *arena, struct span job, struct span stream, struct span metric,
	struct metric_identity *out, struct error *err)
{
	struct metric_dimension *dimensions = arena_alloc(arena, (METRIC_LABELS_MAX + 1) * sizeof *dimensions);
	struct metric_label labels[METRIC_LABELS_MAX];
	bool is_machine = stream_is_system(stream), is_other = span_starts_with(stream, span_from(other_streams));
	struct span name;
	size_t labels_count, used = 0;

	if (!dimensions)
		return error_no_memory(err);
	*out = (struct metric_identity){.namespace_name = span_from(training_jobs), .dimensions = dimensions};
	if (!ingest_metric_split(metric, &name, labels, &labels_count))
		labels_count = 0;
	out->name = name;
	if (is_other)
		out->namespace_name = span_skip(stream, strlen(other_streams));
	if (is_machine) {
		dimensions[used].name = span_from(host_dimension);
		TRY(machine_of(arena, job, span_skip(stream, strlen(machine_streams)), &dimensions[used++].value, err));
	} else if (!is_other || !span_equal(job, out->namespace_name)) {
		dimensions[used++] = (struct metric_dimension){span_from(job_dimension), job};
	}
	TRY(add_labels(arena, labels, labels_count, dimensions, &used, err));
	out->dimension_count = used;
	return OK;
}
