#include "base/clock.h"
#include "cli/sender/sender_state.h"
#include "cli/sender/stored_points.h"
#include "cli/spool/line_body.h"

#include <inttypes.h>

enum {
	BATCH_BYTES = 512 << 10,
	BATCH_LINGER_MS = 200,
	IDLE_WAIT_MS = 200,
	MAX_FAILED_READS = 5,
	MAX_POINTS_BYTES = 16 << 20,
	REREAD_MS = 200,
	MUST_WAIT_MS = 20,
	WAITED_BEAT_MS = 1000,
	MAX_WAITED_BEATS = 10,
	OWN_HEAD_LINES = 3,
};

static uint64_t count_lines(struct span text)
{
	uint64_t lines = 0;

	for (ptrdiff_t at; (at = span_find_char(text, '\n')) >= 0; lines++)
		text = span_skip(text, (size_t)at + 1);
	return lines;
}

/* The server has taken the batch, or the part of it before next. Where it was sent before, some of it was there. */
static void accept_batch(struct sender *sender, struct stream_state *stream, const struct job_lines_told *told)
{
	uint64_t next = told->has_next ? told->next_offset : stream->offset + sender->batch.text.len;
	uint64_t base = stream->offset, total = sender->batch.text.len;
	uint64_t taken = next > base && next < base + total ? next - base : total;

	uint64_t lines = count_lines(span_of(sender->batch.text.ptr, (size_t)taken));
	atomic_fetch_add(&sender->sent_lines, lines);
	atomic_fetch_add(&sender->new_to_server, told->has_accepted ? told->accepted : lines);
	spool_release(sender->options.spool, (size_t)taken);
	stream->sent_bytes += taken;
	stream->offset = next;
	sender->has_batch = false;
	sender->conflicts = 0;
}

static void note_batch(struct sender *sender, uint64_t offset)
{
	struct error err = {0};

	if (!sender->options.ledger || sender->noted_offset == offset ||
		sender->batch.stream >= sender->options.ledger_streams)
		return;
	struct ledger_note note = {.job = sender->job,
		.source = sender->streams[sender->batch.stream].imported.source,
		.base = offset,
		.batch = &sender->batch};
	if (ledger_note(sender->options.ledger, sender->batch.stream, &note, &err) == OK)
		sender->noted_offset = offset;
	else if (!sender->has_told_of_ledger)
		client_say(sender->options.program, "%s", err.text); /* which matters only if we are killed */
	sender->has_told_of_ledger |= sender->noted_offset != offset;
}

/* Plain lines cannot each bear the time at which they were read: an import's, and bytes that JSON does not take. */
static bool is_plain(const struct sender *sender)
{
	return strcmp(sender->content_type, "text/plain") == 0;
}

static enum status send_batch(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];
	const char *name = sender->options.streams[sender->batch.stream];
	struct job_lines_told told;

	if (!stream->is_sessionless && (!stream->has_session || !stream->is_known))
		TRY(sender_open_stream(sender, sender->batch.stream, false, err));
	note_batch(sender, stream->offset);
	struct job_lines lines = {.job = sender->job,
		.stream = name,
		.host = sender_host_of(sender, sender->batch.stream),
		.session = stream->is_sessionless ? NULL : stream->session,
		.source = stream->imported.source[0] ? stream->imported.source : NULL,
		.offset = stream->offset,
		.written_ms = is_plain(sender) ? sender->batch.runs[0].ts_ms : 0,
		.content_type = sender->content_type,
		.body = buf_span(&sender->body)};
	enum status status = job_send_lines(sender->options.client, &lines, &told, err);
	if (status == ERR_NOT_FOUND && !stream->is_sessionless)
		return sender_lose_session(sender, stream, status);
	if (status == ERR_CONFLICT && ++sender->conflicts <= SENDER_MAX_CONFLICTS) {
		client_say(sender->options.program, "%s", err->text);
		stream->is_known = told.has_next || stream->is_sessionless; /* else it is asked for, with the session */
		stream->offset = told.has_next ? told.next_offset : stream->offset;
		return OK; /* the same batch again */
	}
	TRY(status);
	accept_batch(sender, stream, &told);
	if (sender_hears_orders(sender, sender->batch.stream))
		sender->heard_ms = clock_mono_ms();
	if (sender_hears_orders(sender, sender->batch.stream) || !sender->options.has_one_stream)
		sender_carry_out(sender, &told.commands);
	return OK;
}

/* What the server has is known without a session: the stream's session goes on with a job that has ended, for which there must be news. */
static enum status count_there(struct sender *sender, struct stream_state *stream, struct error *err)
{
	const char *name = sender->options.streams[sender->batch.stream];

	if (stream->is_counted)
		return OK;
	TRY(job_read_imported(sender->options.client, sender->job, name, &stream->imported, err));
	stream->to_pass = stream->imported.bytes;
	stream->is_counted = true;
	if (stream->imported.is_unchecked)
		client_say(sender->options.program,
			"stream '%s' of job '%s': the text of its first %" PRIu64 " lines is deleted, so it cannot be "
			"compared: the first %" PRIu64
			" bytes of the log are taken to be there; import another log as another stream",
			name, sender->job, stream->imported.deleted_lines, stream->to_pass);
	return OK;
}

/* What was on its way when it was asked counts, too. */
static enum status begin_news(struct sender *sender, struct stream_state *stream, struct error *err)
{
	if (stream->to_pass || stream->is_known)
		return OK;
	TRY(sender_open_stream(sender, sender->batch.stream, false, err));
	uint64_t bytes = stream->imported.base + stream->offset;
	stream->to_pass = bytes > stream->passed_over ? bytes - stream->passed_over : 0;
	return OK;
}

/*
 * What came without a source is taken for the start of the log as far as the log's lines are in it. A line or two that are, and no more,
 * are how another run began, too.
 */
static enum status check_guess(struct sender *sender, struct stream_state *stream, struct error *err)
{
	const char *name = sender->options.streams[sender->batch.stream];
	struct span text = buf_span(&sender->batch.text);
	size_t matched;

	if (!stream->imported.is_guess || !stream->to_pass)
		return OK;
	if (text.len > stream->to_pass)
		text.len = (size_t)stream->to_pass;
	TRY(job_match_imported(sender->options.client, sender->job, name, text, &stream->imported, &matched, err));
	if (matched == text.len)
		return OK;
	if (!stream->passed_over && count_lines(span_of(text.ptr, matched)) < OWN_HEAD_LINES)
		matched = 0;
	job_import_from(&stream->imported, stream->passed_over + matched);
	stream->to_pass = matched;
	return OK;
}

/* An import that was cut off goes on where the server stands. */
static enum status pass_over(struct sender *sender, bool *is_passed, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];

	TRY(count_there(sender, stream, err));
	TRY(check_guess(sender, stream, err));
	TRY(begin_news(sender, stream, err));
	uint64_t bytes = stream->to_pass < sender->batch.text.len ? stream->to_pass : sender->batch.text.len;
	stream->to_pass -= bytes;
	stream->passed_over += bytes;
	atomic_fetch_add(&sender->there_before, count_lines(span_of(sender->batch.text.ptr, (size_t)bytes)));
	*is_passed = bytes > 0;
	if (bytes)
		spool_release(sender->options.spool, (size_t)bytes);
	return OK;
}

/*
 * A job that has ended goes on with what is new, before that is sent: an import that is killed behind it leaves a job that has not
 * ended, and the next one says when it did. Whom the stream belongs to meanwhile is nothing to a job that goes on anyhow.
 */
static enum status go_on_with(struct sender *sender, struct stream_state *stream, struct error *err)
{
	bool is_over = false;

	if (stream->has_news)
		return OK;
	TRY(job_read_is_over(sender->options.client, sender->job, &is_over, err));
	if (is_over)
		TRY(sender_open_stream(sender, sender->batch.stream, false, err));
	stream->is_known = false; /* what was asked is not sent yet */
	stream->has_news = true;
	return OK;
}

/* Points bear no offset. What the server may have, because it was sent by another process or got no reply, it is asked. */
static enum status send_points(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];
	const char *name = sender->options.streams[sender->batch.stream];
	AUTO_DONE(buf) body = BUF_INIT(MAX_POINTS_BYTES);

	if (!stream->stored_points && !(stream->stored_points = stored_points_new(&sender->compare_room)))
		return error_no_memory(err);
	struct job_points points = {.program = sender->options.program,
		.job = sender->job,
		.stream = name,
		.host = sender_host_of(sender, sender->batch.stream),
		.text = buf_span(&sender->batch.text),
		.place = stream->sent_bytes,
		.asks = !stream->is_known,
		.has_told = &stream->has_told_rejected,
		.stored = stream->stored_points};
	struct job_points_count count = {0};
	uint64_t rejected = 0;
	TRY(job_send_settings(sender->options.client, &points, err));
	stream->is_known = false;
	TRY(job_pick_points(sender->options.client, &points, &body, &count, err));
	if (sender->options.is_import && count.fresh)
		TRY(go_on_with(sender, stream, err));
	TRY(job_send_points(sender->options.client, &points, buf_span(&body), &rejected, err));
	stream->is_known = true;
	stream->sent_bytes += sender->batch.text.len;
	atomic_fetch_add(&sender->sent_lines, count_lines(buf_span(&sender->batch.text)));
	atomic_fetch_add(&sender->there_before, count.there);
	atomic_fetch_add(&sender->new_to_server, count.fresh > rejected ? count.fresh - rejected : 0);
	spool_release(sender->options.spool, sender->batch.text.len);
	sender->has_batch = false;
	return OK;
}

static bool holds_points(const struct sender *sender)
{
	return sender->options.is_points && sender->options.is_points[sender->batch.stream];
}

/*
 * Sent to another address before, a file begins with what this server may have: if it is the same one, or the job was brought to it.
 * Else a job of the same name is another's: it has lines that are not the file's.
 */
static enum status pass_over_moved(struct sender *sender, bool *is_passed, struct error *err)
{
	unsigned number = sender->batch.stream;
	struct stream_state *stream = &sender->streams[number];
	struct span text = buf_span(&sender->batch.text);
	size_t matched;
	bool stands;

	if (!sender->options.ledger || number >= sender->options.ledger_streams || stream->is_counted ||
		!ledger_asks(sender->options.ledger, number, sender->job, 0, &stands))
		return OK;
	if (!stream->is_known) {
		TRY(sender_open_stream(sender, number, false, err));
		stream->to_pass = stream->offset;
	}
	if (text.len > stream->to_pass)
		text.len = (size_t)stream->to_pass;
	matched = text.len;
	ledger_asks(sender->options.ledger, number, sender->job, stream->offset, &stands);
	if (!stands && text.len) {
		TRY(job_match_imported(sender->options.client, sender->job, sender->options.streams[number], text,
			&stream->imported, &matched, err));
		if (!stream->passed_over && matched < text.len && !stream->imported.is_at_end)
			matched = 0;
	}
	stream->to_pass -= matched;
	stream->passed_over += matched;
	stream->is_counted = matched < text.len || !stream->to_pass;
	*is_passed = matched > 0;
	if (!matched)
		return OK;
	ledger_pass(sender->options.ledger, number, &sender->batch, matched);
	spool_release(sender->options.spool, matched);
	return OK;
}

static void hide_secret(const struct sender *sender, struct buf *text)
{
	struct span secret = span_from(sender->options.secret), rest = buf_span(text);

	for (ptrdiff_t at; (at = span_find(rest, secret)) >= 0; rest = span_skip(rest, (size_t)at + secret.len))
		memset(text->ptr + (rest.ptr - text->ptr) + at, '*', secret.len);
}

/* Each time that it must is one of its own. */
static bool must_wait(struct sender *sender)
{
	bool must = sender->options.must_wait && sender->options.must_wait(sender->options.wait_context);

	sender->waited_beats = must ? sender->waited_beats : 0;
	return must && sender->waited_beats < MAX_WAITED_BEATS;
}

/* What is waited for comes as soon as the server can be reached, or not at all: only the time in which it answers counts. */
static enum status wait_to_send(struct sender *sender, struct error *err)
{
	int64_t heard_ms = sender->heard_ms;

	sender_pause(sender, MUST_WAIT_MS);
	if (clock_mono_ms() - heard_ms < WAITED_BEAT_MS)
		return OK;
	TRY(sender_beat(sender, err));
	sender->waited_beats += sender->heard_ms != heard_ms;
	return OK;
}

enum status sender_send_lines(struct sender *sender, struct error *err)
{
	sender_tell_of_loss(sender);
	if (sender_is_beat_due(sender))
		return sender_beat(sender, err);
	if (sender->has_batch && must_wait(sender))
		return wait_to_send(sender, err);
	if (sender->has_batch)
		return holds_points(sender) ? send_points(sender, err) : send_batch(sender, err);
	switch (spool_wait(sender->options.spool, BATCH_BYTES, BATCH_LINGER_MS, IDLE_WAIT_MS)) {
	case SPOOL_IS_EMPTY:
		return OK;
	case SPOOL_HAS_ENDED:
		sender->phase = PHASE_END;
		return OK;
	case SPOOL_HAS_BATCH:
		break;
	}
	enum status status = spool_take(sender->options.spool, BATCH_BYTES, &sender->batch, err);
	if (status == ERR_IO && ++sender->failed_reads < MAX_FAILED_READS) {
		sender_pause(
			sender, REREAD_MS); /* whoever watches the file may find the copy that was made before a cut */
		return OK;
	}
	sender->failed_reads = 0;
	if (status == ERR_IO) {
		client_say(sender->options.program, "%s", err->text);
		spool_lose_head(sender->options.spool);
		return OK;
	}
	TRY(status);
	if (holds_points(sender)) { /* their body depends on what the server has */
		sender->has_batch = true;
		return OK;
	}
	bool is_passed = false;
	TRY(sender->options.is_import ? pass_over(sender, &is_passed, err) : pass_over_moved(sender, &is_passed, err));
	if (is_passed)
		return OK;
	if (sender->options.secret)
		hide_secret(sender, &sender->batch.text);
	buf_reset(&sender->body);
	if (sender->options.is_import) { /* the server reads the times that the lines bear */
		sender->content_type = "text/plain";
		buf_append_span(&sender->body, buf_span(&sender->batch.text));
		TRY(buf_status(&sender->body, err));
	} else {
		TRY(line_body_put(&sender->batch, &sender->body, &sender->content_type, err));
	}
	sender->has_batch = true;
	sender->noted_offset = UINT64_MAX;
	return OK;
}

/* What --system sends beside the training's stream is no reason to keep that from the server. The token is that of both. */
bool sender_may_drop(const struct sender *sender, enum status status)
{
	return sender->phase == PHASE_LINES && sender->has_batch && sender->options.has_one_stream &&
	       sender->batch.stream != 0 && status != ERR_UNAUTHORIZED && status != ERR_FORBIDDEN;
}

void sender_drop_batch(struct sender *sender, const struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];

	if (!stream->has_told_refused)
		client_say(sender->options.program, "the server did not take some of stream '%s': %s",
			sender->options.streams[sender->batch.stream], err->text);
	stream->has_told_refused = true;
	sender->refused_until_ms = 0;
	sender->conflicts = 0;
	sender->dropped_lines += count_lines(buf_span(&sender->batch.text));
	spool_release(sender->options.spool, sender->batch.text.len);
	sender->has_batch = false;
}
