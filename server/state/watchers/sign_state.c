#include "state/watchers/sign_state.h"

#include "base/alloc.h"

enum { NAME_BYTES = 64, SIGN_MIN_BYTES = 9 };

struct signs *signs_new(void)
{
	struct signs *signs = mem_zeroed(sizeof *signs);

	if (!signs)
		return NULL;
	signs->checkpoint_step = -1;
	signs->record_host = BUF_INIT(SIGN_HOST_BYTES);
	return signs;
}

void signs_free(struct signs *signs)
{
	if (!signs)
		return;
	for (size_t i = 0; i < signs->count; i++) {
		buf_done(&signs->items[i].name);
		buf_done(&signs->items[i].text);
		buf_done(&signs->items[i].host);
	}
	buf_done(&signs->record_host);
	mem_free(signs->items);
	mem_free(signs->cuts.at);
	mem_free(signs->cuts.begun);
	mem_free(signs);
}

struct sign *signs_find(const struct signs *signs, struct span name, struct span host)
{
	for (size_t i = 0; i < signs->count; i++)
		if (span_equal(buf_span(&signs->items[i].name), name) &&
			span_equal(buf_span(&signs->items[i].host), host))
			return &signs->items[i];
	return NULL;
}

void sign_begin(struct sign *sign, struct span name, struct span host)
{
	buf_done(&sign->name);
	buf_done(&sign->text);
	buf_done(&sign->host);
	*sign = (struct sign){
		.name = BUF_INIT(NAME_BYTES), .text = BUF_INIT(SIGN_TEXT_BYTES + 8), .host = BUF_INIT(SIGN_HOST_BYTES)};
	buf_append_span(&sign->name, name);
	buf_append_span(&sign->host, host);
}

struct sign *signs_add(struct signs *signs, struct span name, struct span host)
{
	if (!mem_grow((void **)&signs->items, signs->count, &signs->cap, sizeof *signs->items))
		return NULL;
	struct sign *sign = &signs->items[signs->count++];
	*sign = (struct sign){0};
	sign_begin(sign, name, host);
	return sign;
}

struct sign *signs_find_oldest(const struct signs *signs)
{
	struct sign *oldest = NULL;

	for (size_t i = 0; signs->count >= SIGNS_MAX && i < signs->count; i++) {
		struct sign *sign = &signs->items[i];
		if (sign->host.len && (!oldest || sign->last_line < oldest->last_line))
			oldest = sign;
	}
	return oldest;
}

void signs_pack(const struct signs *signs, struct buf *out)
{
	pack_i64(out, signs->checkpoint_step);
	pack_u64(out, signs->checkpoint_attempt);
	pack_u64(out, signs->count);
	for (size_t i = 0; i < signs->count; i++) {
		const struct sign *sign = &signs->items[i];
		pack_span(out, buf_span(&sign->name));
		pack_u64(out, sign->count);
		pack_u64(out, sign->first_line);
		pack_u64(out, sign->last_line);
		pack_i64(out, sign->first_ms);
		pack_i64(out, sign->last_ms);
		pack_u64(out, sign->is_historic);
		pack_span(out, buf_span(&sign->text));
		pack_span(out, buf_span(&sign->host));
	}
}

static bool unpack_one(struct signs *signs, struct unpacker *in)
{
	struct sign *sign = signs_add(signs, unpack_span(in), SPAN(""));

	if (!sign)
		return false;
	sign->count = unpack_u64(in);
	sign->first_line = unpack_u64(in);
	sign->last_line = unpack_u64(in);
	sign->first_ms = unpack_i64(in);
	sign->last_ms = unpack_i64(in);
	sign->is_historic = unpack_u64(in) != 0;
	buf_append_span(&sign->text, unpack_span(in));
	buf_append_span(&sign->host, unpack_span(in));
	return true;
}

enum status signs_unpack(struct signs **out, struct unpacker *in, struct error *err)
{
	struct signs *signs = signs_new();

	if (!signs)
		return error_no_memory(err);
	*out = signs;
	signs->checkpoint_step = unpack_i64(in);
	signs->checkpoint_attempt = (uint32_t)unpack_u64(in);
	size_t count = unpack_count(in, SIGN_MIN_BYTES);
	for (size_t i = 0; i < count && !in->has_failed; i++)
		if (!unpack_one(signs, in))
			return error_no_memory(err);
	return OK;
}
