/* What whoever starts a failed job again needs to know: whether it is due, from which checkpoint, without which machines. docs/restarts.md. */
#include "read/restarts/restart_read.h"

#include "base/json/json_read.h"
#include "base/text/iso8601.h"
#include "model/jobs/by_hand.h"
#include "read/charts/continuity_read.h"
#include "read/checkpoint_place.h"
#include "read/checkpoints.h"
#include "read/node_ledger.h"
#include "state/execute.h"
#include "store/run.h"
#include "store/stream_hosts.h"
#include "store/transitions.h"

#include <stdio.h>

enum {
	VERSION = 1,
	HOSTS_MAX = 4096,
	WHY_MAX_BYTES = 700,
	CHECKPOINTS_MAX = 10000,
	DOCUMENT_MAX_BYTES = 16 << 20, /* settings may stand in it twice */
	MESSAGE_DOCUMENT_MAX_BYTES = 128 * 1024, /* as in the message of a job's state */
	MESSAGE_TEXT_MAX_BYTES = 16 * 1024
};

/* ---- what is known ---- */

static bool may_be_told(const struct restart *r, const struct run_link *link)
{
	return !r->team.len || span_equal(link->team, r->team);
}

static enum status read_run(struct restart *r, struct error *err)
{
	struct run_link *links;
	size_t count, at, from;

	TRY(store_read_run(r->reader, r->arena, r->view.row.name, &links, &count, &at, err));
	for (from = at; from > 0 && may_be_told(r, &links[from - 1]);)
		from--;
	links += from;
	count -= from;
	at -= from;
	r->links = links;
	r->link_count = at + 1;
	for (r->first = at; r->first > 0 && !links[r->first].fork_from.len;)
		r->first--;
	r->successor = SPAN("");
	for (size_t i = 0; i < count && !r->successor.len; i++) /* in a circle it may stand before the job */
		if (i != at && span_equal(links[i].continues, r->view.row.name) && !links[i].fork_from.len &&
			may_be_told(r, &links[i]))
			r->successor = links[i].job;
	return OK;
}

struct undone_times {
	struct undone *items;
	size_t count;
};

/* Of the newest job that printed a loss, and of those before it: each that is tried reads the whole run, so few are. What cannot be read
 * undoes nothing. */
static enum status read_undone(const struct restart *r, struct undone_times *out, struct error *err)
{
	enum { TRIED_MAX = 4 };
	bool has_loss = false;
	int tried = 0;

	out->count = 0;
	for (size_t i = r->link_count; i-- > 0 && !has_loss && tried < TRIED_MAX;) {
		if (!continuity_may_have_loss(r->pipeline, &r->links[i]))
			continue;
		tried++;
		enum status status = continuity_read_undone(
			r->pipeline, r->reader, r->arena, r->links[i].job, &out->items, &out->count, &has_loss, err);
		if (status == ERR_MEMORY || status == ERR_UNAVAILABLE)
			return status;
		if (status != OK)
			out->count = 0;
	}
	return OK;
}

/* It holds a state that the training has turned away from; what somebody added is what he means. */
static bool is_undone(const struct undone_times *undone, const struct checkpoint_row *row)
{
	for (size_t i = 0; i < undone->count; i++)
		if (!row->is_by_hand && row->ts_ms >= undone->items[i].from_ms && row->ts_ms < undone->items[i].to_ms)
			return true;
	return false;
}

/* rows: the newest first. */
static void take_checkpoint(struct restart *r, const struct undone_times *undone, size_t link,
	const struct checkpoint_row *rows, size_t count)
{
	for (size_t i = 0; i < count && r->checkpoint.step < 0; i++) {
		bool is_taken_back = is_undone(undone, &rows[i]), is_out = is_taken_back || rows[i].is_denied;
		if (!is_out) {
			r->checkpoint = rows[i];
			r->checkpoint_job = r->links[link].job;
		} else if (r->passed_over.step < 0) {
			r->passed_over = rows[i];
			r->passed_over_job = r->links[link].job;
			r->is_taken_back = is_taken_back;
		}
	}
}

static enum status read_checkpoint(struct restart *r, struct error *err)
{
	struct undone_times undone = {NULL, 0};
	struct checkpoint_row *rows;
	size_t count;

	r->checkpoint.step = r->passed_over.step = -1;
	TRY(read_undone(r, &undone, err));
	for (size_t i = r->link_count; i-- > 0 && r->checkpoint.step < 0;) {
		int64_t job_id = r->links[i].job_id;
		TRY(checkpoints_read_all(r->reader, r->arena, job_id, INT64_MAX, 1, &rows, &count, err));
		if (!count)
			continue;
		take_checkpoint(r, &undone, i, rows, count);
		if (r->checkpoint.step >= 0)
			continue;
		TRY(checkpoints_read(r->reader, r->arena, job_id, INT64_MAX, CHECKPOINTS_MAX, &rows, &count, err));
		take_checkpoint(r, &undone, i, rows, count);
	}
	return OK;
}

/* A checkpoint that is saved again is no progress: a run that fails always at one place may always save the same before it. */
static enum status find_progress(struct restart *r, struct error *err)
{
	r->progress_step = -1;
	for (size_t i = r->first; i < r->link_count; i++) {
		AUTO(arena) own = arena_new();
		struct checkpoint_row *rows;
		size_t count;
		if (!own)
			return error_no_memory(err);
		TRY(checkpoints_read(
			r->reader, own, r->links[i].job_id, INT64_MAX, CHECKPOINTS_MAX, &rows, &count, err));
		for (size_t k = 0; k < count; k++) { /* the newest first */
			bool is_again = rows[k].step == r->progress_step && i == r->progress_link;
			if (rows[k].step <= r->progress_step && !is_again)
				continue;
			r->progress_step = rows[k].step;
			r->progress_ms = rows[k].ts_ms;
			r->progress_link = i;
		}
	}
	return OK;
}

static bool is_in_row(const struct restart *r, size_t link, const struct transition_row *failure)
{
	if (link < r->first)
		return false;
	if (r->progress_step < 0 || link != r->progress_link)
		return r->progress_step < 0 || link > r->progress_link;
	return failure->start_ms >= r->progress_ms;
}

/* Each time that a job of the run was Failed. Behind a checkpoint of a higher step the count begins anew: the run gets on. */
static enum status count_failures(struct restart *r, struct error *err)
{
	for (size_t i = 0; i < r->link_count; i++) {
		struct transition_row *rows;
		size_t count;
		TRY(store_read_transitions(r->reader, r->arena, r->links[i].job_id, &rows, &count, err));
		for (size_t k = 0; k < count; k++) {
			if (!span_equal(rows[k].status, SPAN("Failed")))
				continue;
			r->failures++;
			r->failures_in_row += is_in_row(r, i, &rows[k]);
		}
	}
	return OK;
}

bool restart_is_extracted(const struct job_view *view)
{
	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].extracted_lines < view->streams[i].lines)
			return false;
	return true;
}

static enum status do_nothing(void *context, struct store_tx *tx, struct error *err)
{
	(void)context, (void)tx, (void)err;
	return OK;
}

/* What extraction found in the last lines waits for the writer: a checkpoint, or the fault that was the reason, would be missed. */
enum status restart_read(struct restart *r, struct error *err)
{
	if (restart_is_extracted(&r->view)) {
		TRY(writer_execute(r->pipeline, do_nothing, NULL, err));
		TRY(store_read_job_by_id(r->reader, r->arena, r->view.row.job_id, &r->view.row, err));
	}
	TRY(read_run(r, err));
	TRY(read_checkpoint(r, err));
	TRY(find_progress(r, err));
	return count_failures(r, err);
}

/* ---- the checkpoint ---- */

static void put_or_null(struct json_writer *w, const char *key, struct span text)
{
	json_key(w, key);
	if (text.len)
		json_span(w, text);
	else
		json_null(w);
}

static enum status write_checkpoint(const struct restart *r, struct json_writer *w, struct error *err)
{
	const struct checkpoint_row *row = &r->checkpoint;
	struct span text;

	json_key(w, "checkpoint");
	if (row->step < 0) {
		json_null(w);
		return OK;
	}
	TRY(checkpoint_read_text(r->pipeline, r->reader, r->arena, r->checkpoint_job, row, &text, err));
	json_object(w);
	json_put_span(w, "job", r->checkpoint_job);
	json_put_i64(w, "step", row->step);
	checkpoint_write_place(w, row);
	put_or_null(w, "path", checkpoint_path(row, text));
	put_or_null(w, "text", text);
	json_object_end(w);
	return OK;
}

/* The newest one of the run, where somebody says that nothing can go on from it, or a restart has taken it back. */
static void write_passed_over(const struct restart *r, struct json_writer *w)
{
	if (r->passed_over.step < 0)
		return;
	json_key(w, "passed_over");
	json_object(w);
	json_put_span(w, "job", r->passed_over_job);
	json_put_i64(w, "step", r->passed_over.step);
	checkpoint_write_place(w, &r->passed_over);
	if (r->is_taken_back)
		json_put_bool(w, "taken_back", true);
	json_object_end(w);
}

/* ---- machines ---- */

struct hosts {
	struct span *items; /* HOSTS_MAX at most */
	size_t count;
};

static void add_host(struct hosts *hosts, struct span host)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (span_equal(hosts->items[i], host))
			return;
	if (host.len && hosts->count < HOSTS_MAX)
		hosts->items[hosts->count++] = host;
}

static enum status add_hosts(const struct restart *r, int64_t job_id, struct hosts *hosts, struct error *err)
{
	struct stream_host_row *rows;
	size_t count;

	TRY(store_read_stream_hosts(r->reader, r->arena, job_id, 0, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		add_host(hosts, rows[i].host);
	return OK;
}

/* Its machines first, then those that the jobs of its run before it had: who has them again has their faults again. */
static enum status add_hosts_of_run(const struct restart *r, struct hosts *hosts, struct error *err)
{
	for (size_t i = r->link_count; i-- > 0;)
		if (r->links[i].job_id != r->view.row.job_id)
			TRY(add_hosts(r, r->links[i].job_id, hosts, err));
	return OK;
}

static enum status write_drained(const struct restart *r, struct hosts *hosts, struct json_writer *w, struct error *err)
{
	struct node_ledger ledger;

	TRY(add_hosts_of_run(r, hosts, err));
	TRY(node_ledger_read(&ledger, r->pipeline, r->reader, r->arena, SPAN(""), r->now_ms, err));
	/* And those that only lines of theirs name: of whoever saw it, as srun does. */
	for (size_t i = 0; i < ledger.fault_count; i++)
		for (size_t k = 0; k < r->link_count; k++)
			if (ledger.faults[i].job_id == r->links[k].job_id)
				add_host(hosts, ledger.faults[i].host);
	json_key(w, "drained");
	json_array(w);
	for (size_t i = 0; i < hosts->count; i++)
		TRY(node_write_if_drained(&ledger, hosts->items[i], w, err));
	json_array_end(w);
	return OK;
}

static enum status write_hosts(const struct restart *r, struct json_writer *w, struct error *err)
{
	struct hosts hosts = {.items = arena_alloc(r->arena, HOSTS_MAX * sizeof(struct span))};

	if (!hosts.items)
		return error_no_memory(err);
	TRY(add_hosts(r, r->view.row.job_id, &hosts, err));
	json_key(w, "hosts");
	json_array(w);
	for (size_t i = 0; i < hosts.count; i++)
		json_span(w, hosts.items[i]);
	json_array_end(w);
	return write_drained(r, &hosts, w, err);
}

/* ---- whether ---- */

static bool is_failed(const struct restart *r)
{
	return span_equal(r->view.row.status, SPAN("Failed"));
}

bool restart_is_due(const struct restart *r)
{
	return is_failed(r) && !r->successor.len;
}

static void write_due(const struct restart *r, struct json_writer *w)
{
	const struct job_row *job = &r->view.row;
	char why[WHY_MAX_BYTES];

	if (r->successor.len)
		snprintf(why, sizeof why, "job '%.*s' goes on with it already", SPAN_ARGS(r->successor));
	else if (!is_failed(r))
		snprintf(why, sizeof why, "it is %.*s, not Failed", SPAN_ARGS(job->status));
	else
		snprintf(why, sizeof why, "it failed%s%.*s", job->failure_reason.len ? ": " : "",
			SPAN_ARGS(span_cut(job->failure_reason, 500)));
	json_put_bool(w, "due", restart_is_due(r));
	json_put_text(w, "why", why);
	put_or_null(w, "continued_by", r->successor);
}

static void write_state(const struct restart *r, struct json_writer *w)
{
	const struct job_row *job = &r->view.row;

	json_put_i64(w, "version", VERSION);
	json_put_span(w, "job", job->name);
	json_put_span(w, "run", r->links[0].job);
	write_due(r, w);
	json_put_span(w, "status", job->status);
	put_or_null(w, "failure_reason", job->failure_reason);
	json_key(w, "ended_ms");
	if (job->ended_ms)
		json_i64(w, job->ended_ms);
	else
		json_null(w);
	json_put_i64(w, "failures", r->failures);
	json_put_i64(w, "failures_in_row", r->failures_in_row);
	json_put_bool(w, "extracted", restart_is_extracted(&r->view));
}

/* As it was told; but with the settings that somebody set right, which the next run is to have. */
static enum status settle_document(struct span document, struct buf *out, struct error *err)
{
	AUTO(json) settled = NULL;

	if (span_find(document, SPAN("\"by_hand\"")) < 0) {
		buf_append_span(out, document.len ? document : SPAN("{}"));
		return buf_status(out, err);
	}
	TRY(json_parse(&settled, document, err));
	TRY(by_hand_settle_settings(settled, err));
	json_print(settled, out);
	return buf_status(out, err);
}

enum status restart_write(const struct restart *r, size_t document_max_bytes, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_MAX_BYTES);

	write_state(r, w);
	TRY(write_checkpoint(r, w, err));
	write_passed_over(r, w);
	TRY(write_hosts(r, w, err));
	TRY(settle_document(r->view.row.document, &document, err));
	json_key(w, "document");
	if (document.len > document_max_bytes)
		json_null(w);
	else
		json_raw(w, buf_span(&document));
	return OK;
}

/* ---- as a message ---- */

enum status restart_write_message(const struct restart *r, struct span public_url, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) summary = BUF_INIT(MESSAGE_TEXT_MAX_BYTES);
	AUTO_DONE(buf) url = BUF_INIT(MESSAGE_TEXT_MAX_BYTES);
	struct json_writer w = json_writer_on(out);
	char now[ISO8601_BYTES];

	iso8601_format(r->now_ms, now);
	buf_printf(&summary, "a restart of %.*s is due", SPAN_ARGS(r->view.row.name));
	buf_append_span(&url, public_url);
	buf_append_text(&url, "/jobs/");
	buf_append_percent_encoded(&url, r->view.row.name);
	json_object(&w);
	json_put_text(&w, "type", "job.restart");
	json_put_text(&w, "timestamp", now);
	json_key(&w, "data");
	json_object(&w);
	TRY(restart_write(r, MESSAGE_DOCUMENT_MAX_BYTES, &w, err));
	json_put_span(&w, "summary", buf_span(&summary));
	json_put_span(&w, "url", buf_span(&url));
	json_object_end(&w);
	json_object_end(&w);
	return buf_status(out, err);
}
