#include "pipeline/carry/carry_import_file.h"

#include "base/crypto.h"

enum { ZSTD_LEVEL = 3, SAID_PATH_BYTES = 200 };

void carry_import_forget_files(struct carry_import *import)
{
	struct carry_files *files = &import->files;

	buf_done(&files->path);
	buf_done(&files->content);
	*files = (struct carry_files){.path = BUF_INIT(SIZE_MAX / 2), .content = BUF_INIT(SIZE_MAX / 2)};
}

static enum status check_quota(const struct carry_import *import, const struct attachment_row *row, struct error *err)
{
	const struct attachment_limits *limits = &import->limits;
	const struct carry_files *files = &import->files;
	struct span path = span_cut(row->path, SAID_PATH_BYTES);

	if (row->bytes > limits->file_bytes)
		return error_set_field(err, ERR_TOO_LARGE, "bytes",
			"the attachment '%.*s' has %llu bytes, more than %llu (--max-attachment-bytes)",
			SPAN_ARGS(path), (unsigned long long)row->bytes, (unsigned long long)limits->file_bytes);
	if (import->counts.attachments >= limits->files)
		return error_set_field(err, ERR_TOO_LARGE, "path",
			"'%.*s' is one attachment more than the %llu that a job may have (--max-attachments)",
			SPAN_ARGS(path), (unsigned long long)limits->files);
	if (files->bytes > limits->bytes || row->bytes > limits->bytes - files->bytes)
		return error_set_field(err, ERR_TOO_LARGE, "bytes",
			"with '%.*s' the job's attachments have %llu bytes, more than %llu (--max-job-attachment-bytes)",
			SPAN_ARGS(path), (unsigned long long)(files->bytes + row->bytes),
			(unsigned long long)limits->bytes);
	return OK;
}

/* A whole job or none: the ones behind it are none the worse. */
static enum status leave_out(struct carry_import *import, struct span why, struct error *err)
{
	struct carry_op *op;

	TRY(carry_import_add_op(import, OP_LEAVE_OUT, &op, err));
	import->job->left_out = arena_copy(import->job->arena, why);
	return import->job->left_out.ptr ? OK : error_no_memory(err);
}

/* What is kept of it until its last part came. */
static enum status open_file(struct carry_import *import, const struct attachment_row *row, struct error *err)
{
	struct carry_files *files = &import->files;
	unsigned char none[SHA256_BYTES];

	buf_reset(&files->path);
	buf_append_span(&files->path, row->path);
	buf_reset(&files->content);
	memcpy(files->sha256, row->sha256.ptr, 2 * SHA256_BYTES);
	files->left = row->bytes;
	files->part = 0;
	files->bytes += row->bytes;
	crypto_sha256(SPAN(""), none);
	crypto_hex(none, sizeof none, files->hex);
	if (!row->bytes && memcmp(files->hex, files->sha256, 2 * SHA256_BYTES) != 0)
		return error_set_field(err, ERR_SEMANTIC, "sha256", "'sha256' is not that of no bytes");
	return buf_status(&files->path, err);
}

enum status carry_import_take_attachment(
	struct carry_import *import, const struct attachment_row *row, struct error *err)
{
	struct error past = {.status = OK};
	struct carry_op *op;

	TRY(carry_import_finish_stream(import, err));
	TRY(carry_import_finish_file(import, err));
	if (import->counts.attachments && span_compare(row->path, buf_span(&import->files.path)) <= 0)
		return error_set_field(err, ERR_SEMANTIC, "path",
			"attachments come in the order of their paths, each once: '%.*s' is not behind '%.*s'",
			SPAN_ARGS(span_cut(row->path, SAID_PATH_BYTES)),
			SPAN_ARGS(span_cut(buf_span(&import->files.path), SAID_PATH_BYTES)));
	if (check_quota(import, row, &past) != OK)
		return leave_out(import, span_from(past.text), err);
	TRY(carry_import_add_op(import, OP_ATTACHMENT, &op, err));
	op->attachment = *row;
	struct arena *arena = import->batch->arena;
	if (!carry_import_copy(arena, &op->attachment.path) ||
		!carry_import_copy(arena, &op->attachment.content_type) ||
		!carry_import_copy(arena, &op->attachment.sha256) || !carry_import_copy(arena, &op->attachment.author))
		return error_no_memory(err);
	import->has_incidents = true;
	import->counts.attachments++;
	return open_file(import, row, err);
}

static enum status check_hash(struct carry_files *files, struct error *err)
{
	unsigned char hash[SHA256_BYTES];

	crypto_sha256(buf_span(&files->content), hash);
	crypto_hex(hash, sizeof hash, files->hex);
	if (memcmp(files->hex, files->sha256, 2 * SHA256_BYTES) != 0)
		return error_set_field(err, ERR_SEMANTIC, "base64",
			"the bytes of attachment '%.*s' are not those of its 'sha256'",
			SPAN_ARGS(span_cut(buf_span(&files->path), SAID_PATH_BYTES)));
	buf_reset(&files->content);
	return OK;
}

/* Its bytes go to the writer as they come: should they prove wrong at the end, nobody will see the job. */
static enum status add_part(struct carry_import *import, const struct carry_part *part, bool is_last, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(2 * ATTACHMENT_PART_BYTES);
	struct carry_files *files = &import->files;
	struct carry_op *op;

	TRY(zstd_pack(import->zstd, part->data, ZSTD_LEVEL, &packed, err));
	TRY(carry_import_add_op(import, OP_PART, &op, err));
	op->part.path = arena_copy(import->batch->arena, buf_span(&files->path));
	op->part.packed = arena_copy(import->batch->arena, buf_span(&packed));
	op->part.number = files->part++;
	op->part.is_last = is_last;
	return op->part.path.ptr && op->part.packed.ptr ? OK : error_no_memory(err);
}

enum status carry_import_take_part(struct carry_import *import, const struct carry_part *part, struct error *err)
{
	struct carry_files *files = &import->files;

	if (!files->left)
		return error_set_field(err, ERR_SEMANTIC, "record",
			"a part comes behind the attachment that it is of, which lacks it");
	if (part->first != files->content.len)
		return error_set_field(err, ERR_SEMANTIC, "first", "'first' is %llu; the next byte is %zu",
			(unsigned long long)part->first, files->content.len);
	if (part->data.len > files->left)
		return error_set_field(err, ERR_SEMANTIC, "base64",
			"'base64' is of %zu bytes; attachment '%.*s' lacks %llu", part->data.len,
			SPAN_ARGS(span_cut(buf_span(&files->path), SAID_PATH_BYTES)), (unsigned long long)files->left);
	buf_append_span(&files->content, part->data);
	TRY(buf_status(&files->content, err));
	files->left -= part->data.len;
	if (!files->left)
		TRY(check_hash(files, err));
	return add_part(import, part, !files->left, err);
}

enum status carry_import_finish_file(struct carry_import *import, struct error *err)
{
	const struct carry_files *files = &import->files;

	return files->left ? error_set_field(err, ERR_SEMANTIC, "record", "attachment '%.*s' lacks its last %llu bytes",
				     SPAN_ARGS(span_cut(buf_span(&files->path), SAID_PATH_BYTES)),
				     (unsigned long long)files->left)
			   : OK;
}
