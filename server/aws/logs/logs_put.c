/* PutLogEvents: AWS's limits, then lines of a stream like any others; answered after the commit. */
#include "aws/logs/logs.h"
#include "aws/protocol/put_events.h"
#include "model/metrics/stream_name.h"
#include "pipeline/commit/ingest_result.h"
#include "store/jobs.h"
#include "store/retention.h"

#include <inttypes.h>
#include <stdio.h>

enum { SEQUENCE_BYTES = 57 };

/* What the answer says: of the call's arena, after the reader is gone. */
struct answer {
	size_t too_old_end, expired_end, too_new_start;
	bool has_too_new;
};

static void write_answer(struct aws_call *call, uint64_t seq)
{
	const struct answer *answer = call->own;
	char token[SEQUENCE_BYTES];

	snprintf(token, sizeof token, "%056" PRIu64, seq);
	json_put_text(&call->w, "nextSequenceToken", token);
	if (!answer->too_old_end && !answer->expired_end && !answer->has_too_new)
		return;
	json_key(&call->w, "rejectedLogEventsInfo");
	json_object(&call->w);
	if (answer->has_too_new)
		json_put_i64(&call->w, "tooNewLogEventStartIndex", (int64_t)answer->too_new_start);
	if (answer->too_old_end)
		json_put_i64(&call->w, "tooOldLogEventEndIndex", (int64_t)answer->too_old_end);
	if (answer->expired_end)
		json_put_i64(&call->w, "expiredLogEventEndIndex", (int64_t)answer->expired_end);
	json_object_end(&call->w);
}

static void answer_put(struct aws_call *call, const struct ingest_result *result)
{
	write_answer(call, result->seq);
}

static enum status keep_answer(struct aws_call *call, const struct put_events *put, struct error *err)
{
	struct answer *answer = arena_alloc(call->arena, sizeof *answer);

	if (!answer)
		return error_no_memory(err);
	*answer = (struct answer){put->too_old_end, put->expired_end, put->too_new_start, put->has_too_new};
	call->own = answer;
	return OK;
}

static enum status worded(
	const struct aws_call *call, const struct put_events *put, enum status status, struct error *err)
{
	if (status == ERR_INVALID && err)
		err->code = "SerializationException";
	return logs_reworded(call, put->wrong.ptr ? put->wrong : SPAN(""), status, err);
}

static enum status read_retention(
	const struct aws_call *call, struct span job, struct put_events *put, struct error *err)
{
	struct retention retention;
	struct job_row row;

	put->kept_from_ms = INT64_MIN;
	enum status status = store_read_job(call->reader, call->arena, job, &row, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* what is wrong with the events is told first */
	TRY(status);
	TRY(store_read_job_retention(call->reader, row.job_id, &retention, err));
	if (retention.max_age_ms)
		put->kept_from_ms = call->now_ms - retention.max_age_ms;
	return OK;
}

static enum status open_batch(
	const struct aws_call *call, const struct logs_name *name, struct batch **out, struct error *err)
{
	AUTO(batch) batch = batch_new(call->now_ms);

	if (!batch)
		return error_no_memory(err);
	/* SageMaker ends a stream's name with when its instance began: the name is that machine's alone */
	struct span machine = name->suffix.len ? logs_join(call->arena, name) : stream_health_host(name->stream);
	batch->host = machine.ptr && machine.len <= LOGS_NAME_MAX_BYTES ? machine : SPAN("");
	batch->source = SPAN("");
	batch->team = arena_copy(batch->arena, call->team);
	if (!batch->team.ptr || !machine.ptr || !(batch->host = arena_copy(batch->arena, batch->host)).ptr ||
		!batch_part(batch, name->job, name->stream))
		return error_no_memory(err);
	*out = TAKE(batch);
	return OK;
}

/* It may be there by another name than the one that was cut. */
static enum status find_stream(
	const struct aws_call *call, const struct logs_name *name, struct batch *batch, struct error *err)
{
	struct logs_stream stream;

	TRY(logs_find_stream(call, name, &stream, err));
	batch->parts[0].stream = arena_copy(batch->arena, stream.view.stream);
	return batch->parts[0].stream.ptr ? OK : error_no_memory(err);
}

enum status logs_put_events(struct aws_call *call, struct error *err)
{
	AUTO_DONE(put_events)
	put = {.body = call->body, .arena = call->arena, .now_ms = call->now_ms, .max_line_bytes = PUT_BYTES_MAX};
	AUTO(batch) batch = NULL;
	struct logs_name name;

	TRY(worded(call, &put, put_events_open(&put, err), err));
	TRY(logs_reworded(call, put.stream, logs_split(put.group, put.stream, &name, err), err));
	TRY(logs_resolve(call, &name, err));
	TRY(read_retention(call, name.job, &put, err));
	TRY(open_batch(call, &name, &batch, err));
	TRY(worded(call, &put, put_events_read(&put, batch, &batch->parts[0], err), err));
	TRY(find_stream(call, &name, batch, err));
	TRY(keep_answer(call, &put, err));
	if (!put.taken) {
		write_answer(call, 0);
		return OK;
	}
	call->lines = TAKE(batch);
	call->answer = answer_put;
	return OK;
}
