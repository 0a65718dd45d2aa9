#include "read/logs/nccl_runs.h"

#include "base/arena.h"

#include <math.h>

enum { LINES_MAX = 10000, LINE_BYTES = 400 };

struct reading {
	struct arena *arena; /* of what is kept: lines that were found are not */
	struct span job;
	size_t first; /* runs before it are of other jobs */
	struct nccl_runs *out;
	bool is_short_of_memory;
};

static struct span keep(struct reading *r, struct span text)
{
	struct span kept = arena_copy(r->arena, text);

	r->is_short_of_memory |= !kept.ptr;
	return kept.ptr ? kept : SPAN("");
}

static struct nccl_run *find_last(const struct reading *r, uint32_t stream_id)
{
	for (size_t i = r->out->count; i-- > r->first;)
		if (r->out->runs[i].stream_id == stream_id)
			return &r->out->runs[i];
	return NULL;
}

/* NULL: there are too many, or no memory. */
static struct nccl_run *begin(struct reading *r, const struct log_hit *hit)
{
	struct nccl_line *rows;

	if (r->out->count == NCCL_RUNS_MAX) {
		r->out->is_partial = true;
		return NULL;
	}
	if (!(rows = arena_alloc(r->arena, NCCL_ROWS_MAX * sizeof *rows))) {
		r->is_short_of_memory = true;
		return NULL;
	}
	struct nccl_run *run = &r->out->runs[r->out->count++];
	*run = (struct nccl_run){.job = r->job,
		.stream = keep(r, hit->stream),
		.stream_id = hit->place.stream_id,
		.line = hit->place.line,
		.ts_ms = hit->place.ts_ms,
		.test = SPAN(""),
		.rows = rows,
		.average = NAN,
		.wrong = NAN};
	return run;
}

static void add_host(struct reading *r, struct nccl_run *run, struct span host)
{
	run->ranks++;
	for (size_t i = 0; i < run->host_count; i++)
		if (span_equal(run->hosts[i], host))
			return;
	if (run->host_count < NCCL_HOSTS_MAX)
		run->hosts[run->host_count++] = keep(r, host);
}

static void add_row(struct reading *r, struct nccl_run *run, const struct nccl_line *line)
{
	struct nccl_line *row = &run->rows[run->row_count++];

	*row = *line;
	row->name = SPAN("");
	row->type = keep(r, line->type);
	row->redop = keep(r, line->redop);
}

/* Does the line belong to a run after this one? Behind the average only "concluded" and the checks' sums are its own. */
static bool opens_next(const struct nccl_run *run, const struct nccl_line *line)
{
	if (line->kind == NCCL_BEGIN)
		return run->is_over || run->row_count || run->ranks;
	if (line->kind == NCCL_NAME)
		return run->row_count && !run->is_over;
	return run->is_over && (line->kind == NCCL_ROW || line->kind == NCCL_RANK);
}

static void take(struct reading *r, const struct log_hit *hit)
{
	struct nccl_run *run = find_last(r, hit->place.stream_id);
	struct nccl_line line;

	nccl_line_read(hit->text, &line);
	bool is_concluded = span_find(hit->text, SPAN("concluded")) >= 0;
	if (line.kind == NCCL_OTHER || (line.kind == NCCL_NAME && is_concluded && !run))
		return;
	if (!run || (!is_concluded && (opens_next(run, &line) || (line.kind == NCCL_NAME && run->is_over))))
		run = begin(r, hit);
	if (!run)
		return;
	if (line.kind == NCCL_ROW && run->row_count < NCCL_ROWS_MAX)
		add_row(r, run, &line);
	else if (line.kind == NCCL_RANK)
		add_host(r, run, line.name);
	else if (line.kind == NCCL_NAME)
		run->test = keep(r, line.name);
	else if (line.kind == NCCL_WRONG)
		run->wrong = line.value;
	else if (line.kind == NCCL_AVERAGE) {
		run->average = line.value;
		run->is_over = true;
	}
}

/* A command that printed nothing is no run. */
static void drop_empty(struct reading *r)
{
	size_t kept = r->first;

	for (size_t i = r->first; i < r->out->count; i++)
		if (r->out->runs[i].row_count)
			r->out->runs[kept++] = r->out->runs[i];
	r->out->count = kept;
}

enum status nccl_runs_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t time_ms, const struct log_asker *asker, struct nccl_runs *out, struct error *err)
{
	struct reading reading = {.arena = arena, .job = job, .first = out->count, .out = out};
	AUTO(arena) found_in = arena_new();
	struct log_search_result found;
	struct log_search search = {.job = job,
		.stream = SPAN(""),
		.text = span_from(nccl_line_pattern),
		.is_regex = true,
		.oldest_first = true,
		.ticks = SPAN(""),
		.from_ms = INT64_MIN,
		.to_ms = INT64_MAX,
		.limit = LINES_MAX,
		.text_bytes = LINE_BYTES,
		.time_ms = time_ms,
		.asker = *asker};

	if (!found_in)
		return error_no_memory(err);
	TRY(log_search_run(pipeline, reader, found_in, &search, &found, err));
	for (size_t i = 0; i < found.count; i++)
		take(&reading, &found.hits[i]);
	drop_empty(&reading);
	out->is_partial |= found.is_partial || found.has_next;
	return reading.is_short_of_memory ? error_no_memory(err) : OK;
}
