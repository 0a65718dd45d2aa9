#include "api/machines/fit_job.h"

#include "fleet/fit.h"
#include "model/jobs/by_hand.h"
#include "query/query.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/faults.h"
#include "store/job_facts.h"
#include "store/search.h"

#include <math.h>
#include <stdlib.h>

enum { LIKE_MAX = 100, QUERY_BYTES = 1024, ADVICE_BYTES = 16 << 10 };

static enum status read_settings(const struct fit_job *job, const struct job_row *row, const struct json *document,
	struct advice_facts *facts, struct fit_settings *out, struct error *err)
{
	TRY(advice_facts_read_settings(job->api, job->reader, job->arena, row, document, facts, err));
	fit_settings_read(job->api, facts, out);
	return OK;
}

/* ---- peaks ---- */

/* What trainers print of the greatest that was allocated, then of what is at a time. */
static const char *const peak_metrics[] = {
	"train:memory_max_allocated", "memory/max_active (GiB)", "peak_memory_alloc", "train:memory"};

static const double mib = 1 << 20;

/* Trainers divide by powers of 1024 and print "MB" and "GB". 0: not known. */
static double bytes_of(const struct summary_row *row)
{
	if (span_equal_fold(row->unit, SPAN("MB")) || span_equal_fold(row->unit, SPAN("MiB")))
		return mib;
	if (span_find(row->metric, SPAN("GiB")) >= 0 || span_equal_fold(row->unit, SPAN("GB")) ||
		span_equal_fold(row->unit, SPAN("GiB")))
		return 1024 * mib;
	return 0;
}

static void find_printed_peak(const struct summary_row *rows, size_t count, struct fit_observation *out)
{
	for (size_t m = 0; m < sizeof peak_metrics / sizeof *peak_metrics; m++)
		for (size_t i = 0; i < count; i++) {
			if (!span_equal(rows[i].metric, span_from(peak_metrics[m])) ||
				!summary_has_finite(&rows[i].summary))
				continue;
			out->peak = rows[i].summary.max * bytes_of(&rows[i]);
			out->metric = rows[i].metric;
			if (out->peak > 0)
				return;
		}
	out->peak = NAN;
}

/* Of the fullest device that the system tool sees: its streams are in no summary of the job. */
static enum status find_seen_peak(const struct fit_job *job, struct fit_observation *out, struct error *err)
{
	struct job_view view;

	out->metric = SPAN("gpu_memory_used_mib");
	TRY(view_read_job(job->api->options.pipeline, job->reader, job->arena, out->job, SPAN(""), out->metric,
		VIEW_SERIES, &view, err));
	for (size_t i = 0; i < view.stream_count; i++)
		for (size_t k = 0; k < view.streams[i].series_count; k++) {
			const struct summary *summary = &view.streams[i].series[k].summary;
			if (summary_has_finite(summary) && summary->max > 0 && !(summary->max * mib <= out->peak))
				out->peak = summary->max * mib;
		}
	return OK;
}

/* *is_known: it has a peak, and its settings make a total. */
static enum status observe(const struct fit_job *job, const struct job_row *row, struct advice_facts *facts,
	struct fit_observation *out, bool *is_known, struct error *err)
{
	AUTO(json) document = NULL;
	struct fit_settings settings;
	struct summary_row *rows;
	struct job_counts counts;
	struct fit fit;
	size_t count;

	*is_known = false;
	*out = (struct fit_observation){.job = row->name};
	TRY(json_parse(&document, row->document, err));
	TRY(by_hand_settle(document, err));
	TRY(read_settings(job, row, document, facts, &settings, err));
	fit_work_out(&settings.setup, &fit);
	out->formula = fit.total;
	if (!(fit.total > 0) || settings.other || settings.unread.count || !settings.sharding.is_spread)
		return OK;
	TRY(store_read_summaries(job->reader, job->arena, row->job_id, &counts, &rows, &count, err));
	find_printed_peak(rows, count, out);
	if (isnan(out->peak))
		TRY(find_seen_peak(job, out, err));
	*is_known = out->peak > 0;
	return OK;
}

static double factor_of(const struct fit_observation *one)
{
	return one->peak / one->formula;
}

static int by_factor(const void *a, const void *b)
{
	double x = factor_of(a), y = factor_of(b);

	return (x > y) - (x < y);
}

/* ---- jobs of the same family ---- */

static bool add_term(struct buf *query, const struct advice_setting *setting)
{
	struct span key = setting->key;
	char number[33];

	if (!span_take(&key, SPAN("hp.")) || span_find_char(key, '"') >= 0 || span_find_char(setting->text, '"') >= 0 ||
		span_find_char(setting->text, '\\') >= 0)
		return false;
	buf_printf(query, "%shp.\"%.*s\"=\"", query->len ? " " : "", SPAN_ARGS(key));
	if (setting->text.len)
		buf_append_span(query, setting->text);
	else
		buf_append(query, number, json_format_double(setting->number, number));
	buf_append_char(query, '"');
	return true;
}

/* Jobs that name the same family or model; where none is named, those of the same hidden size and layers. */
static bool add_family(const struct advice_facts *facts, struct buf *query)
{
	const struct advice_setting *named = fit_settings_family(facts), *sizes[2];

	if (named)
		return add_term(query, named);
	fit_settings_sizes(facts, sizes);
	return sizes[0] && sizes[1] && add_term(query, sizes[0]) && add_term(query, sizes[1]);
}

static enum status read_like(struct fit_job *job, struct span text, int64_t now_ms, struct error *err)
{
	struct job_search search = {.sort = SPAN("-created"), .cursor = SPAN(""), .limit = LIKE_MAX};
	struct job_search_result found;
	struct query_node *query = NULL;
	size_t count = 0;
	bool is_known;

	TRY(query_parse(&query, text, now_ms, job->arena, err));
	search.query = query;
	TRY(store_search_jobs(job->reader, job->arena, &search, &found, err));
	struct advice_facts *facts = arena_alloc(job->arena, sizeof *facts);
	job->observations = arena_alloc(job->arena, (found.count + 1) * sizeof *job->observations);
	if (!facts || !job->observations)
		return error_no_memory(err);
	for (size_t i = 0; i < found.count; i++) {
		TRY(observe(job, &found.rows[i], facts, &job->observations[count], &is_known, err));
		count += is_known;
	}
	if (!count)
		return OK;
	qsort(job->observations, count, sizeof *job->observations, by_factor);
	job->observed.jobs = count;
	job->observed.factor =
		(factor_of(&job->observations[(count - 1) / 2]) + factor_of(&job->observations[count / 2])) / 2;
	return OK;
}

enum status fit_job_read(struct fit_job *job, const struct job_row *row, int64_t now_ms, struct error *err)
{
	AUTO_DONE(buf) query = BUF_INIT(QUERY_BYTES);

	job->facts = arena_alloc(job->arena, sizeof *job->facts);
	if (!job->facts)
		return error_no_memory(err);
	TRY(read_settings(job, row, job->document, job->facts, &job->settings, err));
	job->observed = (struct fit_observed){.factor = NAN};
	if (!add_family(job->facts, &query) || query.failure)
		return OK;
	return read_like(job, buf_span(&query), now_ms, err);
}

/* ---- where it runs ---- */

void fit_job_place(const struct fit_job *job, struct fit_place *out)
{
	const struct json *resources = json_get(job->document, "ResourceConfig");

	*out = (struct fit_place){.type = json_string_of(json_get(resources, "InstanceType"))};
	if (!json_number_of(json_get(resources, "InstanceCount"), &out->count))
		out->count = NAN;
	fit_place_find(job->api, job->document, out);
}

/* ---- it ran out of memory ---- */

bool fit_is_out_of_memory(const struct incident_row *row)
{
	for (size_t i = 0; row->said && i < row->said->signature_count; i++)
		if (span_equal(row->said->signatures[i], SPAN("cuda_oom")))
			return true;
	return false;
}

enum status fit_job_advise(struct api *api, struct store_reader *reader, struct arena *arena, int64_t job_id,
	int64_t now_ms, struct span *members, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO_DONE(buf) text = BUF_INIT(ADVICE_BYTES);
	struct json_writer w = json_writer_on(&text);
	struct job_row row;
	struct fit_place place;

	*members = SPAN("");
	TRY(store_read_job_by_id(reader, arena, job_id, &row, err));
	TRY(json_parse(&document, row.document, err));
	TRY(by_hand_settle(document, err));
	struct fit_job job = {.api = api, .reader = reader, .arena = arena, .document = document};
	TRY(fit_job_read(&job, &row, now_ms, err));
	fit_job_place(&job, &place);
	json_object(&w);
	fit_write_remedies(&w, &job.settings, &place, &job.observed, true);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	if (span_equal(buf_span(&text), SPAN("{\"would_fit\":[]}")))
		return OK;
	*members = arena_copy(arena, span_of(buf_span(&text).ptr + 1, text.len - 2)); /* without the braces */
	return members->ptr ? OK : error_no_memory(err);
}
