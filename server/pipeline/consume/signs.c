#include "pipeline/consume/signs.h"

#include "base/clock.h"
#include "base/log.h"
#include "extract/line/ansi.h"
#include "extract/line/kernel_event.h"
#include "extract/line/kernel_record.h"
#include "extract/line/machine_name.h"
#include "extract/line/named_host.h"
#include "extract/line/signature.h"
#include "fleet/nccl_work.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/jobs/life_run.h"
#include "pipeline/jobs/named_elsewhere.h"
#include "pipeline/life/life.h"
#include "state/control.h"
#include "state/known_fault.h"
#include "state/streams/directory.h"
#include "state/streams/host_lines.h"
#include "state/pipeline_state.h"
#include "state/streams/sign_cuts.h"
#include "store/jobs.h"

/* ---- to the writer ---- */

struct telling {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	struct arena *arena; /* of the stretch's texts */
	struct stretch stretch;
	struct arena *said_arena; /* of the last try */
	struct stretch_told said;
	struct life life; /* of a job that had failed already */
	struct named_elsewhere named; /* and of others */
};

static void telling_free(struct telling *telling)
{
	job_unref(telling->stream->job);
	arena_free(telling->arena);
	arena_free(telling->said_arena);
	mem_free(telling);
}

/* The job's end may have been told before its last lines. */
static enum status name_end(struct telling *telling, struct store_tx *tx, struct job_row *job, struct error *err)
{
	bool is_later;

	TRY(life_put_off_name(telling->pipeline, store_tx_reader(tx), job->job_id, &is_later, err));
	if (is_later)
		return OK;
	telling->life =
		(struct life){.pipeline = telling->pipeline, .arena = telling->said_arena, .now_ms = clock_wall_ms()};
	return life_write(&telling->life, tx, job, true, err);
}

static enum status write_telling(void *context, struct store_tx *tx, struct error *err)
{
	struct telling *telling = context;
	struct job_row job;
	bool is_gone;

	arena_free(telling->said_arena); /* after a commit that failed this runs again */
	telling->said = (struct stretch_told){0};
	telling->life = (struct life){0};
	telling->named = (struct named_elsewhere){0};
	if (!(telling->said_arena = arena_new()))
		return error_no_memory(err);
	TRY(control_check_job_gone(telling->pipeline, tx, telling->stream->job, &is_gone, err));
	if (is_gone)
		return OK;
	TRY(store_read_job_by_id(store_tx_reader(tx), telling->said_arena, telling->stream->job->job_id, &job, err));
	TRY(fault_write(telling->pipeline, tx, telling->said_arena, &job, &telling->stretch, &telling->said, err));
	if (telling->said.is_new_of_machine)
		TRY(named_elsewhere_write(telling->pipeline, tx, telling->said_arena, job.job_id,
			telling->stretch.hit.stream_id, telling->stretch.hit.first_line, &telling->named, err));
	return span_equal(job.status, SPAN("Failed")) ? name_end(telling, tx, &job, err) : OK;
}

/* More lines may have come meanwhile. */
static void tell_again(struct telling *telling, bool is_durable)
{
	struct stream_state *stream = telling->stream;
	const struct stretch *told = &telling->stretch;
	struct sign *sign = stream->signs ? signs_find(stream->signs, told->signature->name, told->host) : NULL;
	struct error err;

	/* else we are stopping: the stream is not sealed past it, the next start says it again */
	if (is_durable)
		stream->pending_incidents--;
	if (!sign || !is_durable)
		return;
	sign->is_under_way = false;
	if (signs_hand_over(telling->pipeline, stream, &err) != OK)
		log_line(LOG_ERROR, "fault_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err.text);
}

static void telling_done(void *context, enum status status, const struct error *err)
{
	struct telling *telling = context;
	struct stream_state *stream = telling->stream;

	if (status != OK)
		log_line(LOG_ERROR, "fault_failed", "job=\"%s\" error=\"%s\"", stream->job->name, err->text);
	pthread_mutex_lock(&stream->mutex);
	tell_again(telling, !control_may_pass(status));
	pthread_mutex_unlock(&stream->mutex);
	if (status == OK && telling->said.count) {
		atomic_store(&stream->job->is_row_dirty, true);
		directory_mark(telling->pipeline->directory, STREAMS_DIRTY, stream);
		for (size_t i = 0; i < telling->said.count; i++)
			incidents_publish(telling->pipeline, &telling->said.rows[i], &telling->said.told[i]);
	}
	if (status == OK && telling->life.pipeline)
		life_say(&telling->life);
	if (status == OK)
		named_elsewhere_say(&telling->named);
	telling_free(telling);
}

static bool fill(struct telling *telling, const struct sign *sign)
{
	const struct stream_state *stream = telling->stream;
	struct stretch *stretch = &telling->stretch;
	size_t index = signature_index(telling->pipeline->signatures, buf_span(&sign->name));

	stretch->signature = signature_at(telling->pipeline->signatures, index);
	stretch->stream = arena_copy(telling->arena, span_from(stream->name));
	stretch->host = arena_copy(telling->arena, buf_span(&sign->host));
	stretch->naming = (enum naming)sign->naming;
	stretch->is_historic = sign->is_historic;
	stretch->hit = (struct signature_hit_row){.job_id = stream->job->job_id,
		.stream_id = stream->stream_id,
		.signature = stretch->signature->name,
		.first_line = sign->first_line,
		.count = sign->count,
		.last_line = sign->last_line,
		.first_ms = sign->first_ms,
		.last_ms = sign->last_ms,
		.text = arena_copy(telling->arena, buf_span(&sign->text)),
		.host = SPAN("")};
	return stretch->stream.ptr && stretch->host.ptr && stretch->hit.text.ptr;
}

static enum status tell(struct pipeline *pipeline, struct stream_state *stream, struct sign *sign, struct error *err)
{
	struct telling *telling = mem_zeroed(sizeof *telling);

	if (!telling)
		return error_no_memory(err);
	telling->pipeline = pipeline;
	telling->stream = stream;
	job_ref(stream->job);
	if (!(telling->arena = arena_new()) || !fill(telling, sign)) {
		telling_free(telling);
		return error_no_memory(err);
	}
	telling->control =
		(struct control){.work = write_telling, .done = telling_done, .context = telling, .is_kept = true};
	sign->is_dirty = false;
	sign->is_under_way = true;
	stream->pending_incidents++;
	enum status status = control_push(pipeline, &telling->control, err);
	if (status != OK)
		telling_free(telling); /* pending for ever: as of incidents */
	return status;
}

enum status signs_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct error *err)
{
	for (size_t i = 0; stream->signs && i < stream->signs->count; i++) {
		struct sign *sign = &stream->signs->items[i];
		if (sign->is_dirty && !sign->is_under_way)
			TRY(tell(pipeline, stream, sign, err));
	}
	return OK;
}

/* ---- lines ---- */

/* At most the bytes that are kept, whole characters, no control characters. */
static void keep_text(struct buf *out, struct span text)
{
	size_t len = text.len < SIGN_TEXT_BYTES ? text.len : SIGN_TEXT_BYTES;

	buf_reset(out);
	while (len && len < text.len && (text.ptr[len] & 0xc0) == 0x80)
		len--;
	if (!span_is_utf8(span_of(text.ptr, len)) || memchr(text.ptr, 0, len)) {
		for (size_t i = 0; i < len; i++)
			buf_append_char(out, text.ptr[i] >= ' ' && text.ptr[i] < 0x7f ? text.ptr[i] : '?');
		return;
	}
	buf_append(out, text.ptr, len);
}

/* How far a rank had come is kept of each: a stream has several. */
static bool is_of_its_own(struct sign *sign, const struct signature_found *found, struct span text)
{
	struct nccl_work unused;

	if (found->signature->about != SIGNATURE_SYMPTOM || sign->own_count >= SIGN_OWN_MAX)
		return false;
	bool is_own = nccl_work_read(text, &unused);
	sign->own_count += is_own;
	return is_own || (sign->count && nccl_work_read(buf_span(&sign->text), &unused));
}

static enum status find_or_add(
	struct stream_state *stream, const struct signature_found *found, struct sign **out, struct error *err)
{
	struct span name = found->signature->name;

	*out = signs_find(stream->signs, name, found->host);
	*out = *out ? *out : signs_add(stream->signs, name, found->host);
	return *out ? OK : error_no_memory(err);
}

/*
 * The present stretch of that signature and machine, or room for one. Each is an incident, so of a flood of names that leave no room for one
 * more within the time of an incident nobody's fault is made: of all of them together.
 */
static enum status find_sign(struct pipeline *pipeline, struct stream_state *stream, struct signature_found *found,
	enum naming *naming, int64_t ts_ms, struct sign **out, struct error *err)
{
	struct span name = found->signature->name;

	*out = signs_find(stream->signs, name, found->host);
	if (*out)
		return OK;
	struct sign *oldest = found->host.len ? signs_find_oldest(stream->signs) : NULL;
	if (!oldest)
		return find_or_add(stream, found, out, err);
	if (ts_ms <= oldest->last_ms + SIGN_QUIET_MS) {
		found->host = MACHINE_OF_NOBODY;
		*naming = NAMING_ELSEWHERE;
		return find_or_add(stream, found, out, err);
	}
	if (oldest->is_dirty)
		TRY(tell(pipeline, stream, oldest, err));
	sign_begin(oldest, name, found->host);
	*out = oldest;
	return OK;
}

/* Parts of a stretch may be of different jobs of the machine: the writer hears of each. */
static bool ends_part(const struct sign *sign, const struct signature_found *found, int64_t ts_ms)
{
	return found->signature->about == SIGNATURE_NODE &&
	       (sign->count == 1 || ts_ms > sign->last_ms + FAULT_CHANNEL_MS);
}

static enum status note_hit(struct pipeline *pipeline, struct stream_state *stream, struct signature_found *found,
	enum naming naming, const struct extract_line *line, int64_t ts_ms, int64_t arrival_ms, struct error *err)
{
	struct sign *sign;

	TRY(find_sign(pipeline, stream, found, &naming, ts_ms, &sign, err));
	bool is_again = !sign->count || ts_ms > sign->last_ms + SIGN_QUIET_MS;
	sign->own_count = is_again ? 0 : sign->own_count;
	bool is_own = is_of_its_own(sign, found, line->text);
	bool is_new = is_again || is_own || host_lines_change_within(stream, sign->last_line, line->number) ||
		      sign_cuts_are_before(&stream->signs->cuts, sign, line->number);
	/* the last of the stretch before, or of a part; what is told of a part first is its first line */
	if (sign->is_dirty && (is_new || ends_part(sign, found, ts_ms)))
		TRY(tell(pipeline, stream, sign, err));
	if (is_new) {
		sign->count = 0;
		sign->first_line = line->number;
		sign->first_ms = sign->last_ms = ts_ms;
		sign->is_historic = ts_ms < arrival_ms - HISTORIC_MS;
		sign->is_under_way = false;
		sign->naming = (uint8_t)naming;
	}
	sign->count++;
	sign->last_line = line->number;
	sign->last_ms = ts_ms > sign->last_ms ? ts_ms : sign->last_ms;
	sign->is_dirty = true;
	keep_text(&sign->text, line->text);
	return OK;
}

static enum status take_checkpoint(struct pipeline *pipeline, struct stream_state *stream, int64_t step,
	const struct extract_line *line, int64_t ts_ms, struct error *err)
{
	struct signs *signs = stream->signs;
	bool has_steps = extractor_has_steps(stream->extractor);
	uint32_t attempt = has_steps ? extractor_attempt_of_line(stream->extractor, ts_ms) : 0;
	int64_t at = step >= 0 ? step : extractor_last_step(stream->extractor);

	if (at < 0 || (signs->checkpoint_step == at && signs->checkpoint_attempt == attempt))
		return OK;
	signs->checkpoint_step = at;
	signs->checkpoint_attempt = attempt;
	const struct checkpoint_row row = {.job_id = stream->job->job_id,
		.attempt = attempt,
		.step = at,
		.ts_ms = ts_ms,
		.stream_id = stream->stream_id,
		.line = line->number};
	return checkpoint_take(pipeline, stream, &row, err);
}

/* Its machine stands above the line. */
static enum status note_record(struct stream_state *stream, struct span text, struct error *err)
{
	struct span host;
	enum record_part part = named_host_record_part(text, &host);

	if (part == RECORD_PART_HOST && !stream->signs && !(stream->signs = signs_new()))
		return error_no_memory(err);
	if (!stream->signs || (part != RECORD_PART_HOST && part != RECORD_PART_BEGIN))
		return OK;
	buf_reset(&stream->signs->record_host);
	if (host.len < SIGN_HOST_BYTES)
		buf_append_span(&stream->signs->record_host, host);
	return buf_status(&stream->signs->record_host, err);
}

/* What the line says of itself; a stream of a machine's own is of that machine. A name that cannot be kept is none that is known. */
static enum naming name_host(
	const struct stream_state *stream, struct span text, struct buf *plain, struct signature_found *found)
{
	enum naming naming = found->host.len ? NAMING_SURE : NAMING_NONE;
	enum signature_about about = found->signature->about;
	struct span of_record;

	if (found->voice == VOICE_TALK) {
		found->host = MACHINE_OF_TALK;
		return NAMING_TALK;
	}
	if (naming == NAMING_NONE && (about == SIGNATURE_NODE || about == SIGNATURE_RUN) &&
		!stream_is_system(span_from(stream->name)))
		naming = named_host_read(text, found, plain, &found->host);
	if (naming == NAMING_NONE && stream->signs->record_host.len &&
		named_host_record_part(text, &of_record) == RECORD_PART_MESSAGE) {
		naming = NAMING_ELSEWHERE;
		found->host = buf_span(&stream->signs->record_host);
	}
	if (span_is_utf8(found->host) && found->host.len < SIGN_HOST_BYTES)
		return naming;
	found->host = MACHINE_OF_NOBODY;
	return NAMING_ELSEWHERE;
}

/* ---- what was ---- */

/* Before the first step: what a shell prints then of a kernel's log is of the time before the job. */
static enum status note_dump(struct stream_state *stream, struct span text, struct error *err)
{
	bool is_begun = kernel_event_is_dump_begun(text);

	if (is_begun && !stream->signs && !(stream->signs = signs_new()))
		return error_no_memory(err);
	if (stream->signs)
		stream->signs->is_in_dump = is_begun || (stream->signs->is_in_dump && kernel_event_uptime(text).len);
	return OK;
}

/* A line of such a log; and when it is printed again, at a later start of the job. */
static bool is_dumped(struct signs *signs, struct span text)
{
	struct span uptime = kernel_event_uptime(text);

	if (!uptime.len)
		return false;
	uint64_t hash = span_hash(span_of(uptime.ptr, (size_t)(text.ptr + text.len - uptime.ptr)));
	for (size_t i = 0; i < SIGN_DUMPED_MAX; i++)
		if (signs->dumped[i] == hash)
			return true;
	if (!signs->is_in_dump)
		return false;
	memmove(&signs->dumped[0], &signs->dumped[1], (SIGN_DUMPED_MAX - 1) * sizeof *signs->dumped);
	signs->dumped[SIGN_DUMPED_MAX - 1] = hash;
	return true;
}

/* Who quotes a line of an old log has a time of its own; the fault's is the line's. Less than a day is a zone that is not shown. */
static int64_t time_of_fault(struct span text, const struct signature_found *found, int64_t ts_ms)
{
	static const int64_t day_ms = 24LL * 3600 * 1000;
	int64_t own_ms;

	return found->signature->about == SIGNATURE_NODE && kernel_event_time(text, ts_ms, &own_ms) &&
			       own_ms < ts_ms - day_ms
		       ? own_ms
		       : ts_ms;
}

static enum status take_line(struct pipeline *pipeline, struct stream_state *stream, const struct extract_line *line,
	int64_t ts_ms, int64_t arrival_ms, struct regex_scratch *scratch, struct error *err)
{
	struct signature_found found;

	if (!signature_find(
		    pipeline->signatures, scratch, line->text, stream_is_system(span_from(stream->name)), &found))
		return OK;
	if (!stream->signs && !(stream->signs = signs_new()))
		return error_no_memory(err);
	if (found.signature->about == SIGNATURE_CHECKPOINT && stream->has_bare_steps && named_host_is_pods(line->text))
		return OK; /* another job's */
	if (found.signature->about == SIGNATURE_CHECKPOINT)
		return take_checkpoint(pipeline, stream, found.step, line, ts_ms, err);
	if (!stream_is_system(span_from(stream->name)) && is_dumped(stream->signs, line->text))
		return OK;
	AUTO_DONE(buf) plain = BUF_INIT(KERNEL_PLAIN_BYTES);
	enum naming naming = name_host(stream, line->text, &plain, &found);
	TRY(buf_status(&plain, err));
	return note_hit(
		pipeline, stream, &found, naming, line, time_of_fault(line->text, &found, ts_ms), arrival_ms, err);
}

/* Colours stand within words: "NVRM: \x1b[1mXid" is what dmesg prints on a terminal. */
enum status signs_feed(struct pipeline *pipeline, struct stream_state *stream, const struct extract_line *line,
	int64_t ts_ms, int64_t arrival_ms, struct regex_scratch *scratch, struct error *err)
{
	struct extract_line shown = *line;

	if (!line->text.len || line->text.ptr[0] == '_' || line->text.ptr[0] == ' ')
		TRY(note_record(stream, line->text, err));
	if (!stream->extractor || !extractor_has_steps(stream->extractor))
		TRY(note_dump(stream, line->text, err));
	if (!line->text.len || !memchr(line->text.ptr, '\x1b', line->text.len))
		return take_line(pipeline, stream, line, ts_ms, arrival_ms, scratch, err);
	AUTO_DONE(buf) text = BUF_INIT(line->text.len);
	ansi_strip(line->text, &text);
	TRY(buf_status(&text, err));
	shown.text = buf_span(&text);
	return take_line(pipeline, stream, &shown, ts_ms, arrival_ms, scratch, err);
}
