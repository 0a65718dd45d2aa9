/* GET /api/v1/export?q=: the jobs of a search, whole, as NDJSON that POST /api/v1/import takes. By name: the same order anywhere. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "model/query.h"
#include "pipeline/carry/carry.h"
#include "store/search.h"

enum { PAGE_JOBS = 20 };

struct exporting {
	struct pipeline *pipeline;
	struct arena *arena; /* with itself */
	struct query_node *terms;
	struct arena *page_arena; /* of jobs and cursor */
	struct job_search_result page;
	size_t at; /* of the page */
	struct carry_export *job; /* NULL: between jobs */
};

static void exporting_free(void *state)
{
	struct exporting *exporting = state;

	carry_export_free(exporting->job);
	arena_free(exporting->page_arena);
	arena_free(exporting->arena);
}

static enum status read_page(struct exporting *exporting, struct api_worker *worker, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_search search = {.query = exporting->terms,
		.sort = SPAN("name"),
		.limit = PAGE_JOBS,
		.cursor = exporting->page.next_cursor};

	TRY(api_arena(&arena, err));
	TRY(store_search_jobs(worker->reader, arena, &search, &exporting->page, err));
	arena_free(exporting->page_arena);
	exporting->page_arena = arena;
	exporting->at = 0;
	arena = NULL;
	return OK;
}

/* One that was deleted since the page was read is not there, as if it had been deleted before. */
static enum status next_job(struct exporting *exporting, struct api_worker *worker, bool *is_end, struct error *err)
{
	*is_end = false;
	while (!exporting->job) {
		if (exporting->at == exporting->page.count) {
			if ((*is_end = !exporting->page.next_cursor.len))
				return OK;
			TRY(read_page(exporting, worker, err));
			continue;
		}
		struct span name = exporting->page.rows[exporting->at++].name;
		enum status status = carry_export_new(&exporting->job, exporting->pipeline, worker->reader, name, err);
		if (status != ERR_NOT_FOUND)
			TRY(status);
	}
	return OK;
}

static enum status exporting_more(void *state, void *context, struct buf *out, bool *is_done, struct error *err)
{
	struct exporting *exporting = state;
	struct api_worker *worker = context;
	bool is_end = false;

	while (!out->len && !is_end) {
		bool is_whole;
		TRY(next_job(exporting, worker, &is_end, err));
		if (is_end)
			break;
		TRY(carry_export_more(exporting->job, worker->reader, out, &is_whole, err));
		if (!is_whole)
			continue;
		carry_export_free(exporting->job);
		exporting->job = NULL;
	}
	*is_done = is_end;
	return OK;
}

static const struct http_producer_ops exporting_ops = {exporting_more, exporting_free};

enum status api_export(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	const struct api *api = context;
	AUTO(arena) arena = NULL;

	TRY(api_arena(&arena, err));
	struct exporting *exporting = arena_alloc(arena, sizeof *exporting);
	if (!exporting)
		return error_no_memory(err);
	*exporting = (struct exporting){
		.pipeline = api->options.pipeline, .arena = arena, .page = {.next_cursor = SPAN("")}};
	TRY(api_parse_query(api, request, arena, &exporting->terms, err));
	/* what is wrong with the search is a refusal, not a cut */
	TRY(read_page(exporting, worker, err));
	arena = NULL; /* the reply's from here on */
	response->content_type = "application/x-ndjson";
	http_response_produce(response, &exporting_ops, exporting);
	return OK;
}
