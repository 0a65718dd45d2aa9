#include "extract/line/partial.h"

#include "extract/line/cursor.h"

enum { TIME_LEAST = 20, TIME_MOST = 40 };

/* "2016-10-06T00:17:09.669794202Z stdout P text": where the flag stands; 0: it is none. */
static size_t find_flag(struct span text, size_t *output)
{
	ptrdiff_t time = span_find_char(span_cut(text, TIME_MOST + 1), ' ');

	if (time < TIME_LEAST || !has_form(text, "dddd-dd-ddTdd:dd:dd"))
		return 0;
	struct span rest = span_skip(text, (size_t)time + 1);
	bool is_error = span_take(&rest, SPAN("stderr "));
	if (!is_error && !span_take(&rest, SPAN("stdout ")))
		return 0;
	*output = is_error;
	return (char_at(rest, 0) == 'P' || char_at(rest, 0) == 'F') && char_at(rest, 1) == ' '
		       ? (size_t)(rest.ptr - text.ptr)
		       : 0;
}

void partials_init(struct partials *partials)
{
	*partials = (struct partials){0};
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++)
		partials->outputs[i].text = BUF_INIT(PARTIAL_MAX_BYTES);
}

void partials_done(struct partials *partials)
{
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++)
		buf_done(&partials->outputs[i].text);
	partials_init(partials);
}

static void forget(struct partial *partial)
{
	buf_done(&partial->text); /* few streams have such lines, and they are large */
	*partial = (struct partial){.text = BUF_INIT(PARTIAL_MAX_BYTES)};
}

static void forget_joined(struct partials *partials)
{
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++) {
		struct span text = buf_span(&partials->outputs[i].text);
		size_t output, flag = find_flag(text, &output);
		if (flag && text.ptr[flag] == 'F')
			forget(&partials->outputs[i]);
	}
	partials->has_joined = false;
}

static void append(struct partial *partial, struct span text)
{
	size_t room = PARTIAL_MAX_BYTES - partial->text.len;

	partial->is_cut |= text.len > room;
	buf_append(&partial->text, text.ptr, text.len < room ? text.len : room);
}

enum partial_kind partials_take(struct partials *partials, struct span *text, bool *is_cut)
{
	size_t output;

	if (partials->has_joined)
		forget_joined(partials);
	size_t flag = find_flag(*text, &output);
	if (!flag)
		return PARTIAL_NONE;
	struct partial *partial = &partials->outputs[output];
	bool is_part = text->ptr[flag] == 'P', is_first = partial->text.len == 0;
	if (is_first && !is_part)
		return PARTIAL_NONE;
	append(partial, is_first ? *text : span_skip(*text, flag + 2));
	if (partial->text.failure) {
		forget(partial);
		return PARTIAL_NO_MEMORY;
	}
	if (is_part)
		return PARTIAL_WAITS;
	partial->text.ptr[find_flag(buf_span(&partial->text), &output)] = 'F';
	partials->has_joined = true;
	*text = buf_span(&partial->text);
	*is_cut |= partial->is_cut;
	return PARTIAL_JOINED;
}

struct span partial_text(struct span part)
{
	size_t output, flag = find_flag(part, &output);

	return flag ? span_skip(part, flag + 2) : SPAN("");
}

void partials_pack(const struct partials *partials, struct buf *out)
{
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++) {
		struct span text = buf_span(&partials->outputs[i].text);
		size_t output, flag = find_flag(text, &output);
		bool waits = flag && text.ptr[flag] == 'P';
		pack_span(out, waits ? text : SPAN(""));
		pack_u64(out, waits && partials->outputs[i].is_cut);
	}
}

bool partials_unpack(struct partials *partials, struct unpacker *in)
{
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++) {
		struct partial *partial = &partials->outputs[i];
		struct span text = unpack_span(in);
		size_t output = i;
		partial->is_cut = unpack_u64(in) != 0;
		if (in->has_failed || (text.len && (!find_flag(text, &output) || output != i)))
			return false;
		buf_append_span(&partial->text, text);
		if (partial->text.failure)
			return false;
	}
	return true;
}
