#include "pipeline/jobs/attachments.h"

#include "base/codec/zstd.h"
#include "base/crypto.h"
#include "base/json/json_write.h"
#include "model/jobs/attachment_path.h"
#include "pipeline/commit/resolve.h"
#include "state/audit.h"
#include "state/execute.h"
#include "store/jobs.h"

enum { ZSTD_LEVEL = 3, TOLD_BYTES = 16 << 10 };

struct changing {
	struct attachment_change *change;
	struct arena *arena;
	uint64_t part;
	struct span packed;
};

/* The audit log tells of a file once, when it is there or gone, and which: of its job nothing changes. */
static enum status execute_told(struct pipeline *pipeline, const struct attachment_row *row,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context, struct error *err)
{
	const struct actor *actor = audit_actor(pipeline);
	AUTO_DONE(buf) body = BUF_INIT(TOLD_BYTES);
	struct json_writer w = json_writer_on(&body);

	if (!actor)
		return writer_execute(pipeline, work, context, err);
	json_object(&w);
	json_put_span(&w, "path", row->path);
	if (row->sha256.len) {
		json_put_i64(&w, "bytes", (int64_t)row->bytes);
		json_put_span(&w, "sha256", row->sha256);
	}
	json_object_end(&w);
	TRY(buf_status(&body, err));
	struct actor telling = *actor;
	telling.body = buf_span(&body);
	audit_act_as(pipeline, &telling);
	enum status status = writer_execute(pipeline, work, context, err);
	audit_act_as(pipeline, actor);
	return status;
}

static enum status find_job(struct store_tx *tx, struct arena *arena, const struct attachment_change *change,
	int64_t *id, struct error *err)
{
	struct job_row job;

	TRY(store_read_job(store_tx_reader(tx), arena, change->job, &job, err));
	TRY(check_team(job.team, job.name, change->team, err));
	*id = job.job_id;
	return OK;
}

static enum status begin(void *context, struct store_tx *tx, struct error *err)
{
	struct changing *c = context;

	TRY(find_job(tx, c->arena, c->change, &c->change->row.job_id, err));
	return store_begin_attachment(tx, &c->change->row, &c->change->limits, err);
}

static enum status put_part(void *context, struct store_tx *tx, struct error *err)
{
	struct changing *c = context;

	return store_put_attachment_part(tx, &c->change->row, c->part, c->packed, err);
}

static enum status end(void *context, struct store_tx *tx, struct error *err)
{
	return store_end_attachment(tx, &((struct changing *)context)->change->row, err);
}

/* A transaction each: lines of others are committed between them. */
static enum status put_parts(struct pipeline *pipeline, struct changing *c, struct span content, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) packed = BUF_INIT(2 * ATTACHMENT_PART_BYTES);

	if (!zstd)
		return error_no_memory(err);
	for (; content.len; c->part++) {
		struct span part = content.len < ATTACHMENT_PART_BYTES
					   ? content
					   : (struct span){content.ptr, ATTACHMENT_PART_BYTES};
		content = span_skip(content, part.len);
		buf_reset(&packed);
		TRY(zstd_pack(zstd, part, ZSTD_LEVEL, &packed, err));
		c->packed = buf_span(&packed);
		TRY(writer_execute(pipeline, put_part, c, err));
	}
	return OK;
}

enum status pipeline_put_attachment(struct pipeline *pipeline, struct arena *arena, struct attachment_change *change,
	struct span content, struct error *err)
{
	struct changing c = {.change = change, .arena = arena};
	unsigned char hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];

	TRY(attachment_check_path(change->row.path, err));
	if (content.len > change->limits.file_bytes)
		return error_set(err, ERR_TOO_LARGE,
			"the file '%.*s' has %zu bytes, more than %llu (--max-attachment-bytes); put it where checkpoints are",
			SPAN_ARGS(span_cut(change->row.path, 200)), content.len,
			(unsigned long long)change->limits.file_bytes);
	crypto_sha256(content, hash);
	crypto_hex(hash, sizeof hash, hex);
	change->row.bytes = content.len;
	change->row.sha256 = arena_copy(arena, span_from(hex));
	if (!change->row.sha256.ptr)
		return error_no_memory(err);
	const struct actor *actor = audit_actor(pipeline);
	audit_act_as(pipeline, NULL); /* until it is there */
	enum status status = writer_execute(pipeline, begin, &c, err);
	if (status == OK)
		status = put_parts(pipeline, &c, content, err);
	audit_act_as(pipeline, actor);
	TRY(status);
	return execute_told(pipeline, &change->row, end, &c, err);
}

struct deleting {
	const struct attachment_change *change;
	struct arena *arena;
};

static enum status delete (void *context, struct store_tx *tx, struct error *err) {
	struct deleting *d = context; int64_t job_id;

	TRY(find_job(tx, d->arena, d->change, &job_id, err));
	return store_delete_attachment(tx, d->arena, job_id, d->change->row.path, err);
}

enum status pipeline_delete_attachment(
	struct pipeline *pipeline, struct arena *arena, const struct attachment_change *change, struct error *err)
{
	struct deleting d = {.change = change, .arena = arena};

	return execute_told(pipeline, &change->row, delete, &d, err);
}
