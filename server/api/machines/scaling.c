/* How throughput grows with the number of nodes, over the jobs of a search. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "model/query.h"
#include "pipeline/goodput/goodput.h"
#include "query/query.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/search.h"

#include <math.h>
#include <stdlib.h>

enum { JOBS_MAX = 1000 };

struct scaled {
	struct span instance;
	struct span unit;
	int64_t nodes;
	double throughput;
	double devices; /* 0: not known */
};

static int by_size(const void *a, const void *b)
{
	const struct scaled *x = a, *y = b;
	size_t least = x->instance.len < y->instance.len ? x->instance.len : y->instance.len;
	int order = least ? memcmp(x->instance.ptr, y->instance.ptr, least) : 0;

	if (order || x->instance.len != y->instance.len)
		return order ? order : x->instance.len < y->instance.len ? -1 : 1;
	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return (x->throughput > y->throughput) - (x->throughput < y->throughput);
}

/* Jobs without one say nothing of scaling. */
static const struct summary_row *find_throughput(const struct summary_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].main_role == ROLE_THROUGHPUT && summary_has_finite(&rows[i].summary))
			return &rows[i];
	return NULL;
}

static enum status read_job(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	struct scaled *out, bool *is_there, struct error *err)
{
	struct summary_row *rows;
	struct job_counts counts;
	struct goodput_row goodput;
	double devices;
	size_t count;

	*is_there = false;
	TRY(store_read_summaries(worker->reader, arena, row->job_id, &counts, &rows, &count, err));
	TRY(store_read_goodput(worker->reader, arena, row->job_id, &goodput, err));
	const struct summary_row *throughput = find_throughput(rows, count);
	if (!throughput || goodput.nodes <= 0)
		return OK;
	TRY(goodput_read_devices(worker->api->options.pipeline, worker->reader, arena, row, &devices, err));
	*is_there = true;
	*out = (struct scaled){
		goodput.instance, throughput->unit, goodput.nodes, summary_mean(&throughput->summary), devices};
	return OK;
}

/* Jobs first..end are of one type and number of nodes. *base: a node's throughput at the type's smallest number. */
static void write_group(struct json_writer *w, const struct scaled *first, size_t count, double *base)
{
	double median = (first[(count - 1) / 2].throughput + first[count / 2].throughput) / 2;
	double each = median / (double)first->nodes;

	*base = *base > 0 ? *base : each;
	json_object(w);
	json_put_span(w, "instance", first->instance);
	json_put_i64(w, "nodes", first->nodes);
	json_put_i64(w, "jobs", (int64_t)count);
	if (first->unit.len)
		json_put_span(w, "unit", first->unit);
	json_put_double(w, "throughput", median);
	json_put_double(w, "throughput_per_node", each);
	if (first->devices > 0)
		json_put_double(w, "throughput_per_device", median / first->devices);
	json_put_double(w, "percent_of_linear", *base > 0 ? 100 * each / *base : NAN);
	json_object_end(w);
}

static void write_groups(struct json_writer *w, const struct scaled *jobs, size_t count)
{
	double base = 0;

	json_key(w, "scaling");
	json_array(w);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && span_equal(jobs[end].instance, jobs[i].instance) &&
				  jobs[end].nodes == jobs[i].nodes;
			end++)
			;
		if (i && !span_equal(jobs[i].instance, jobs[i - 1].instance))
			base = 0;
		write_group(w, &jobs[i], end - i, &base);
	}
	json_array_end(w);
}

static enum status write_scaling(struct api_worker *worker, struct arena *arena, const struct query_node *query,
	struct json_writer *w, struct error *err)
{
	struct job_search search = {
		.query = query, .sort = SPAN("-created"), .cursor = SPAN(""), .limit = JOBS_MAX, .wants_total = false};
	struct job_search_result found;
	size_t count = 0;
	bool is_there;

	TRY(store_search_jobs(worker->reader, arena, &search, &found, err));
	struct scaled *jobs = arena_alloc(arena, (found.count + 1) * sizeof *jobs);
	if (!jobs)
		return error_no_memory(err);
	for (size_t i = 0; i < found.count; i++) {
		TRY(read_job(worker, arena, &found.rows[i], &jobs[count], &is_there, err));
		count += is_there;
	}
	if (count)
		qsort(jobs, count, sizeof *jobs, by_size);
	json_object(w);
	write_groups(w, jobs, count);
	json_put_i64(w, "jobs", (int64_t)count);
	json_put_bool(w, "partial", found.next_cursor.len != 0);
	json_object_end(w);
	return OK;
}

enum status api_scaling(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct query_node *query = NULL;
	struct span text = SPAN("");

	(void)context;
	TRY(api_arena(&arena, err));
	http_request_query(request, "q", &text);
	TRY(query_parse(&query, text, http_request_arrival_ms(request), arena, err));
	TRY(write_scaling(worker, arena, query, &w, err));
	return buf_status(&response->body, err);
}
