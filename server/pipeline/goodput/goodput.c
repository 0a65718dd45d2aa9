#include "pipeline/goodput/goodput.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/jobs/by_hand.h"
#include "model/jobs/failure.h"
#include "model/incident.h"
#include "pipeline/goodput/goodput_said.h"
#include "pipeline/life/life.h"
#include "pipeline/life/pools.h"
#include "read/charts/derivation.h"
#include "read/charts/run_inputs.h"
#include "state/audit.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/known_fault.h"
#include "state/patience.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/tokens.h"

#include <math.h>
#include <stdio.h>

enum {
	BATCH = 32, /* jobs in one transaction */
	BATCH_MS = 100, /* so long, then others' work goes on */
	SWEEP = 500,
	PATIENCE = 16, /* what was silent for long is looked at more rarely */
	RETRY_MS = 60 * 60 * 1000, /* of a job whose data is damaged */
	PRICES_MAX_BYTES = 4 << 20,
	DOCUMENT_MAX_BYTES = 4 << 20,
	NAMED_MAX = 1000000
};

/* Attributes of documents. */
#define PRICE_KEY SPAN("by_hand.price_per_hour")
#define CURRENCY_KEY SPAN("by_hand.price_currency")

#define PRICES_KEY "prices"
#define SWEEP_KEY "goodput.sweep"

/* ---- prices ---- */

enum status goodput_read_prices(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct price_list *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct span text;

	TRY(store_read_setting(reader, arena, PRICES_KEY, &text, err));
	TRY(json_parse(&document, text.len ? text : pipeline->options.prices, err));
	return price_list_read(out, document, arena, err);
}

struct prices_change {
	struct pipeline *pipeline;
	struct span text, currency;
};

/* Prices that were set by hand are of the currency that the list had then; of the first list's, where there was none. */
static enum status name_currencies(struct store_tx *tx, struct arena *arena, struct span currency, struct error *err)
{
	struct span *jobs, list;
	size_t count;

	TRY(store_read_setting(store_tx_reader(tx), arena, PRICES_KEY, &list, err));
	if (!list.len)
		return OK;
	TRY(store_read_jobs_of_key(store_tx_reader(tx), arena, PRICE_KEY, CURRENCY_KEY, NAMED_MAX, &jobs, &count, err));
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
		AUTO(arena) own = arena_new();
		AUTO(json) document = NULL;
		struct job_row row;
		if (!own)
			return error_no_memory(err);
		TRY(store_read_job(store_tx_reader(tx), own, jobs[i], &row, err));
		TRY(json_parse(&document, row.document, err));
		TRY(by_hand_name_currency(document, currency, err));
		json_print(document, &text);
		TRY(buf_status(&text, err));
		row.document = buf_span(&text);
		TRY(pools_put_job(tx, &row, err));
	}
	return OK;
}

enum status goodput_name_currency(
	struct store_reader *reader, struct arena *arena, struct span *document, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);
	AUTO(json) prices = NULL;
	AUTO(json) named = NULL;
	struct span list, copy;
	struct by_hand by;

	TRY(store_read_setting(reader, arena, PRICES_KEY, &list, err));
	TRY(json_parse(&named, *document, err));
	by_hand_read(&by, named);
	if (!list.len || isnan(by.price_per_hour) || by.price_currency.len)
		return OK;
	TRY(json_parse(&prices, list, err));
	TRY(by_hand_name_currency(named, json_string_of(json_get(prices, "currency")), err));
	json_print(named, &text);
	TRY(buf_status(&text, err));
	copy = arena_copy(arena, buf_span(&text));
	if (!copy.ptr)
		return error_no_memory(err);
	*document = copy;
	return OK;
}

enum status goodput_count_other_currencies(
	struct store_reader *reader, const struct price_list *list, uint64_t *jobs, struct error *err)
{
	return store_count_jobs_of_other_value(reader, CURRENCY_KEY, list->currency, PRICE_KEY, jobs, err);
}

static enum status write_prices(void *context, struct store_tx *tx, struct error *err)
{
	const struct prices_change *change = context;
	AUTO(arena) arena = arena_new();
	struct price_list before;
	struct span known;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(store_tx_reader(tx), arena, PRICES_KEY, &known, err));
	if (span_equal(known, change->text))
		return OK; /* the file of the start before: nothing is to be counted anew */
	TRY(goodput_read_prices(change->pipeline, store_tx_reader(tx), arena, &before, err));
	if (!span_equal(before.currency, change->currency)) {
		TRY(store_name_deleted_costs(tx, before.currency, err));
		TRY(name_currencies(tx, arena, before.currency, err));
	}
	TRY(store_put_setting(tx, PRICES_KEY, change->text, err));
	return store_put_setting(tx, SWEEP_KEY, SPAN("0"), err);
}

enum status goodput_put_prices(struct pipeline *pipeline, const struct json *document, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(PRICES_MAX_BYTES);
	AUTO(arena) arena = arena_new();
	struct price_list checked;

	if (!arena)
		return error_no_memory(err);
	TRY(price_list_read(&checked, document, arena, err));
	TRY(price_list_check(&checked, arena, err));
	json_print(document, &text);
	TRY(buf_status(&text, err));
	struct prices_change change = {pipeline, buf_span(&text), checked.currency};
	TRY(writer_execute(pipeline, write_prices, &change, err));
	atomic_store(&pipeline->goodput_sweeps, true);
	return OK;
}

void goodput_put_unpriced(struct json_writer *w, struct span types)
{
	struct span type;

	json_key(w, "unpriced_types");
	json_array(w);
	while (types.len && span_next(&types, ' ', &type))
		json_span(w, type);
	json_array_end(w);
}

/* ---- one job ---- */

enum status goodput_read_devices(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, double *out, struct error *err)
{
	struct inputs *inputs;

	TRY(derivation_read_inputs(pipeline, reader, arena, row, &inputs, err));
	*out = inputs->items[INPUT_DEVICES].value;
	return OK;
}

enum status goodput_read_tokens_per_step(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, double *out, struct error *err)
{
	static const enum input wanted[] = {INPUT_TOKENS_PER_STEP};
	struct inputs *inputs;

	TRY(run_inputs_read(pipeline, reader, arena, row, wanted, 1, &inputs, err));
	*out = inputs->items[INPUT_TOKENS_PER_STEP].value;
	return OK;
}

/* What explains best what showed at at_ms, of that the first; its weight, 0: there is none. */
static int find_gravest(const struct said *said, const struct fault_window *window, int64_t at_ms, int64_t machine_ms,
	struct span *signature)
{
	int most = 0, weight = 0;

	*signature = SPAN("");
	for (size_t i = 0; i < said->count && said->items[i].first_ms <= window->to_ms; i++) {
		const struct said_signature *item = &said->items[i];
		struct fault_said fault = {known_fault_weight(said->pipeline, item->signature, item->severity),
			item->first_ms, item->last_ms};
		int rank = fault_rank(window, at_ms, machine_ms, &fault);
		if (rank <= most)
			continue;
		most = rank;
		weight = fault.weight;
		*signature = item->signature;
	}
	return weight;
}

static int find_signature(
	const struct said *said, const struct fault_window *window, int64_t at_ms, struct span *signature)
{
	int weight = find_gravest(said, window, at_ms, FAULT_BROKE_OFF_MS, signature);

	if (weight < FAULT_WEIGHT_CRITICAL && window->last_step_ms == INT64_MIN)
		weight = find_gravest(said, window, at_ms, FAULT_OF_MACHINE_MS, signature);
	return weight;
}

/* The break that is the job's failure is looked at as for its incident, job_failed: one failure has one cause. */
static enum status read_window(struct pipeline *pipeline, const struct job_goodput *job, size_t at,
	struct store_reader *reader, struct arena *arena, int64_t now_ms, struct fault_window *out, int64_t *at_ms,
	struct error *err)
{
	const struct goodput_break *broken = &job->derived.breaks[at];
	bool is_end = at + 1 == job->derived.break_count && (!broken->to_ms || broken->is_of_next);

	if (is_end && job->facts.facts.end == GOODPUT_FAILED && job->job.ended_ms)
		return life_read_fault_window(pipeline, reader, arena, &job->job, out, at_ms, err);
	*at_ms = broken->from_ms;
	*out = (struct fault_window){.from_ms = at ? broken[-1].to_ms : INT64_MIN,
		.last_step_ms = broken->step < 0 ? INT64_MIN : broken->from_ms,
		.to_ms = broken->to_ms ? broken->to_ms : now_ms};
	return OK;
}

/* A status that names the cause is believed first; that nobody knows it names none, and one that says it in general gives way to a machine's fault. */
static enum status name_causes(struct pipeline *pipeline, struct job_goodput *job, struct store_reader *reader,
	struct arena *arena, int64_t now_ms, struct error *err)
{
	struct goodput *derived = &job->derived;
	struct said said;
	struct fault_window window;
	int64_t at_ms;

	if (!derived->break_count)
		return OK;
	TRY(said_read(&said, pipeline, reader, arena, job->job.job_id, err));
	for (size_t i = 0; i < derived->break_count; i++) {
		struct goodput_break *broken = &derived->breaks[i];
		if (span_equal_fold(broken->cause, SPAN("unknown")))
			broken->cause = SPAN("");
		const char *class = failure_class(broken->cause);
		bool is_class = class && span_equal(broken->cause, span_from(class));
		bool is_general = goodput_cause_is_general(broken->cause);
		if (!said.count || (broken->cause.len && !is_class && !is_general))
			continue;
		TRY(read_window(pipeline, job, i, reader, arena, now_ms, &window, &at_ms, err));
		struct span signature;
		int weight = find_signature(&said, &window, at_ms, &signature);
		if (signature.len && (!is_general || weight == FAULT_WEIGHT_OF_MACHINE))
			broken->cause = signature;
	}
	return OK;
}

static enum status keep_incidents(struct job_goodput *job, struct arena *arena, struct error *err)
{
	const struct goodput *derived = &job->derived;

	job->incidents = arena_alloc(arena, (derived->break_count + 1) * sizeof *job->incidents);
	if (!job->incidents)
		return error_no_memory(err);
	for (size_t i = 0; i < derived->break_count; i++) {
		const struct goodput_break *broken = &derived->breaks[i];
		job->incidents[i] = (struct goodput_incident){.from_ms = broken->from_ms,
			.to_ms = broken->to_ms,
			.cause = broken->cause,
			.nodes = job->facts.node_count,
			.lost_steps = broken->lost_steps,
			.redone_ms = broken->redone_ms,
			.restart_ms = broken->restart_ms};
	}
	return OK;
}

static int64_t next_due_ms(const struct pipeline *pipeline, const struct job_facts *facts, int64_t now_ms)
{
	int64_t silent_ms = now_ms > facts->changed_ms ? now_ms - facts->changed_ms : 0;
	int64_t wait_ms = silent_ms / PATIENCE;

	if (!facts->is_open)
		return 0;
	return now_ms + (wait_ms > pipeline->options.goodput_every_ms ? wait_ms : pipeline->options.goodput_every_ms);
}

enum status goodput_read_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct price_list *prices, int64_t now_ms, struct job_goodput *out, struct error *err)
{
	*out = (struct job_goodput){.redone_cost = STORE_NO_COST};
	TRY(goodput_gather(pipeline, reader, arena, job, now_ms, &out->job, &out->facts, err));
	TRY(goodput_derive(&out->facts.facts, arena, &out->derived, err));
	TRY(name_causes(pipeline, out, reader, arena, now_ms, err));
	const struct goodput *derived = &out->derived;
	bool is_pace_known = !derived->has_steps || derived->step_ms > 0;
	bool is_measured = derived->total_ms > 0 && !derived->ms[GOODPUT_UNMEASURED] && is_pace_known;
	bool has_worked = derived->has_steps || out->facts.facts.end == GOODPUT_FAILED;
	out->row = (struct goodput_row){.job_id = out->job.job_id,
		.due_ms = next_due_ms(pipeline, &out->facts, now_ms),
		.as_of_ms = now_ms,
		.nodes = out->facts.node_count,
		.nodes_from = out->facts.nodes_from,
		.is_measured = is_measured,
		.is_over = !out->facts.is_open && !out->job.ended_ms,
		.instance = out->facts.nodes[0].instance,
		.goodput = is_measured && has_worked
				   ? 100.0 * (double)derived->ms[GOODPUT_PRODUCTIVE] / (double)derived->total_ms
				   : NAN,
		.steps = derived->steps,
		.lost_steps = derived->lost_steps,
		.step_ms = derived->step_ms,
		.first_from_step = derived->first_from_step,
		.last_step = derived->last_step,
		.currency = prices->currency,
		.unpriced = SPAN(""),
		.cost = STORE_NO_COST,
		.lost_cost = STORE_NO_COST,
		.spot_saving = STORE_NO_COST,
		.work_from_ms = stretches_first_ms(&out->facts.work),
		.work_to_ms = out->facts.last_ms,
		.paused_ms = out->facts.paused_ms,
		.odd_times = stretches_odd(&out->facts.work, &out->facts.work),
		.went_on = {.job = SPAN(""),
			.from_step = derived->link.from_step,
			.step_ms = derived->link.step_ms,
			.work_ms = derived->link.work_ms,
			.silent_ms = derived->link.silent_ms}};
	TRY(goodput_account(out, prices, arena, err));
	return keep_incidents(out, arena, err);
}

/* ---- what is due ---- */

struct batch_job {
	struct job_goodput goodput;
	bool is_kept; /* it could not be worked out: what it has stays */
};

struct goodput_batch {
	struct batch_job jobs[BATCH];
	size_t count;
};

static enum status put_goodput(struct store_tx *tx, const struct job_goodput *job, struct error *err)
{
	TRY(store_put_goodput(tx, &job->row, job->days, job->day_count, job->incidents, job->derived.break_count, err));
	return pools_count_job(tx, job->row.job_id, err);
}

static enum status write_batch(void *context, struct store_tx *tx, struct error *err)
{
	const struct goodput_batch *batch = context;

	for (size_t i = 0; i < batch->count; i++) {
		const struct job_goodput *job = &batch->jobs[i].goodput;
		if (batch->jobs[i].is_kept)
			TRY(store_postpone_goodput(tx, job->row.job_id, job->row.due_ms, err));
		else
			TRY(put_goodput(tx, job, err));
	}
	return OK;
}

/* A job that was deleted meanwhile has no row to put; one that is damaged is tried again much later. */
static enum status work_out(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct goodput_due *due, const struct price_list *prices, int64_t now_ms, struct batch_job *out,
	struct error *err)
{
	enum status status = goodput_read_job(pipeline, reader, arena, due->name, prices, now_ms, &out->goodput, err);

	out->is_kept = status != OK || out->goodput.row.job_id != due->job_id;
	if (status == ERR_MEMORY || status == ERR_UNAVAILABLE)
		return status;
	if (status != OK && status != ERR_NOT_FOUND)
		log_line(LOG_WARNING, "goodput_failed", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(due->name), err->text);
	if (out->is_kept)
		out->goodput.row =
			(struct goodput_row){.job_id = due->job_id, .due_ms = now_ms + RETRY_MS, .unpriced = SPAN("")};
	out->goodput.row.changes = due->changes;
	return OK;
}

/* Subscribers have an old row. */
static void show_row(struct pipeline *pipeline, struct span name)
{
	AUTO(job_state) job = directory_find(pipeline->directory, name);

	if (job)
		atomic_store(&job->is_row_dirty, true);
}

static enum status run_due(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct goodput_batch *batch = mem_zeroed(sizeof *batch);
	int64_t now_ms = clock_wall_ms(), until_ms = clock_mono_ms() + BATCH_MS;
	struct price_list prices;
	struct goodput_due *due;
	size_t count;

	if (!arena || !batch)
		return error_no_memory(err);
	TRY(store_read_goodput_due(reader, arena, now_ms, BATCH, &due, &count, err));
	if (!count)
		return OK;
	TRY(goodput_read_prices(pipeline, reader, arena, &prices, err));
	for (; batch->count < count && (!batch->count || clock_mono_ms() < until_ms); batch->count++)
		TRY(work_out(
			pipeline, reader, arena, &due[batch->count], &prices, now_ms, &batch->jobs[batch->count], err));
	*has_more = count == BATCH || batch->count < count;
	TRY(writer_execute(pipeline, write_batch, batch, err));
	for (size_t i = 0; i < batch->count; i++)
		show_row(pipeline, due[i].name);
	return OK;
}

static enum status settle(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct goodput_batch *batch = mem_zeroed(sizeof *batch);
	int64_t now_ms = clock_wall_ms();
	struct price_list prices;
	struct goodput_row known;
	struct job_row row;

	if (!arena || !batch)
		return error_no_memory(err);
	TRY(store_read_job(reader, arena, job, &row, err));
	TRY(store_read_goodput(reader, arena, row.job_id, &known, err));
	if (!known.due_ms || known.due_ms > now_ms) /* that of a job that runs is not due with each of its lines */
		return OK;
	struct goodput_due due = {row.job_id, known.changes, row.name};
	TRY(goodput_read_prices(pipeline, reader, arena, &prices, err));
	TRY(work_out(pipeline, reader, arena, &due, &prices, now_ms, &batch->jobs[batch->count++], err));
	TRY(writer_execute(pipeline, write_batch, batch, err));
	show_row(pipeline, row.name);
	return OK;
}

/* The maintenance thread may hold it while it works out others. */
static bool lock_in_time(struct pipeline *pipeline)
{
	struct timespec deadline = clock_deadline(patience_begin(pipeline));
	bool has_it = turn_take(&pipeline->goodput_turn, &deadline);

	patience_end(pipeline);
	return has_it;
}

void goodput_settle(struct pipeline *pipeline, struct store_reader *reader, struct span job)
{
	struct error err;
	const struct actor *actor = audit_actor(pipeline);

	if (!lock_in_time(pipeline))
		return;
	/* What follows from a change is no change of whoever made it: the audit log has that one. */
	audit_act_as(pipeline, NULL);
	enum status status = settle(pipeline, reader, job, &err);
	turn_end(&pipeline->goodput_turn);
	audit_act_as(pipeline, actor);
	if (status != OK && status != ERR_NOT_FOUND && status != ERR_UNAVAILABLE)
		log_line(LOG_WARNING, "goodput_failed", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(job), err.text);
}

/* ---- all jobs anew ---- */

static enum status write_sweep(void *context, struct store_tx *tx, struct error *err)
{
	char text[24];
	int64_t *after = context;

	TRY(store_touch_all_goodput(tx, after, SWEEP, err));
	snprintf(text, sizeof text, "%lld", (long long)*after);
	return store_put_setting(tx, SWEEP_KEY, *after == INT64_MAX ? SPAN("") : span_from(text), err);
}

static enum status run_sweep(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span text;
	int64_t after;

	if (!arena)
		return error_no_memory(err);
	atomic_store(&pipeline->goodput_sweeps, false); /* before it is read: a put meanwhile sets it again */
	TRY(store_read_setting(reader, arena, SWEEP_KEY, &text, err));
	if (!span_parse_i64(text, &after))
		return OK;
	enum status status = writer_execute(pipeline, write_sweep, &after, err);
	if (status != OK || after != INT64_MAX)
		atomic_store(&pipeline->goodput_sweeps, true);
	return status;
}

enum status goodput_run(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	*has_more = false;
	if (atomic_load(&pipeline->goodput_sweeps))
		TRY(run_sweep(pipeline, reader, err));
	(void)turn_take(&pipeline->goodput_turn, NULL);
	enum status status = run_due(pipeline, reader, has_more, err);
	turn_end(&pipeline->goodput_turn);
	TRY(status);
	*has_more |= atomic_load(&pipeline->goodput_sweeps);
	return OK;
}
