/* Bandwidth by size as nccl-tests printed it, against what the instance type can do and what others reach: docs/nodes.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "model/jobs/by_hand.h"
#include "query/query.h"
#include "read/logs/nccl_runs.h"
#include "read/search_jobs.h"
#include "store/jobs.h"
#include "store/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLEET_JOBS_MAX = 50, OTHERS_MIN = 3, QUERY_BYTES = 256, HOSTS_MAX = 1024, SLOW_RUNS_MIN = 2 };

static const double slow_share = 0.8; /* of the median of others */

struct links {
	double peer, network; /* GB/s; NaN: not known */
	struct span source;
};

/* What others reach where a row is. */
struct compared {
	double median; /* NaN: fewer than three do */
	size_t others;
};

struct measured {
	struct nccl_runs runs; /* the job's own, then those of others */
	size_t own;
	struct compared *compared; /* of rows, NCCL_ROWS_MAX a run */
	size_t jobs; /* others with runs */
	struct span type;
	struct links links;
};

/* ---- what the type can do ---- */

static double link_of(const struct json *entry, const char *key)
{
	double value;

	return json_number_of(json_get(entry, key), &value) && value > 0 ? value : NAN;
}

static void find_links(const struct json *limits, struct span type, struct links *out)
{
	struct span bare = span_starts_with(type, SPAN("ml.")) ? span_skip(type, 3) : type;

	*out = (struct links){NAN, NAN, json_string_of(json_get(limits, "links_source"))};
	for (const struct json *at = json_first(json_get(limits, "links")); at; at = json_next(at))
		if (span_equal(json_string_of(json_get(at, "type")), bare)) {
			out->peer = link_of(at, "peer_gb_s");
			out->network = link_of(at, "network_gb_s");
			return;
		}
}

/* NaN: the run does not say how many machines it was on, or the type is not known. */
static double limit_of(const struct links *links, const struct nccl_run *run)
{
	return run->host_count == 1 ? links->peer : run->host_count > 1 ? links->network : NAN;
}

/* ---- what others reach ---- */

/* A size of any run; one that is printed again counts by its first row. */
struct sample {
	const struct nccl_run *run;
	const struct nccl_line *row;
};

static const struct nccl_line *find_size(const struct nccl_run *run, int64_t size)
{
	for (size_t i = 0; i < run->row_count; i++)
		if (run->rows[i].size == size)
			return &run->rows[i];
	return NULL;
}

/* 0: of the same test, size and number of machines. */
static int compare_kinds(const struct sample *a, const struct sample *b)
{
	int order = span_compare(a->run->test, b->run->test);

	if (order)
		return order;
	if (a->run->host_count != b->run->host_count)
		return a->run->host_count < b->run->host_count ? -1 : 1;
	return (a->row->size > b->row->size) - (a->row->size < b->row->size);
}

static int by_kind_and_value(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int order = compare_kinds(x, y);

	return order ? order : (x->row->out.busbw > y->row->out.busbw) - (x->row->out.busbw < y->row->out.busbw);
}

static struct compared *place_of(const struct measured *m, const struct nccl_run *run, const struct nccl_line *row)
{
	return &m->compared[(size_t)(run - m->runs.runs) * NCCL_ROWS_MAX + (size_t)(row - run->rows)];
}

/* Of one kind, by value: each is compared with all others, among which its own place is passed over. */
static void compare_kind(const struct measured *m, const struct sample *samples, size_t count)
{
	size_t others = count - 1;

	for (size_t own = 0; own < count; own++) {
		size_t low = others ? (others - 1) / 2 : 0, high = others / 2;
		double median = NAN;
		if (others >= OTHERS_MIN)
			median = (samples[low + (low >= own)].row->out.busbw +
					 samples[high + (high >= own)].row->out.busbw) /
				 2;
		*place_of(m, samples[own].run, samples[own].row) = (struct compared){median, others};
	}
}

static enum status compare_all(struct measured *m, struct arena *arena, struct error *err)
{
	size_t most = m->runs.count * NCCL_ROWS_MAX, count = 0;
	struct sample *samples = arena_alloc(arena, (most + 1) * sizeof *samples);

	m->compared = arena_alloc(arena, (most + 1) * sizeof *m->compared);
	if (!samples || !m->compared)
		return error_no_memory(err);
	for (size_t i = 0; i < m->runs.count; i++)
		for (size_t j = 0; j < m->runs.runs[i].row_count; j++) {
			const struct nccl_run *run = &m->runs.runs[i];
			if (find_size(run, run->rows[j].size) == &run->rows[j])
				samples[count++] = (struct sample){run, &run->rows[j]};
		}
	if (count)
		qsort(samples, count, sizeof *samples, by_kind_and_value);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !compare_kinds(&samples[i], &samples[end]); end++)
			;
		compare_kind(m, &samples[i], end - i);
	}
	return OK;
}

static struct compared compared_of(const struct measured *m, const struct nccl_run *run, const struct nccl_line *row)
{
	return *place_of(m, run, find_size(run, row->size));
}

/* The largest size that others were measured with, too, if the run is slow there; NULL: it is not. */
static const struct nccl_line *find_slow(const struct measured *m, const struct nccl_run *run, double *median)
{
	const struct nccl_line *largest = NULL;

	for (size_t i = 0; i < run->row_count; i++) {
		double its = compared_of(m, run, &run->rows[i]).median;
		if (isnan(its) || (largest && run->rows[i].size < largest->size))
			continue;
		largest = &run->rows[i];
		*median = its;
	}
	return largest && largest->out.busbw < slow_share * *median ? largest : NULL;
}

/* The newest jobs of the type whose log has a run that came to its end. */
static enum status find_others(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct http_request *request, struct measured *m, struct job_search_result *out, struct error *err)
{
	struct job_search search = {.sort = SPAN("-created"), .cursor = SPAN(""), .limit = FLEET_JOBS_MAX};
	AUTO(job_log_search) logs = NULL;
	struct query_node *query = NULL;
	char text[QUERY_BYTES];
	bool is_partial;

	*out = (struct job_search_result){0};
	if (!m->type.len || m->type.len > QUERY_BYTES / 2 || span_find_char(m->type, '"') >= 0 ||
		span_find_char(m->type, '\\') >= 0)
		return OK;
	snprintf(text, sizeof text, "instance=\"%.*s\" log:\"Avg bus bandwidth\"", SPAN_ARGS(m->type));
	TRY(query_parse(&query, span_from(text), http_request_arrival_ms(request), arena, err));
	search.query = query;
	struct job_log_search_options options = {
		api->options.pipeline, reader, query, api->options.search_ms, api_asker(api, request)};
	TRY(job_log_search_new(&logs, &options, err));
	TRY(job_log_search_page(logs, arena, &search, out, &is_partial, err));
	m->runs.is_partial |= is_partial;
	return OK;
}

static enum status read_others(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct http_request *request, struct measured *m, struct error *err)
{
	const struct log_asker asker = api_asker(api, request);
	int64_t until_ms = clock_mono_ms() + api->options.search_ms;
	struct job_search_result found;

	TRY(find_others(api, reader, arena, request, m, &found, err));
	for (size_t i = 0; i < found.count; i++) {
		int64_t left_ms = until_ms - clock_mono_ms();
		size_t before = m->runs.count;
		if (found.rows[i].job_id == row->job_id)
			continue;
		if (left_ms <= 0 || m->runs.count == NCCL_RUNS_MAX) {
			m->runs.is_partial = true;
			break;
		}
		TRY(nccl_runs_read(
			api->options.pipeline, reader, arena, found.rows[i].name, left_ms, &asker, &m->runs, err));
		m->jobs += m->runs.count > before;
	}
	return OK;
}

/* ---- the answer ---- */

static void write_half(struct json_writer *w, const char *key, const struct nccl_half *half)
{
	json_key(w, key);
	json_object(w);
	api_put_known(w, "time_us", half->time_us);
	api_put_known(w, "algbw", half->algbw);
	api_put_known(w, "busbw", half->busbw);
	api_put_known(w, "wrong", half->wrong);
	json_object_end(w);
}

static void write_row(
	struct json_writer *w, const struct measured *m, const struct nccl_run *run, const struct nccl_line *row)
{
	struct compared compared = compared_of(m, run, row);

	json_object(w);
	json_put_i64(w, "size", row->size);
	json_put_span(w, "type", row->type);
	json_put_span(w, "redop", row->redop);
	write_half(w, "out_of_place", &row->out);
	write_half(w, "in_place", &row->in);
	api_put_known(w, "share_of_limit", row->out.busbw / limit_of(&m->links, run));
	api_put_known(w, "median_busbw", compared.median);
	json_put_i64(w, "compared", (int64_t)compared.others);
	json_object_end(w);
}

static void write_hosts(struct json_writer *w, const struct nccl_run *run)
{
	json_key(w, "hosts");
	json_array(w);
	for (size_t i = 0; i < run->host_count; i++)
		json_span(w, run->hosts[i]);
	json_array_end(w);
}

static void put_test(struct json_writer *w, const struct nccl_run *run)
{
	json_key(w, "test");
	if (run->test.len)
		json_span(w, run->test);
	else
		json_null(w);
}

static void write_run(struct json_writer *w, const struct measured *m, const struct nccl_run *run)
{
	double median;

	json_object(w);
	json_put_span(w, "stream", run->stream);
	json_put_i64(w, "line", (int64_t)run->line);
	json_put_i64(w, "ts_ms", run->ts_ms);
	put_test(w, run);
	write_hosts(w, run);
	json_put_i64(w, "ranks", (int64_t)run->ranks);
	api_put_known(w, "average_busbw", run->average);
	api_put_known(w, "wrong", run->wrong);
	api_put_known(w, "limit_gb_s", limit_of(&m->links, run));
	json_put_bool(w, "slow", find_slow(m, run, &median) != NULL);
	json_key(w, "rows");
	json_array(w);
	for (size_t i = 0; i < run->row_count; i++)
		write_row(w, m, run, &run->rows[i]);
	json_array_end(w);
	json_object_end(w);
}

/* The machines of each run that is slow: of two the pair. */
static void write_slow(struct json_writer *w, const struct measured *m)
{
	json_key(w, "slow");
	json_array(w);
	for (size_t i = 0; i < m->own; i++) {
		const struct nccl_run *run = &m->runs.runs[i];
		double median;
		const struct nccl_line *row = find_slow(m, run, &median);
		if (!row)
			continue;
		json_object(w);
		write_hosts(w, run);
		put_test(w, run);
		json_put_i64(w, "size", row->size);
		json_put_double(w, "busbw", row->out.busbw);
		json_put_double(w, "median_busbw", median);
		json_put_double(w, "share", row->out.busbw / median);
		json_object_end(w);
	}
	json_array_end(w);
}

struct machine {
	struct span host;
	int64_t runs, slow_runs;
};

static void count_run(struct machine *machines, size_t *count, struct span host, bool is_slow)
{
	size_t i = 0;

	while (i < *count && !span_equal(machines[i].host, host))
		i++;
	if (i == HOSTS_MAX)
		return;
	if (i == *count)
		machines[(*count)++] = (struct machine){.host = host};
	machines[i].runs++;
	machines[i].slow_runs += is_slow;
}

/* A machine is suspect when each of its runs is slow, two at least, and others of the job are not slow. */
static enum status write_machines(
	struct json_writer *w, const struct measured *m, struct arena *arena, struct error *err)
{
	struct machine *machines = arena_alloc(arena, HOSTS_MAX * sizeof *machines);
	size_t count = 0, slow = 0;
	double median;

	if (!machines)
		return error_no_memory(err);
	for (size_t i = 0; i < m->own; i++) {
		const struct nccl_run *run = &m->runs.runs[i];
		bool is_slow = find_slow(m, run, &median) != NULL;
		slow += is_slow;
		for (size_t k = 0; k < run->host_count; k++)
			count_run(machines, &count, run->hosts[k], is_slow);
	}
	json_key(w, "machines");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_span(w, "host", machines[i].host);
		json_put_i64(w, "runs", machines[i].runs);
		json_put_i64(w, "slow_runs", machines[i].slow_runs);
		json_put_bool(w, "suspect",
			machines[i].slow_runs >= SLOW_RUNS_MIN && machines[i].slow_runs == machines[i].runs &&
				slow < m->own);
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

static enum status write_answer(
	struct json_writer *w, const struct measured *m, struct span job, struct arena *arena, struct error *err)
{
	json_object(w);
	json_put_span(w, "job", job);
	json_key(w, "instance_type");
	if (m->type.len)
		json_span(w, m->type);
	else
		json_null(w);
	json_key(w, "limits");
	json_object(w);
	api_put_known(w, "peer_gb_s", m->links.peer);
	api_put_known(w, "network_gb_s", m->links.network);
	json_put_span(w, "source", m->links.source);
	json_object_end(w);
	json_key(w, "runs");
	json_array(w);
	for (size_t i = 0; i < m->own; i++)
		write_run(w, m, &m->runs.runs[i]);
	json_array_end(w);
	write_slow(w, m);
	TRY(write_machines(w, m, arena, err));
	json_put_i64(w, "compared_jobs", (int64_t)m->jobs);
	json_put_bool(w, "partial", m->runs.is_partial);
	json_object_end(w);
	return OK;
}

enum status api_job_nccl(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	const struct log_asker asker = api_asker(api, request);
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	AUTO(json) limits = NULL;
	struct json_writer w = api_reply(response);
	struct measured measured = {0};
	struct job_row row;

	TRY(api_arena(&arena, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &row, err));
	TRY(json_parse(&document, row.document, err));
	TRY(json_parse(&limits, api->options.limits, err));
	TRY(by_hand_settle(document, err));
	measured.runs.runs = arena_alloc(arena, NCCL_RUNS_MAX * sizeof *measured.runs.runs);
	if (!measured.runs.runs)
		return error_no_memory(err);
	measured.type = json_string_of(json_get_path(document, "ResourceConfig.InstanceType"));
	find_links(limits, measured.type, &measured.links);
	TRY(nccl_runs_read(
		api->options.pipeline, reader, arena, row.name, api->options.search_ms, &asker, &measured.runs, err));
	measured.own = measured.runs.count;
	if (measured.own)
		TRY(read_others(api, reader, arena, &row, request, &measured, err));
	TRY(compare_all(&measured, arena, err));
	TRY(write_answer(&w, &measured, row.name, arena, err));
	return buf_status(&response->body, err);
}
