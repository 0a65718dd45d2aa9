/* What a stretch of a signature is part of, decided once in the transaction that first knows it. */
#include "base/clock.h"
#include "base/text/host_list.h"
#include "extract/line/kernel_event.h"
#include "extract/line/local_tag.h"
#include "extract/line/machine_name.h"
#include "extract/line/named_host.h"
#include "extract/line/prefix.h"
#include "extract/line/signature.h"
#include "model/jobs/by_hand.h"
#include "model/incident.h"
#include "model/known.h"
#include "pipeline/alert/incident_effects.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/consume/fault_names.h"
#include "pipeline/consume/signs.h"
#include "state/known_fault.h"
#include "state/pipeline_state.h"
#include "state/jobs/stated.h"
#include "state/streams/stream_ends.h"
#include "store/alerts.h"
#include "store/jobs.h"
#include "store/stream_hosts.h"

#include <stdio.h>

enum {
	FACTS_MAX_BYTES = 16 << 10,
	DETAIL_MAX_BYTES = 2048,
	/* A timeout comes up to an hour after its cause; a kernel's line may be shipped later than what it caused. */
	CAUSE_BEFORE_MS = 60 * 60 * 1000,
	CAUSE_AFTER_MS = 15 * 60 * 1000,
	JOBS_ON_HOST_MAX = 16, /* others than the one that told of it: a few of each GPU */
	FOLDED_MAX = 100,
	PART_OF_STRETCH = 16, /* parts lie apart by so much of what the stretch has lasted, at least */
	RANKS_OF_A_MACHINE = 8 /* GPUs; with more of them whose a rank is remains unsaid */
};

struct writing {
	struct pipeline *pipeline;
	struct store_tx *tx;
	struct arena *arena;
	const struct job_row *job;
	const struct stretch *stretch; /* its host is known; "": nobody knows whose it is, and none is charged */
	struct stretch_told *out;
};

static bool is_of_machine(const struct writing *w)
{
	return w->stretch->signature->about == SIGNATURE_NODE && w->stretch->host.len;
}

static bool is_of(uint64_t ordinal, struct span what)
{
	return ordinal >> INCIDENT_TIME_BITS == incident_ordinal_of(what, 0) >> INCIDENT_TIME_BITS;
}

/* ---- the evidence ---- */

static enum status write_summary(const struct writing *w, struct json_writer *json, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DETAIL_MAX_BYTES);

	signature_append_summary(&text, w->stretch->signature, w->stretch->host, w->stretch->stream);
	TRY(buf_status(&text, err));
	json_put_span(json, "summary", buf_span(&text));
	return OK;
}

/* May whoever reads the job read what is said, too? Of another one it is told where that is of the same team, or of none. */
static bool may_quote(const struct writing *w, const struct job_row *job)
{
	return !w->pipeline->options.are_reads_own || span_equal(job->team, w->job->team);
}

/* Members of an object, as store.h keeps them; of an incident of this job. */
static enum status write_facts(
	const struct writing *w, const struct job_row *job, bool is_node, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	const struct signature *signature = w->stretch->signature;
	struct json_writer json = json_writer_on(&text);

	json_object(&json);
	json_put_span(&json, is_node ? "fault" : "signature", signature->name);
	json_put_span(&json, "title", signature->title);
	TRY(write_summary(w, &json, err));
	if (w->stretch->host.len)
		json_put_span(&json, "host", w->stretch->host);
	else
		json_put_bool(&json, "shared", true);
	if (job == w->job)
		json_put_span(&json, "stream", w->stretch->stream);
	else if (may_quote(w, job))
		json_put_span(&json, "told_by", w->job->name);
	if (may_quote(w, job) && w->stretch->hit.text.len)
		json_put_span(&json, "text", w->stretch->hit.text);
	json_put_span(&json, "cause", signature->cause);
	json_put_span(&json, "action", signature->action);
	if (is_node)
		json_put_bool(&json, "drain", signature->is_drain);
	json_object_end(&json);
	TRY(buf_status(&text, err));
	struct span members = buf_span(&text);
	*out = arena_copy(w->arena, span_of(members.ptr + 1, members.len - 2));
	return out->ptr ? OK : error_no_memory(err);
}

/* "GPU has fallen off the bus on gpu017: NVRM: Xid …" */
static enum status write_detail(const struct writing *w, const struct job_row *job, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DETAIL_MAX_BYTES);

	signature_append_summary(&text, w->stretch->signature, w->stretch->host, w->stretch->stream);
	if (!w->stretch->host.len)
		buf_append_text(&text, " (several machines send it)");
	if (may_quote(w, job) && w->stretch->hit.text.len)
		buf_printf(&text, ": %.*s", SPAN_ARGS(w->stretch->hit.text));
	TRY(buf_status(&text, err));
	*out = arena_copy(w->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status put(const struct writing *w, struct incident_row *row, struct span team, struct error *err)
{
	struct incident_effects told = {0};

	TRY(incidents_write(w->pipeline, w->tx, row, team, &told, err));
	if (w->out->count == sizeof w->out->rows / sizeof *w->out->rows)
		return OK; /* the page shows it; nobody who listens now is told of more at once */
	w->out->rows[w->out->count] = *row;
	w->out->told[w->out->count++] = told;
	return OK;
}

/* What is only talked of is not critical. Where machines talk to each other; one alone has nobody to talk to. */
static enum severity severity_of(const struct writing *w, const struct job_row *job)
{
	AUTO(json) document = NULL;

	if (w->stretch->naming == NAMING_TALK && w->stretch->signature->severity > SEVERITY_WARNING)
		return SEVERITY_WARNING;
	if (!w->stretch->signature->warning_on || json_parse(&document, job->document, NULL) != OK ||
		by_hand_settle(document, NULL) != OK || job_stated_nodes(document) == 1)
		return w->stretch->signature->severity;
	const struct json *resources = json_get(document, "ResourceConfig");
	struct span type = json_string_of(json_get(resources, "InstanceType"));
	if (!type.len)
		type = json_string_of(json_get(json_first(json_get(resources, "InstanceGroups")), "InstanceType"));
	return signature_severity(w->stretch->signature, type);
}

/* A machine's incidents of one millisecond, as many lines have whole seconds, are still several. */
static enum status make_ordinal(const struct writing *w, int64_t job_id, bool is_node, uint64_t *out, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct near_incident *rows;
	size_t count = 0;

	*out = incident_ordinal_of(is_node ? w->stretch->host : hit->signature, hit->first_ms);
	if (is_node)
		TRY(store_read_near(store_tx_reader(w->tx), w->arena, job_id, UINT32_C(1) << INCIDENT_NODE_SUSPECT,
			hit->first_ms, hit->first_ms, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		*out += is_of(rows[i].opened_ordinal, w->stretch->host);
	return OK;
}

static enum status open_incident(
	const struct writing *w, const struct job_row *job, bool is_node, uint32_t *id, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	bool is_own = job == w->job;
	struct incident_row row = {.job_id = job->job_id,
		.job = job->name,
		.metric = SPAN(""),
		.stream = is_own ? w->stretch->stream : SPAN("")};

	row.incident = (struct incident){.kind = is_node ? INCIDENT_NODE_SUSPECT : INCIDENT_LOG_SIGNATURE,
		.severity = severity_of(w, job),
		.state = INCIDENT_OPEN,
		.opened_ms = hit->first_ms,
		.line = is_own ? hit->first_line : NO_LINE,
		.is_historic = w->stretch->is_historic};
	TRY(make_ordinal(w, job->job_id, is_node, &row.incident.opened_ordinal, err));
	TRY(write_facts(w, job, is_node, &row.facts, err));
	TRY(write_detail(w, job, &row.detail, err));
	TRY(put(w, &row, job->team, err));
	*id = row.incident_id;
	return OK;
}

/* ---- what is there already ---- */

/*
 * May what is said now be part of it? Never where less would be told: of an incident of lines that came late nobody is, and of what a machine
 * survived nothing follows. A graver symptom raises a fault that is still open; a graver fault is one of its own.
 */
static enum status may_take(
	const struct writing *w, int64_t job_id, const struct near_incident *near, bool *out, struct error *err)
{
	const struct signature *said = w->stretch->signature;
	bool is_node = is_of_machine(w), is_own = job_id == w->job->job_id;
	struct incident_row row;

	*out = false;
	if (is_node && near->kind == INCIDENT_NODE_SUSPECT && !is_of(near->opened_ordinal, w->stretch->host))
		return OK;
	TRY(store_read_incident(store_tx_reader(w->tx), w->arena, job_id, near->incident_id, &row, err));
	bool can_rise = !is_node && near->kind == INCIDENT_NODE_SUSPECT && row.incident.state == INCIDENT_OPEN;
	if (row.incident.closed_why == INCIDENT_CLOSED_CLEARED ||
		(row.incident.is_historic && !w->stretch->is_historic) ||
		(row.incident.severity < said->severity && !can_rise) ||
		(!said->is_nonfatal && known_fault_is_survived(w->pipeline, &row)))
		return OK;
	/* somebody said by hand that what it was opened for was not the machine's: what comes now is another matter */
	*out = !is_node || !is_own || !known_fault_is_cleared(w->arena, w->job->document, &row);
	return OK;
}

static enum status find_near(const struct writing *w, int64_t job_id, uint32_t kinds, uint32_t *id, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct near_incident *rows;
	size_t count;

	*id = 0;
	TRY(store_read_near(store_tx_reader(w->tx), w->arena, job_id, kinds, hit->first_ms - CAUSE_BEFORE_MS,
		hit->last_ms + CAUSE_AFTER_MS, &rows, &count, err));
	for (size_t i = 0; i < count && !*id; i++) {
		bool is_taken;
		TRY(may_take(w, job_id, &rows[i], &is_taken, err));
		*id = is_taken ? rows[i].incident_id : 0;
	}
	return OK;
}

/* It is told anew as what a symptom of it is. */
static enum status raise_to(const struct writing *w, const struct job_row *job, uint32_t incident_id,
	enum severity severity, struct error *err)
{
	struct incident_row row;

	TRY(store_read_incident(store_tx_reader(w->tx), w->arena, job->job_id, incident_id, &row, err));
	if (row.incident.severity >= severity)
		return OK;
	row.incident.severity = severity;
	TRY(known_fault_say(w->arena, &row, &row.detail, err));
	return put(w, &row, job->team, err);
}

/* Of the machine's fault: what only said so is beneath it from now on, and over. Its end is told before: of what is beneath another no list is told. */
static enum status fold_one(
	const struct writing *w, const struct job_row *job, uint32_t from, uint32_t into, struct error *err)
{
	struct incident_row row;

	TRY(store_read_incident(store_tx_reader(w->tx), w->arena, job->job_id, from, &row, err));
	if (row.fold_id || (w->stretch->is_historic && !row.incident.is_historic))
		return OK; /* it is of an earlier one; of this one nobody is told */
	enum severity severity = row.incident.severity;
	if (row.incident.state == INCIDENT_OPEN) {
		row.incident.state = INCIDENT_RECOVERED;
		row.incident.closed_ms = w->stretch->hit.last_ms > row.incident.opened_ms ? w->stretch->hit.last_ms
											  : row.incident.opened_ms;
		row.detail = SPAN("");
		TRY(put(w, &row, job->team, err));
	}
	TRY(store_fold_incident(w->tx, job->job_id, from, into, err));
	return raise_to(w, job, into, severity, err);
}

static bool is_beneath(const struct writing *w, const struct near_incident *row)
{
	const struct signature *signature = NULL;

	for (size_t i = 0; i < signature_count(w->pipeline->signatures); i++) {
		const struct signature *at = signature_at(w->pipeline->signatures, i);
		signature = at->about != SIGNATURE_CHECKPOINT && is_of(row->opened_ordinal, at->name) ? at : signature;
	}
	return signature && signature->beneath & UINT32_C(1) << INCIDENT_NODE_SUSPECT;
}

/* Of a job that ran on the machine: this one, or another one that hears of it. */
static enum status fold_symptoms(const struct writing *w, const struct job_row *job, uint32_t into, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct near_incident *rows;
	size_t count;

	if (w->stretch->signature->is_nonfatal)
		return OK;
	TRY(store_read_near(store_tx_reader(w->tx), w->arena, job->job_id, UINT32_C(1) << INCIDENT_LOG_SIGNATURE,
		hit->first_ms - CAUSE_AFTER_MS, hit->last_ms + CAUSE_BEFORE_MS, &rows, &count, err));
	for (size_t i = 0; i < count && i < FOLDED_MAX; i++)
		if (is_beneath(w, &rows[i]))
			TRY(fold_one(w, job, rows[i].incident_id, into, err));
	return OK;
}

/* ---- a machine ---- */

static enum status open_of_node(const struct writing *w, const struct job_row *job, uint32_t *id, struct error *err)
{
	TRY(open_incident(w, job, true, id, err));
	return fold_symptoms(w, job, *id, err);
}

enum status fault_tell_job(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct job_row *told_by, const struct stretch *stretch, const struct job_row *job,
	struct stretch_told *out, struct error *err)
{
	const struct writing w = {pipeline, tx, arena, told_by, stretch, out};
	const struct told_on_host told = {stretch->host, told_by->job_id, stretch->hit.first_ms - CAUSE_BEFORE_MS,
		stretch->hit.last_ms + CAUSE_AFTER_MS};
	size_t count;
	uint32_t id;

	TRY(find_near(&w, job->job_id, UINT32_C(1) << INCIDENT_NODE_SUSPECT, &id, err));
	if (id)
		return OK;
	TRY(store_count_told(store_tx_reader(tx), arena, &told, JOBS_ON_HOST_MAX, &count, err));
	return count < JOBS_ON_HOST_MAX ? open_of_node(&w, job, &id, err) : OK;
}

/* The other jobs of the team that ran on it hear of it as well, of a job of no team those of all; also those that the fault has silenced: not
 * what fell silent long before. */
static enum status tell_others(const struct writing *w, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(w->pipeline->directory, CAUSE_BEFORE_MS);
	int64_t *jobs;
	size_t count, told = 0;
	uint32_t id;

	TRY(store_read_jobs_on_host(store_tx_reader(w->tx), w->arena, &ends, w->stretch->host, w->job->team,
		w->stretch->hit.first_ms, JOBS_ON_HOST_MAX + 1, &jobs, &count, err));
	for (size_t i = 0; i < count && told < JOBS_ON_HOST_MAX; i++) {
		struct job_row other;
		if (jobs[i] == w->job->job_id)
			continue;
		TRY(store_read_job_by_id(store_tx_reader(w->tx), w->arena, jobs[i], &other, err));
		TRY(find_near(w, other.job_id, UINT32_C(1) << INCIDENT_NODE_SUSPECT, &id, err));
		if (!id)
			TRY(open_of_node(w, &other, &id, err));
		told++;
	}
	return OK;
}

/* What was told late is an event that another log has told of: a machine's check prints what its kernel said days ago. */
static enum status is_told_before(const struct writing *w, bool *out, struct error *err)
{
	enum { LOOKED_AT = 1000 };
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct node_fault_row *rows;
	size_t count = 0;

	*out = false;
	if (!w->stretch->is_historic)
		return OK;
	TRY(store_read_node_faults(store_tx_reader(w->tx), w->arena, w->stretch->host, hit->first_ms - FAULT_CHANNEL_MS,
		LOOKED_AT, &rows, &count, err));
	for (size_t i = 0; i < count && !*out; i++)
		*out = (rows[i].job_id != hit->job_id || rows[i].stream_id != hit->stream_id) &&
		       rows[i].ts_ms <= hit->first_ms + FAULT_CHANNEL_MS &&
		       span_equal(rows[i].signature, hit->signature) &&
		       kernel_event_has_same_words(rows[i].text, hit->text);
	return OK;
}

/* What this job knows another one need not know: the machine may work for that since. */
static enum status choose_of_node(const struct writing *w, uint32_t *id, struct error *err)
{
	bool is_known;

	TRY(find_near(w, w->job->job_id, UINT32_C(1) << INCIDENT_NODE_SUSPECT, id, err));
	TRY(is_told_before(w, &is_known, err));
	if (is_known)
		return OK;
	if (!*id)
		TRY(open_of_node(w, w->job, id, err));
	return tell_others(w, err);
}

static enum status choose(const struct writing *w, uint32_t *id, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;

	if (is_of_machine(w))
		return choose_of_node(w, id, err);
	if (w->stretch->signature->beneath)
		TRY(find_near(w, w->job->job_id, w->stretch->signature->beneath, id, err));
	if (*id)
		return raise_to(w, w->job, *id, w->stretch->signature->severity, err);
	TRY(store_find_signature_incident(store_tx_reader(w->tx), hit->job_id, hit->signature,
		hit->first_ms - SIGN_QUIET_MS, hit->last_ms + SIGN_QUIET_MS, id, err));
	return *id ? raise_to(w, w->job, *id, severity_of(w, w->job), err) : open_incident(w, w->job, false, id, err);
}

/*
 * Lines less than a minute apart are one part of a stretch. Of what a machine survives nothing breaks: there one row is enough. The longer the
 * stretch the rarer its rows, or a machine that says it again and again for days would take the room of all others in what readers take.
 */
static void choose_part(
	const struct writing *w, const struct fault_parts *parts, struct node_fault_row *row, bool *is_new_part)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	uint64_t more = hit->count > parts->count ? hit->count - parts->count : 0; /* a replay may tell of fewer */

	*is_new_part = parts->count && more && hit->last_ms > parts->last_ms + FAULT_CHANNEL_MS;
	bool is_rare = hit->last_ms - parts->ts_ms >= (hit->last_ms - hit->first_ms) / PART_OF_STRETCH;
	bool is_new_row = *is_new_part && is_rare && !w->stretch->signature->is_nonfatal;
	row->ts_ms = is_new_row ? hit->last_ms : parts->count ? parts->ts_ms : hit->first_ms;
	row->count = is_new_row ? more : parts->last_count + more;
}

static enum status put_node_fault(const struct writing *w, bool *is_new_part, struct error *err)
{
	struct fault_parts parts;
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct node_fault_row row = {.host = w->stretch->host,
		.job_id = hit->job_id,
		.stream_id = hit->stream_id,
		.line = hit->first_line,
		.signature = hit->signature,
		.is_drain = w->stretch->signature->is_drain,
		.last_ms = hit->last_ms,
		.text = hit->text,
		.cleared = by_hand_find_fault(w->arena, w->job->document, w->stretch->stream, hit->first_line)};

	if (!row.cleared.ptr)
		return error_no_memory(err);
	TRY(store_read_fault_parts(store_tx_reader(w->tx), &row, &parts, err));
	choose_part(w, &parts, &row, is_new_part);
	return store_put_node_fault(w->tx, &row, err);
}

/* Of a stretch that is known the jobs that the machine works for by now. */
static enum status tell_of_part(struct writing *w, struct stretch *own, struct error *err)
{
	struct stretch whole = *own;
	bool is_known;

	own->hit.first_ms = own->hit.last_ms;
	own->is_historic = own->is_historic && own->hit.last_ms < clock_wall_ms() - HISTORIC_MS;
	TRY(is_told_before(w, &is_known, err));
	if (!is_known)
		TRY(tell_others(w, err));
	*own = whole;
	return OK;
}

/* ---- whose it is ---- */

/* Of one that nobody names all that is known is its place. */
static enum status find_sender(const struct writing *w, struct span *host, struct error *err)
{
	const struct signature_hit_row *hit = &w->stretch->hit;
	struct span stream = w->stretch->stream;
	AUTO_DONE(buf) place = BUF_INIT(DETAIL_MAX_BYTES);
	bool is_shared;

	TRY(stream_line_host(store_tx_reader(w->tx), w->arena, hit->job_id, hit->stream_id, stream, hit->first_line,
		host, &is_shared, err));
	if (is_shared || host->len)
		return OK;
	buf_printf(&place, "%.*s/%.*s", SPAN_ARGS(w->job->name), SPAN_ARGS(stream));
	TRY(buf_status(&place, err));
	*host = arena_copy(w->arena, buf_span(&place));
	return host->ptr ? OK : error_no_memory(err);
}

/* A list of machines as they are known elsewhere; as it was said where none is known by another name. */
static enum status know_list(const struct writing *w, struct span *names, size_t count, struct span said,
	struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	struct span known;
	bool is_other = false;

	*out = said;
	for (size_t i = 0; i < count; i++) {
		TRY(store_find_machine(store_tx_reader(w->tx), w->arena, names[i], w->job->team, &known, err));
		if (!known.len || span_equal(known, STORE_SEVERAL_MACHINES))
			TRY(store_find_spelling(store_tx_reader(w->tx), w->arena, names[i], &known, err));
		is_other = is_other || (known.len && !span_equal(known, names[i]));
		buf_append_text(&text, i ? "," : "");
		buf_append_span(&text, known.len ? known : names[i]);
	}
	if (!is_other)
		return OK;
	TRY(buf_status(&text, err));
	*out = arena_copy(w->arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

/* All machines of the job send by one that is known: srun's output, or the launcher's. */
static enum status is_sent_for_all(const struct writing *w, bool *is_so, struct error *err)
{
	struct stream_host_row *rows;
	AUTO(json) document = NULL;
	const struct stream_host_row *first = NULL;
	size_t count;

	*is_so = false;
	TRY(store_read_stream_hosts(store_tx_reader(w->tx), w->arena, w->stretch->hit.job_id, 0, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		first = first || !rows[i].host.len ? first : &rows[i];
		if (first && rows[i].host.len && rows[i].stream_id != first->stream_id &&
			!span_equal(rows[i].host, first->host))
			return OK;
	}
	TRY(json_parse(&document, w->job->document, err));
	*is_so = job_stated_nodes(document) > 1;
	return OK;
}

/* In a log that one sends for all a rank beyond those of one machine is on another one, and a local rank on any. */
static enum status look_at_rank(const struct writing *w, struct signature_hit_row *hit, struct error *err)
{
	bool is_bare, is_far;

	if (w->stretch->signature->about != SIGNATURE_NODE)
		return OK;
	is_far = line_may_have_rank(hit->text) && line_peel_rank(hit->text, &is_bare) >= RANKS_OF_A_MACHINE;
	if (!is_far && !local_tag_is_before(hit->text))
		return OK;
	return is_sent_for_all(w, &hit->is_of_nobody, err);
}

/* Whose the stretch is by what its lines say, decided once: the store keeps it. */
static enum status decide_host(const struct writing *w, struct signature_hit_row *hit, struct error *err)
{
	struct span said = w->stretch->host, sender, known, *names;
	enum naming naming = w->stretch->naming;
	size_t count;

	if (!said.len)
		return look_at_rank(w, hit, err);
	if (naming == NAMING_TALK) {
		hit->is_of_nobody = true;
		return OK;
	}
	TRY(find_sender(w, &sender, err));
	if (machine_name_is_same(said, sender)) {
		hit->host = naming == NAMING_GUESS ? SPAN("") : sender; /* whoever the stream is set to by hand */
		return OK;
	}
	TRY(store_find_machine(store_tx_reader(w->tx), w->arena, said, w->job->team, &known, err));
	hit->is_of_nobody = span_equal(known, STORE_SEVERAL_MACHINES);
	if (hit->is_of_nobody)
		return OK;
	bool is_sure = naming == NAMING_SURE || (naming == NAMING_KERNEL && !machine_name_is_number(sender));
	TRY(host_list_expand(w->arena, is_sure ? said : SPAN(""), &names, &count, err));
	hit->is_of_nobody = !known.len && !count && (is_sure || naming == NAMING_ELSEWHERE);
	if (!known.len && count == 1) {
		TRY(fault_names_join(w->tx, w->arena, hit, w->job->team, &names[0], err));
		said = names[0];
	}
	hit->host = known;
	return known.len ? OK : know_list(w, names, count, count ? said : SPAN(""), &hit->host, err);
}

/* ---- a stretch ---- */

/* An incident for each machine; the stretch is the first one's. */
static enum status charge(struct writing *w, struct stretch *own, const struct span *hosts, size_t count,
	struct signature_hit_row *hit, struct error *err)
{
	bool is_known = hit->incident_id, is_new_part = false;

	for (size_t i = 0; i < count; i++) {
		uint32_t id = hit->incident_id;
		own->host = hosts[i];
		if (!is_known)
			TRY(choose(w, &id, err));
		hit->incident_id = i ? hit->incident_id : id;
		if (is_of_machine(w))
			TRY(put_node_fault(w, &is_new_part, err));
		if (is_known && is_new_part)
			TRY(tell_of_part(w, own, err));
	}
	w->out->is_new_of_machine = (!is_known || is_new_part) && is_of_machine(w);
	return OK;
}

enum status fault_write(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, const struct job_row *job,
	const struct stretch *stretch, struct stretch_told *out, struct error *err)
{
	struct stretch own = *stretch;
	struct writing w = {pipeline, tx, arena, job, &own, out};
	struct signature_hit_row hit = stretch->hit;
	struct span host, *hosts = &host;
	size_t count = 1;

	TRY(store_find_signature_hit(store_tx_reader(tx), arena, &hit, err));
	if (!hit.incident_id)
		TRY(decide_host(&w, &hit, err));
	host = hit.host;
	if (!host.len && !hit.is_of_nobody)
		TRY(find_sender(&w, &host, err));
	if (hit.host.len && stretch->signature->about == SIGNATURE_NODE)
		TRY(host_list_expand(arena, hit.host, &hosts, &count, err));
	TRY(charge(&w, &own, hosts, count, &hit, err));
	return store_put_signature_hit(tx, &hit, err);
}
