#include "state/known_fault.h"

#include "model/jobs/by_hand.h"
#include "model/metrics/stream_name.h"
#include "state/jobs/history.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_ends.h"
#include "store/alerts.h"
#include "store/faults.h"
#include "store/jobs.h"
#include "store/stream_hosts.h"

#include <stdlib.h>

enum {
	LINES_SHOWN = 4,
	WORDS_MAX_BYTES = 1024,
	TEXT_BYTES = 8 << 10,
	FACTS_MAX_BYTES = 16 << 10,
	STORED_FACTS_BYTES = 64 << 10,
	ELSEWHERE_MAX = 1000
};

enum status stream_line_host(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span stream, uint64_t line, struct span *host, bool *is_shared, struct error *err)
{
	struct stream_host_row row;

	*is_shared = false;
	*host = stream_is_system(stream) ? span_skip(stream, sizeof "system/" - 1) : SPAN("");
	if (host->len)
		return OK;
	TRY(store_find_stream_host(reader, arena, job_id, stream_id, line, 0, &row, err));
	*is_shared = row.is_shared;
	*host = row.is_shared ? SPAN("") : row.host;
	return OK;
}

enum status said_hit_host(struct store_reader *reader, struct arena *arena, const struct said_hit *hit,
	struct span *host, bool *is_shared, struct error *err)
{
	*host = hit->row.host;
	*is_shared = hit->row.is_of_nobody;
	if (host->len || *is_shared)
		return OK;
	return stream_line_host(reader, arena, hit->row.job_id, hit->row.stream_id, hit->stream, hit->row.first_line,
		host, is_shared, err);
}

/* ---- which it is ---- */

struct finding {
	const struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	int64_t job_id, at_ms;
	int64_t machine_ms; /* how long before at_ms a machine's fault counts where no step is known */
	struct fault_window window;
	const struct said_hit *hits;
	size_t count;
};

static const struct signature *signature_of(const struct finding *f, const struct said_hit *hit)
{
	size_t index = signature_index(f->pipeline->signatures, hit->row.signature);

	return index == SIZE_MAX ? NULL : signature_at(f->pipeline->signatures, index);
}

static int weight_as(const struct signature *signature, enum severity severity)
{
	if (signature && signature->is_nonfatal)
		return 0;
	if (signature && severity > signature->severity)
		severity = signature->severity;
	bool is_critical = severity == SEVERITY_CRITICAL;
	bool is_symptom = signature && signature->about == SIGNATURE_SYMPTOM;
	if (severity == SEVERITY_INFO)
		return 0;
	if (is_critical && signature && signature->about == SIGNATURE_NODE)
		return FAULT_WEIGHT_OF_MACHINE;
	return is_critical ? FAULT_WEIGHT_CRITICAL - is_symptom : 2 - is_symptom;
}

/* Behind the last step; of a machine's fault half an hour before, too. */
static bool is_within(const struct fault_window *window, const struct fault_said *said)
{
	int64_t from_ms = window->last_step_ms;

	if (said->weight == FAULT_WEIGHT_OF_MACHINE) {
		int64_t went_on_ms = window->from_ms < from_ms ? window->from_ms : from_ms;
		from_ms = from_ms - FAULT_BROKE_OFF_MS > went_on_ms ? from_ms - FAULT_BROKE_OFF_MS : went_on_ms;
	}
	return said->first_ms <= window->to_ms && said->last_ms >= from_ms;
}

/* Where no step is known, or nothing was said behind the last one: a machine's fault is then one that the machine outlived. */
static bool is_shortly_before(
	const struct fault_window *window, int64_t at_ms, int64_t machine_ms, const struct fault_said *said)
{
	bool is_critical = said->weight >= FAULT_WEIGHT_CRITICAL - 1; /* or its symptom */
	int64_t window_ms = is_critical ? FAULT_CRITICAL_MS : FAULT_WARNING_MS;

	if (said->weight == FAULT_WEIGHT_OF_MACHINE && window->last_step_ms != INT64_MIN)
		return false;
	if (said->weight == FAULT_WEIGHT_OF_MACHINE)
		window_ms = machine_ms;
	return said->last_ms >= at_ms - window_ms && said->first_ms <= window->to_ms;
}

int fault_rank(const struct fault_window *window, int64_t at_ms, int64_t machine_ms, const struct fault_said *said)
{
	enum { BESIDE = 4 * FAULT_WEIGHT_OF_MACHINE };
	bool has_step = window->last_step_ms != INT64_MIN;

	if (!said->weight || said->last_ms < window->from_ms)
		return 0;
	if (has_step && is_within(window, said))
		return BESIDE + 2 * said->weight + 1;
	if (!is_shortly_before(window, at_ms, machine_ms, said))
		return 0;
	bool is_beside = !has_step || said->last_ms >= window->last_step_ms - FAULT_BESIDE_MS;
	return is_beside ? BESIDE + 2 * said->weight : said->weight;
}

static int weight_of(const struct finding *f, const struct said_hit *hit)
{
	const struct signature *signature = signature_of(f, hit);

	return signature ? weight_as(signature, signature->severity) : 0;
}

static int rank_of(const struct finding *f, const struct said_hit *hit)
{
	const struct fault_said said = {weight_of(f, hit), hit->row.first_ms, hit->row.last_ms};

	return fault_rank(&f->window, f->at_ms, f->machine_ms, &said);
}

static const struct said_hit *gravest(const struct finding *f)
{
	const struct said_hit *best = NULL;
	int most = 0;

	for (size_t i = 0; i < f->count; i++) { /* by time */
		int rank = rank_of(f, &f->hits[i]);
		if (rank <= most)
			continue;
		most = rank;
		best = &f->hits[i];
	}
	return best;
}

/* ---- in words ---- */

static void put_hit(const struct said_hit *hit, struct span host, struct json_writer *w)
{
	json_put_span(w, "signature", hit->row.signature);
	if (host.len)
		json_put_span(w, "host", host);
	if (hit->stream.len) {
		json_put_span(w, "stream", hit->stream);
		json_put_i64(w, "line", (int64_t)hit->row.last_line);
	} else if (hit->told_by.len) {
		json_put_span(w, "told_by", hit->told_by);
	}
	json_put_i64(w, "ts_ms", hit->stream.len ? hit->row.last_ms : hit->row.first_ms); /* of its text */
	if (hit->row.text.len)
		json_put_span(w, "text", hit->row.text);
}

static enum status put_lines(const struct finding *f, size_t most, struct json_writer *w, struct error *err)
{
	struct span host;
	bool is_shared;
	size_t shown = 0;

	json_key(w, "lines");
	json_array(w);
	for (size_t i = 0; i < f->count && shown < most; i++) {
		if (!rank_of(f, &f->hits[i]))
			continue;
		TRY(said_hit_host(f->reader, f->arena, &f->hits[i], &host, &is_shared, err));
		json_object(w);
		put_hit(&f->hits[i], host, w);
		json_object_end(w);
		shown++;
	}
	json_array_end(w);
	return OK;
}

static enum status write_facts_of(const struct finding *f, const struct said_hit *hit, struct span host,
	struct span summary, size_t lines_most, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_MAX_BYTES);
	const struct signature *signature = signature_of(f, hit);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_key(&w, "fault");
	json_object(&w);
	json_put_span(&w, "summary", summary);
	json_put_span(&w, "title", signature->title);
	put_hit(hit, host, &w);
	json_put_span(&w, "cause", signature->cause);
	TRY(put_lines(f, lines_most, &w, err));
	json_object_end(&w);
	json_put_span(&w, "action", signature->action);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	struct span members = buf_span(&text);
	*out = arena_copy(f->arena, span_of(members.ptr + 1, members.len - 2));
	return out->ptr ? OK : error_no_memory(err);
}

/* Without the lines that do not fit, or with nothing: a job ends all the same. */
static enum status write_facts(const struct finding *f, const struct said_hit *hit, struct span host,
	struct span summary, struct span *out, struct error *err)
{
	*out = SPAN("");
	for (size_t most = LINES_SHOWN + 1; most-- > 0;) {
		enum status status = write_facts_of(f, hit, host, summary, most, out, err);
		if (status != ERR_TOO_LARGE)
			return status;
	}
	return OK;
}

/* Whole characters. */
static struct span cut(struct span text, size_t most)
{
	size_t len = text.len < most ? text.len : most;

	while (len && len < text.len && (text.ptr[len] & 0xc0) == 0x80)
		len--;
	return span_of(text.ptr, len);
}

/* "": whoever reads this may not read it. */
static void append_line(struct buf *out, struct span line)
{
	if (line.len)
		buf_printf(out, ": %.*s", SPAN_ARGS(line));
}

static enum status describe(
	const struct finding *f, const struct said_hit *hit, struct known_fault *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
	struct span host;
	bool is_shared;

	TRY(said_hit_host(f->reader, f->arena, hit, &host, &is_shared, err));
	signature_append_summary(&text, signature_of(f, hit), host, hit->stream);
	size_t summary_len = text.len;
	append_line(&text, hit->row.text);
	TRY(buf_status(&text, err));
	out->words = arena_copy(f->arena, cut(buf_span(&text), WORDS_MAX_BYTES));
	if (!out->words.ptr)
		return error_no_memory(err);
	return write_facts(f, hit, host, span_of(text.ptr, summary_len), &out->facts, err);
}

static int by_time(const void *a, const void *b)
{
	const struct said_hit *x = a, *y = b;

	if (x->row.first_ms != y->row.first_ms)
		return x->row.first_ms < y->row.first_ms ? -1 : 1;
	if (x->row.stream_id != y->row.stream_id)
		return x->row.stream_id < y->row.stream_id ? -1 : 1;
	return (x->row.first_line > y->row.first_line) - (x->row.first_line < y->row.first_line);
}

/* Of what was said before the last step and again behind it the latter. */
static enum status take_newer(struct finding *f, struct said_hit *hits, struct error *err)
{
	struct said_hit *behind;
	size_t count;

	TRY(store_read_hits_between(
		f->reader, f->arena, f->job_id, f->window.last_step_ms, f->window.to_ms, &behind, &count, err));
	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < count && hits[i].row.last_ms < f->window.last_step_ms; k++)
			if (span_equal(behind[k].row.signature, hits[i].row.signature))
				hits[i] = behind[k];
	if (f->count)
		qsort(hits, f->count, sizeof *hits, by_time);
	return OK;
}

static bool has_signature(const struct said_hit *hits, size_t count, struct span signature)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(hits[i].row.signature, signature))
			return true;
	return false;
}

/* What its own log said, and what of its machines other jobs' alone did. */
static enum status read_hits(
	const struct finding *f, int64_t from_ms, struct said_hit **out, size_t *count, struct error *err)
{
	const struct stream_ends ends = stream_ends_of(f->pipeline->directory, FAULT_BROKE_OFF_MS);
	struct said_hit *own, *others;
	size_t own_count, other_count;

	TRY(store_read_hits_between(f->reader, f->arena, f->job_id, from_ms, f->window.to_ms, &own, &own_count, err));
	TRY(store_read_told_elsewhere(f->reader, f->arena, &ends, f->job_id, SPAN(""), from_ms, f->window.to_ms,
		ELSEWHERE_MAX, &others, &other_count, err));
	if (!(*out = arena_alloc(f->arena, (own_count + other_count + 1) * sizeof **out)))
		return error_no_memory(err);
	for (*count = 0; *count < own_count; ++*count)
		(*out)[*count] = own[*count];
	for (size_t i = 0; i < other_count; i++) {
		if (others[i].is_of_no_team && f->pipeline->options.are_reads_own)
			others[i].told_by = others[i].row.text = SPAN("");
		if (!has_signature(own, own_count, others[i].row.signature))
			(*out)[(*count)++] = others[i];
	}
	if (*count > own_count)
		qsort(*out, *count, sizeof **out, by_time);
	return OK;
}

/* Of each signature there is the stretch that began first in this time. */
static enum status look_back(struct finding *f, int64_t from_ms, const struct said_hit **out, struct error *err)
{
	struct said_hit *hits;

	if (from_ms < f->window.from_ms)
		from_ms = f->window.from_ms;
	TRY(read_hits(f, from_ms, &hits, &f->count, err));
	if (f->window.last_step_ms != INT64_MIN)
		TRY(take_newer(f, hits, err));
	f->hits = hits;
	*out = gravest(f);
	return OK;
}

static enum status look_back_from_end(
	struct finding *f, int64_t machine_ms, const struct said_hit **out, struct error *err)
{
	f->machine_ms = machine_ms;
	return look_back(f, f->at_ms - machine_ms, out, err);
}

/* Long before the end, where the training hung: by its last step. Where none is known a timeout may be as long as an hour. */
static enum status find(struct finding *f, const struct said_hit **out, struct error *err)
{
	if (f->window.last_step_ms != INT64_MIN)
		return look_back(f, f->window.last_step_ms - FAULT_BROKE_OFF_MS, out, err);
	TRY(look_back_from_end(f, FAULT_BROKE_OFF_MS, out, err));
	if (*out && weight_of(f, *out) >= FAULT_WEIGHT_CRITICAL)
		return OK;
	return look_back_from_end(f, FAULT_OF_MACHINE_MS, out, err);
}

enum status known_fault_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	int64_t job_id, const struct fault_window *window, int64_t at_ms, struct known_fault *out, struct error *err)
{
	struct finding f = {.pipeline = pipeline,
		.reader = reader,
		.arena = arena,
		.job_id = job_id,
		.window = *window,
		.at_ms = at_ms};
	const struct said_hit *hit;

	*out = (struct known_fault){.words = SPAN(""), .facts = SPAN(""), .detail = SPAN("")};
	if (!pipeline->signatures)
		return OK;
	out->is_looked_for = true;
	TRY(find(&f, &hit, err));
	return hit ? describe(&f, hit, out, err) : OK;
}

/* ---- of an end ---- */

/* The reason that is known without the fault, and the fault. */
static enum status join(struct arena *arena, struct span reason, struct span words, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	if (reason.len) {
		buf_append_span(&text, cut(reason, WORDS_MAX_BYTES / 2));
		buf_append_text(&text, "; ");
	}
	buf_append_span(&text, words);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, cut(buf_span(&text), WORDS_MAX_BYTES));
	return out->ptr ? OK : error_no_memory(err);
}

enum status known_fault_say_again(
	struct arena *arena, struct span reason, struct span facts, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(STORED_FACTS_BYTES);
	AUTO_DONE(buf) words = BUF_INIT(TEXT_BYTES);
	AUTO(json) evidence = NULL;

	*out = reason;
	buf_printf(&text, "{%.*s}", SPAN_ARGS(facts));
	if (text.failure || json_parse(&evidence, buf_span(&text), NULL) != OK)
		return OK; /* what cannot be read says nothing more */
	const struct json *fault = json_get(evidence, "fault");
	struct span summary = json_string_of(json_get(fault, "summary"));
	if (!summary.len || span_find(reason, summary) >= 0)
		return OK;
	buf_append_span(&words, summary);
	append_line(&words, json_string_of(json_get(fault, "text")));
	TRY(buf_status(&words, err));
	return join(arena, reason, buf_span(&words), out, err);
}

enum status known_fault_of_end(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct history *history, const struct fault_window *window, struct job_row *row, struct known_fault *out,
	struct error *err)
{
	*out = (struct known_fault){.words = SPAN(""), .facts = SPAN(""), .detail = SPAN("")};
	if (!history->count || !span_equal(row->status, SPAN("Failed")))
		return OK;
	TRY(known_fault_find(pipeline, reader, arena, row->job_id, window, row->ended_ms, out, err));
	if (!out->words.len)
		return OK;
	TRY(join(arena, row->failure_reason, out->words, &out->detail, err));
	if (!history->is_reason_stated)
		row->failure_reason = out->detail; /* what somebody stated stays as it is */
	return OK;
}

static const struct signature *find_signature(const struct pipeline *pipeline, struct span name)
{
	size_t index = pipeline->signatures ? signature_index(pipeline->signatures, name) : SIZE_MAX;

	return index == SIZE_MAX ? NULL : signature_at(pipeline->signatures, index);
}

bool known_fault_is_nonfatal(const struct pipeline *pipeline, struct span signature)
{
	const struct signature *found = find_signature(pipeline, signature);

	return found && found->is_nonfatal;
}

int known_fault_weight(const struct pipeline *pipeline, struct span signature, enum severity told)
{
	return weight_as(find_signature(pipeline, signature), told);
}

bool known_fault_is_symptom(const struct pipeline *pipeline, struct span signature)
{
	const struct signature *found = find_signature(pipeline, signature);

	return found && found->about == SIGNATURE_SYMPTOM;
}

bool known_fault_is_of_machine(const struct pipeline *pipeline, struct span signature, bool *is_drain)
{
	const struct signature *found = find_signature(pipeline, signature);

	*is_drain = found && found->is_drain;
	return found && found->about == SIGNATURE_NODE;
}

static bool read_facts(const struct incident_row *row, struct json **out)
{
	AUTO_DONE(buf) text = BUF_INIT(STORED_FACTS_BYTES);

	buf_printf(&text, "{%.*s}", SPAN_ARGS(row->facts));
	return !text.failure && json_parse(out, buf_span(&text), NULL) == OK;
}

bool known_fault_is_cleared(struct arena *arena, struct span document, const struct incident_row *row)
{
	AUTO(json) facts = NULL;

	return read_facts(row, &facts) &&
	       by_hand_find_fault(arena, document, json_string_of(json_get(facts, "stream")), row->incident.line).len;
}

bool known_fault_is_survived(const struct pipeline *pipeline, const struct incident_row *row)
{
	AUTO(json) facts = NULL;

	return read_facts(row, &facts) && known_fault_is_nonfatal(pipeline, json_string_of(json_get(facts, "fault")));
}

enum status known_fault_say(struct arena *arena, const struct incident_row *row, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(STORED_FACTS_BYTES);
	AUTO(json) facts = NULL;

	if (read_facts(row, &facts)) {
		buf_append_span(&text, json_string_of(json_get(facts, "summary")));
		append_line(&text, json_string_of(json_get(facts, "text")));
	}
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}
