#include "pipeline/carry/carry_attachment.h"

#include "base/crypto.h"
#include "model/jobs/attachment_path.h"
#include "pipeline/carry/carry_want.h"

static const int64_t largest = (int64_t)1 << 53;

void carry_write_attachment(const struct attachment_row *row, struct json_writer *w)
{
	json_put_span(w, "path", row->path);
	json_put_span(w, "content_type", row->content_type);
	json_put_i64(w, "bytes", (int64_t)row->bytes);
	json_put_span(w, "sha256", row->sha256);
	json_put_i64(w, "created_ms", row->created_ms);
	json_put_span(w, "author", row->author);
}

void carry_write_part(const struct carry_part *part, struct json_writer *w)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	json_put_i64(w, "first", (int64_t)part->first);
	crypto_base64(part->data, &text);
	if (text.failure)
		w->out->failure = text.failure;
	json_put_span(w, "base64", buf_span(&text));
}

static enum status read_hash(const struct json *object, struct arena *arena, struct span *out, struct error *err)
{
	bool is_hash;

	TRY(want_text(object, "sha256", 2 * SHA256_BYTES, arena, out, err));
	is_hash = out->len == 2 * SHA256_BYTES;
	for (size_t i = 0; i < out->len; i++)
		is_hash &= (out->ptr[i] >= '0' && out->ptr[i] <= '9') || (out->ptr[i] >= 'a' && out->ptr[i] <= 'f');
	return is_hash ? OK : error_set_field(err, ERR_SEMANTIC, "sha256", "'sha256' is no SHA-256 in lower-case hex");
}

enum status carry_read_attachment(
	const struct json *object, struct arena *arena, struct attachment_row *row, struct error *err)
{
	int64_t bytes = 0;

	*row = (struct attachment_row){0};
	TRY(want_text(object, "path", ATTACHMENT_PATH_MAX_BYTES, arena, &row->path, err));
	TRY(attachment_check_path(row->path, err));
	TRY(want_text(object, "content_type", ATTACHMENT_TYPE_MAX_BYTES, arena, &row->content_type, err));
	TRY(want_i64(object, "bytes", 0, largest, &bytes, err));
	row->bytes = (uint64_t)bytes;
	TRY(read_hash(object, arena, &row->sha256, err));
	TRY(want_i64(object, "created_ms", 0, largest, &row->created_ms, err));
	return want_name(object, "author", 0, arena, &row->author, err);
}

enum status carry_read_part(const struct json *object, struct arena *arena, struct carry_part *part, struct error *err)
{
	AUTO_DONE(buf) data = BUF_INIT(SIZE_MAX / 2);
	const struct json *node;

	*part = (struct carry_part){0};
	TRY(want_count(object, "first", &part->first, err));
	TRY(want_node(object, "base64", &node, "a string", err));
	if (json_kind(node) != JSON_STRING || !crypto_unbase64(json_string_of(node), &data))
		return error_set_field(err, ERR_SEMANTIC, "base64", "'base64' is no base64");
	TRY(buf_status(&data, err));
	if (!data.len || data.len > ATTACHMENT_PART_BYTES)
		return error_set_field(err, ERR_SEMANTIC, "base64", "'base64' is of %zu bytes; a part has 1 to %d",
			data.len, ATTACHMENT_PART_BYTES);
	part->data = arena_copy(arena, buf_span(&data));
	return part->data.ptr ? OK : error_no_memory(err);
}
