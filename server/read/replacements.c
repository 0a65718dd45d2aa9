#include "read/replacements.h"

#include "base/json/json_read.h"
#include "read/logs/lines.h"
#include "read/said_faults.h"
#include "read/view.h"
#include "state/known_fault.h"
#include "store/run.h"
#include "store/stream_hosts.h"

#include <stdlib.h>

enum {
	FAULTS_MAX = 1000, /* of one machine, the newest */
	INCIDENTS_MAX = 1000, /* of the job, the newest */
	FACTS_BYTES = 64 * 1024,
	MOVED_MS = 60 * 60 * 1000, /* so soon is a machine that went on in another stream heard there */
	NEEDED_MIN_MS = 60 * 60 * 1000,
	NEEDED_MAX_MS = 24 * 60 * 60 * 1000
};

struct of_job {
	struct job_view view;
	struct stream_host_row *hosts; /* by stream and number */
	size_t host_count;
	struct incident_row *incidents;
	size_t incident_count;
};

struct reading {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct of_job own;
	struct of_job before; /* of the job that it goes on with; without hosts: it states none */
};

/*
 * A machine that went, and one that came: in the simplest case one row of stream_hosts behind another. Where ranks were numbered anew, healthy
 * machines lie in between, each of which went on in the stream of the one before it.
 */
struct change {
	const struct of_job *from; /* before's job; after's is the own one */
	const struct stream_host_row *before, *after;
	const struct stream_view *stream, *to_stream; /* before's, after's */
	size_t moved;
	struct change *next; /* by which the machine that came had left its own stream; NULL: it is new */
	bool is_joined; /* it is such a next one */
};

const char *fault_followed_name(enum fault_followed followed)
{
	static const char *const names[] = {[FAULT_TOO_EARLY] = "too early",
		[FAULT_NOT_SEEN_AGAIN] = "not seen again",
		[FAULT_ON_MACHINE] = "machine",
		[FAULT_IN_STREAM] = "stream",
		[FAULT_JOB_ENDED] = "not provable",
		[FAULT_REPLACED_AGAIN] = "not provable"};

	return names[followed];
}

static const struct stream_view *find_stream(const struct job_view *view, uint32_t stream_id)
{
	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].stream_id == stream_id)
			return &view->streams[i];
	return NULL;
}

static int newest_first(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->after->from_ms != y->after->from_ms)
		return x->after->from_ms < y->after->from_ms ? 1 : -1;
	if (x->after->stream_id != y->after->stream_id)
		return x->after->stream_id < y->after->stream_id ? -1 : 1;
	return x->after->number < y->after->number ? 1 : -1;
}

/* ---- who only moved ---- */

static int64_t begin_of(const struct stream_host_row *row)
{
	return row->from_ms ? row->from_ms : row->since_ms;
}

static int by_machine_that_left(const void *a, const void *b)
{
	return span_compare((*(struct change *const *)a)->before->host, (*(struct change *const *)b)->before->host);
}

/* The change by which the machine that came in this one had left another stream at that time; the nearest. NULL: it is new. */
static struct change *find_left(struct change *const *sorted, size_t count, const struct change *came)
{
	struct change *best = NULL;
	int64_t best_ms = MOVED_MS;
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (span_compare(sorted[middle]->before->host, came->after->host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && span_equal(sorted[low]->before->host, came->after->host); low++) {
		int64_t away_ms = llabs(begin_of(sorted[low]->after) - begin_of(came->after));
		if (away_ms > best_ms || sorted[low]->is_joined || sorted[low]->to_stream == came->to_stream)
			continue;
		best = sorted[low];
		best_ms = away_ms;
	}
	return best;
}

/* Changes that hang together by machines that moved are one; where all of them only changed places, none. */
static enum status join_moved(struct arena *arena, struct change *changes, size_t *count, struct error *err)
{
	struct change **sorted = arena_alloc(arena, (*count + 1) * sizeof *sorted);
	size_t kept = 0;

	if (!sorted)
		return error_no_memory(err);
	for (size_t i = 0; i < *count; i++)
		sorted[i] = &changes[i];
	qsort(sorted, *count, sizeof *sorted, by_machine_that_left);
	for (size_t i = 0; i < *count; i++)
		if ((changes[i].next = find_left(sorted, *count, &changes[i])))
			changes[i].next->is_joined = true;
	for (size_t i = 0; i < *count; i++) {
		struct change change = changes[i];
		if (change.is_joined)
			continue;
		for (const struct change *next = change.next; next; next = next->next, change.moved++) {
			change.after = next->after;
			change.to_stream = next->to_stream;
		}
		sorted[kept++] = arena_alloc(arena, sizeof change);
		if (!sorted[kept - 1])
			return error_no_memory(err);
		*sorted[kept - 1] = change;
	}
	for (size_t i = 0; i < kept; i++)
		changes[i] = *sorted[i];
	*count = kept;
	return OK;
}

static bool is_shared_stream(const struct of_job *in, size_t at)
{
	for (size_t i = at; i < in->host_count && in->hosts[i].stream_id == in->hosts[at].stream_id; i++)
		if (in->hosts[i].is_shared)
			return true;
	return false;
}

/* A machine of SageMaker that nobody names: JOB/algo-4-1700000000, another one in each job. */
static bool is_nameless(const struct of_job *job, struct span host)
{
	struct span rest = host;

	return !host.len || (span_take(&rest, job->view.row.name) && span_starts_with(rest, SPAN("/")));
}

/* Who sent a stream of this name last in the job before. NULL: nobody is known, or several did. */
static const struct stream_host_row *find_before(
	const struct of_job *before, const struct stream_view *like, const struct stream_view **stream)
{
	const struct stream_host_row *last = NULL;

	*stream = NULL;
	for (size_t i = 0; i < before->view.stream_count && !*stream; i++)
		if (span_equal(before->view.streams[i].name, like->name))
			*stream = &before->view.streams[i];
	for (size_t i = 0; *stream && i < before->host_count; i++)
		if (before->hosts[i].stream_id == (*stream)->stream_id)
			last = &before->hosts[i];
	return last && !last->is_shared && !is_nameless(before, last->host) ? last : NULL;
}

/* The first machine of a stream took it over from the last one of the job before, unless that still sent it. */
static void add_first(
	const struct reading *in, const struct stream_host_row *row, struct change *changes, size_t *count)
{
	const struct stream_view *to_stream = find_stream(&in->own.view, row->stream_id), *stream;

	if (!to_stream || row->is_shared || is_nameless(&in->own, row->host))
		return;
	const struct stream_host_row *before = find_before(&in->before, to_stream, &stream);
	if (before && !span_equal(before->host, row->host) && stream->last_ms && stream->last_ms <= to_stream->first_ms)
		changes[(*count)++] = (struct change){
			.from = &in->before, .before = before, .after = row, .stream = stream, .to_stream = to_stream};
}

/* Where a job goes on with fewer machines, one that moved into the place of another has left its own to nobody. */
static bool was_there_before(const struct of_job *before, struct span host)
{
	for (size_t i = 0; i < before->host_count; i++) {
		bool is_last =
			i + 1 == before->host_count || before->hosts[i + 1].stream_id != before->hosts[i].stream_id;
		if (is_last && !before->hosts[i].is_shared && span_equal(before->hosts[i].host, host))
			return true;
	}
	return false;
}

static void drop_moved(const struct of_job *before, struct change *changes, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (changes[i].from != before || !was_there_before(before, changes[i].after->host))
			changes[kept++] = changes[i];
	*count = kept;
}

static enum status find_changes(
	const struct reading *in, struct change **out, size_t *count, size_t *shared, struct error *err)
{
	const struct of_job *own = &in->own;

	*count = *shared = 0;
	*out = arena_alloc(in->arena, (own->host_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < own->host_count; i++) {
		const struct stream_host_row *row = &own->hosts[i], *before = row - 1;
		if (i == 0 || before->stream_id != row->stream_id) {
			*shared += is_shared_stream(own, i);
			add_first(in, row, *out, count);
			continue;
		}
		const struct stream_view *stream = find_stream(&own->view, row->stream_id);
		if (stream && !row->is_shared && !before->is_shared && !span_equal(row->host, before->host))
			(*out)[(*count)++] = (struct change){
				.from = own, .before = before, .after = row, .stream = stream, .to_stream = stream};
	}
	TRY(join_moved(in->arena, *out, count, err));
	drop_moved(&in->before, *out, count);
	qsort(*out, *count, sizeof **out, newest_first);
	return OK;
}

/* ---- when ---- */

static enum status read_time(
	const struct reading *in, const struct stream_view *stream, uint64_t number, int64_t *out, struct error *err)
{
	return lines_read_time(
		in->pipeline, in->reader, in->arena, in->own.view.row.name, stream->name, number, out, err);
}

/* Of a row that another machine's is behind. 0: the machine sent no line, or its last one was deleted. */
static enum status read_last_line(const struct reading *in, const struct stream_host_row *row,
	const struct stream_view *stream, int64_t *out, struct error *err)
{
	*out = 0;
	return row[1].from_line > row->from_line ? read_time(in, stream, row[1].from_line - 1, out, err) : OK;
}

/* Between two jobs: the whole stream of each says it. */
static void set_times_between(const struct change *change, struct replacement *out)
{
	out->last_ms = change->stream->last_ms;
	out->at_ms = change->to_stream->first_ms;
	out->took_ms = out->at_ms - out->last_ms;
}

static enum status set_times(
	const struct reading *in, const struct change *change, struct replacement *out, struct error *err)
{
	int64_t first_ms = 0;

	TRY(read_last_line(in, change->before, change->stream, &out->last_ms, err));
	/* What the ledger has is from before the times in the text were read. */
	if (change->after->from_ms)
		TRY(read_time(in, change->to_stream, change->after->from_line, &first_ms, err));
	out->at_ms = first_ms ? first_ms : change->after->from_ms ? change->after->from_ms : change->after->since_ms;
	out->is_by_arrival = !out->last_ms || !first_ms || out->last_ms > out->at_ms;
	out->took_ms =
		out->is_by_arrival ? change->after->since_ms - change->before->until_ms : out->at_ms - out->last_ms;
	return OK;
}

/* ---- why ---- */

/* One that takes a machine away goes before the others, the newest before older ones; what was dealt with is none. */
static const struct node_fault_row *find_fault(const struct reading *in, const struct change *change,
	const struct replacement *row, const struct node_fault_row *faults, size_t count)
{
	const struct node_fault_row *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct node_fault_row *fault = &faults[i];
		if (fault->job_id != change->from->view.row.job_id || fault->ts_ms > row->at_ms ||
			known_fault_is_nonfatal(in->pipeline, fault->signature))
			continue;
		if (!best || (fault->is_drain && !best->is_drain))
			best = fault;
	}
	return best;
}

static bool is_cleared_there(
	const struct reading *in, const struct incident_row *row, const struct json *facts, struct span host)
{
	struct span fault = json_string_of(json_get(facts, "fault"));
	struct node_fault_row *cleared;
	size_t count;

	if (store_read_cleared_faults(
		    in->reader, in->arena, host, row->incident.opened_ms, FAULTS_MAX, &cleared, &count, NULL) != OK)
		return false;
	for (size_t i = 0; i < count; i++)
		if (cleared[i].ts_ms == row->incident.opened_ms && span_equal(cleared[i].signature, fault))
			return true;
	return false;
}

/* It is about a machine, and not about this one. */
static bool is_of_another(
	const struct reading *in, const struct of_job *job, const struct incident_row *row, struct span host)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES);
	AUTO(json) facts = NULL;
	struct error err;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	if (text.failure || json_parse(&facts, buf_span(&text), &err) != OK)
		return false;
	struct span named = json_string_of(json_get(facts, "host"));
	if (named.len && !span_equal(named, host))
		return true;
	/* or of nobody, as somebody set it, here or in the job whose log told of it */
	return known_fault_is_cleared(in->arena, job->view.row.document, row) ||
	       (!json_string_of(json_get(facts, "stream")).len && is_cleared_there(in, row, facts, host));
}

/* What others saw of a machine that failed, which has an incident of its own. */
static bool is_part(const struct incident_row *row)
{
	return row->fold_id && row->incident.kind == INCIDENT_LOG_SIGNATURE;
}

static bool is_of_symptom(const struct reading *in, const struct incident_row *row)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES);
	AUTO(json) facts = NULL;

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	return !text.failure && json_parse(&facts, buf_span(&text), NULL) == OK &&
	       known_fault_is_symptom(in->pipeline, json_string_of(json_get(facts, "signature")));
}

/* Of this stream, or of the whole job. */
static const struct incident_row *find_incident(
	const struct reading *in, const struct change *change, int64_t from_ms, int64_t to_ms)
{
	const struct incident_row *best = NULL;

	for (size_t i = 0; i < change->from->incident_count; i++) {
		const struct incident_row *row = &change->from->incidents[i];
		bool is_near = row->incident.opened_ms >= from_ms && row->incident.opened_ms <= to_ms;
		bool is_its = row->stream_id == 0 || row->stream_id == change->before->stream_id;
		if (is_near && is_its && !is_part(row) && row->incident.severity > SEVERITY_INFO &&
			(!best || row->incident.severity > best->incident.severity) &&
			!is_of_another(in, change->from, row, change->before->host))
			best = row;
	}
	return best;
}

static enum status set_why(
	const struct reading *in, const struct change *change, struct replacement *out, struct error *err)
{
	int64_t from_ms = (out->last_ms ? out->last_ms : out->at_ms - out->took_ms) - FAULT_OF_MACHINE_MS;
	struct node_fault_row *faults;
	size_t count;

	TRY(store_read_node_faults(in->reader, in->arena, out->from_host, from_ms, FAULTS_MAX, &faults, &count, err));
	out->fault = find_fault(in, change, out, faults, count);
	if (!out->fault) {
		TRY(said_faults_read(in->pipeline, in->reader, in->arena, &change->from->view.row, out->from_host,
			from_ms, out->at_ms, &faults, &count, err));
		out->fault = find_fault(in, change, out, faults, count);
	}
	if (!out->fault)
		out->incident = find_incident(in, change, from_ms, out->at_ms);
	out->is_of_symptom = out->incident && is_of_symptom(in, out->incident);
	return OK;
}

/* ---- whither ---- */

/* The first stretch of the same fault behind the replacement. job_id 0: in any job. */
static const struct node_fault_row *find_again(
	const struct replacement *row, const struct node_fault_row *faults, size_t count, int64_t job_id)
{
	const struct node_fault_row *first = NULL;

	for (size_t i = 0; i < count; i++) /* the newest first */
		if (span_equal(faults[i].signature, row->fault->signature) && faults[i].ts_ms >= row->at_ms &&
			(!job_id || faults[i].job_id == job_id))
			first = &faults[i];
	return first;
}

static enum status find_said_again(const struct reading *in, const struct replacement *row, struct span host,
	const struct node_fault_row **out, struct error *err)
{
	struct node_fault_row *said;
	size_t count;

	TRY(said_faults_read(in->pipeline, in->reader, in->arena, &in->own.view.row, host, row->at_ms, INT64_MAX, &said,
		&count, err));
	*out = find_again(row, said, count, 0);
	return OK;
}

/* Behind the new machine in its stream; NULL: it is the last one there. */
static const struct stream_host_row *find_next(const struct reading *in, const struct change *change)
{
	const struct stream_host_row *next = change->after + 1, *end = in->own.hosts + in->own.host_count;

	return next == end || next->stream_id != change->after->stream_id ? NULL : next;
}

/* Log time of the new machine's last line so far. */
static enum status read_until(const struct reading *in, const struct change *change, int64_t *out, struct error *err)
{
	const struct stream_host_row *next = find_next(in, change);

	*out = change->to_stream->last_ms;
	if (!next)
		return OK;
	TRY(read_last_line(in, change->after, change->to_stream, out, err));
	if (!*out)
		*out = next->from_ms;
	return OK;
}

static enum status set_needed(
	const struct reading *in, const struct change *change, struct replacement *out, struct error *err)
{
	const struct stream_host_row *old = change->before;
	int64_t begin_ms = old->number && old->from_ms ? old->from_ms : change->stream->first_ms, until_ms;
	int64_t worked_ms = begin_ms ? out->fault->ts_ms - begin_ms : 0;

	TRY(read_until(in, change, &until_ms, err));
	out->observed_ms = until_ms > out->at_ms ? until_ms - out->at_ms : 0;
	out->needed_ms = worked_ms < NEEDED_MIN_MS   ? NEEDED_MIN_MS
			 : worked_ms > NEEDED_MAX_MS ? NEEDED_MAX_MS
						     : worked_ms;
	return OK;
}

static enum fault_followed not_again(
	const struct reading *in, const struct change *change, const struct replacement *row)
{
	return row->observed_ms >= row->needed_ms ? FAULT_NOT_SEEN_AGAIN
	       : find_next(in, change)            ? FAULT_REPLACED_AGAIN
	       : in->own.view.row.ended_ms        ? FAULT_JOB_ENDED
						  : FAULT_TOO_EARLY;
}

static enum status set_followed(
	const struct reading *in, const struct change *change, struct replacement *out, struct error *err)
{
	struct node_fault_row *old, *new;
	size_t old_count, new_count;
	struct job_row job;

	if (!out->fault)
		return OK;
	TRY(store_read_node_faults(
		in->reader, in->arena, out->from_host, out->at_ms, FAULTS_MAX, &old, &old_count, err));
	TRY(store_read_node_faults(in->reader, in->arena, out->to_host, out->at_ms, FAULTS_MAX, &new, &new_count, err));
	TRY(set_needed(in, change, out, err));
	const struct node_fault_row *on_machine = find_again(out, old, old_count, 0);
	const struct node_fault_row *in_stream = find_again(out, new, new_count, in->own.view.row.job_id);
	if (!on_machine)
		TRY(find_said_again(in, out, out->from_host, &on_machine, err));
	if (!in_stream)
		TRY(find_said_again(in, out, out->to_host, &in_stream, err));
	bool is_machine = on_machine && (!in_stream || on_machine->ts_ms < in_stream->ts_ms);
	out->again = is_machine ? on_machine : in_stream;
	out->again_job = SPAN("");
	if (!out->again) {
		out->followed = not_again(in, change, out);
		return OK;
	}
	out->followed = is_machine ? FAULT_ON_MACHINE : FAULT_IN_STREAM;
	if (store_read_job_by_id(in->reader, in->arena, out->again->job_id, &job, NULL) == OK)
		out->again_job = job.name; /* else it was deleted since */
	return OK;
}

static enum status judge(
	const struct reading *in, const struct change *change, struct replacement *out, struct error *err)
{
	*out = (struct replacement){.from_job_id = change->from->view.row.job_id,
		.from_job = change->from->view.row.name,
		.stream = change->stream->name,
		.to_stream = change->to_stream->name,
		.moved = change->moved,
		.from_host = change->before->host,
		.to_host = change->after->host,
		.line = change->after->from_line};
	if (change->from == &in->own)
		TRY(set_times(in, change, out, err));
	else
		set_times_between(change, out);
	TRY(set_why(in, change, out, err));
	return set_followed(in, change, out, err);
}

static enum status read_incidents(const struct reading *in, struct of_job *job, struct error *err)
{
	const struct incident_filter filter = {.has_all = true,
		.job_id = job->view.row.job_id,
		.state = -1,
		.kind = -1,
		.cursor = SPAN(""),
		.limit = INCIDENTS_MAX};
	struct span next;

	return store_read_incidents(in->reader, in->arena, &filter, &job->incidents, &job->incident_count, &next, err);
}

static enum status read_job(const struct reading *in, struct span name, struct of_job *out, struct error *err)
{
	TRY(view_read_job(in->pipeline, in->reader, in->arena, name, SPAN(""), SPAN(""), 0, &out->view, err));
	return store_read_stream_hosts(
		in->reader, in->arena, out->view.row.job_id, 0, &out->hosts, &out->host_count, err);
}

/* A fork's goes on as well: its machines were not replaced. */
static enum status read_before(struct reading *in, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(in->reader, in->arena, in->own.view.row.name, &links, &count, &at, err));
	if (!at || links[at].fork_from.len)
		return OK;
	enum status status = read_job(in, links[at - 1].job, &in->before, err);
	return status == ERR_NOT_FOUND ? OK : status; /* it was deleted just now */
}

enum status replacements_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, size_t limit, struct replacement_report *out, struct error *err)
{
	struct reading in = {.pipeline = pipeline, .reader = reader, .arena = arena};
	struct change *changes;
	size_t count;

	TRY(read_job(&in, job, &in.own, err));
	TRY(read_before(&in, err));
	*out = (struct replacement_report){.job = in.own.view.row.name, .job_id = in.own.view.row.job_id};
	TRY(find_changes(&in, &changes, &count, &out->shared, err));
	out->count = count < limit ? count : limit;
	out->left_out = count - out->count;
	out->rows = arena_alloc(arena, (out->count + 1) * sizeof *out->rows);
	if (!out->rows)
		return error_no_memory(err);
	if (count)
		TRY(read_incidents(&in, &in.own, err));
	if (count && in.before.host_count)
		TRY(read_incidents(&in, &in.before, err));
	for (size_t i = 0; i < out->count; i++)
		TRY(judge(&in, &changes[i], &out->rows[i], err));
	return OK;
}
