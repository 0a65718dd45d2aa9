#include "aws/logs/logs_token.h"

#include <inttypes.h>
#include <stdio.h>

enum { DIGITS = 56, TIME_DIGITS = 20, LINE_DIGITS = 20, OWNER_DIGITS = 15 };

static const uint64_t bias = (uint64_t)1 << 63, owners = 1000000000000000; /* fifteen digits */

static uint64_t owner_of(struct span owner)
{
	return span_hash(owner) % owners;
}

/* f/: order, owner, time, line. */
void logs_token_print(const struct logs_token *token, struct span owner, char out[LOGS_TOKEN_BYTES])
{
	snprintf(out, LOGS_TOKEN_BYTES, "%c/%d%015" PRIu64 "%020" PRIu64 "%020" PRIu64, token->is_backward ? 'b' : 'f',
		token->is_by_time ? 2 : 1, owner_of(owner), (uint64_t)token->ts_ms + bias, token->line);
}

bool logs_token_read(struct span text, struct span owner, struct logs_token *out)
{
	uint64_t named, ts;
	struct span digits = span_skip(text, 2);

	if (text.len != DIGITS + 2 || text.ptr[1] != '/' || (text.ptr[0] != 'f' && text.ptr[0] != 'b') ||
		(digits.ptr[0] != '1' && digits.ptr[0] != '2'))
		return false;
	out->is_backward = text.ptr[0] == 'b';
	out->is_by_time = digits.ptr[0] == '2';
	if (!span_parse_u64(span_of(digits.ptr + 1, OWNER_DIGITS), &named) ||
		!span_parse_u64(span_of(digits.ptr + 1 + OWNER_DIGITS, TIME_DIGITS), &ts) ||
		!span_parse_u64(span_of(digits.ptr + 1 + OWNER_DIGITS + TIME_DIGITS, LINE_DIGITS), &out->line))
		return false;
	out->ts_ms = (int64_t)(ts - bias);
	return named == owner_of(owner);
}

struct span logs_filter_token_print(struct arena *arena, const struct logs_filter_token *token)
{
	char text[160];
	int len = snprintf(text, sizeof text, "1.%" PRId64 ".%" PRId64, token->first_id, token->last_id);

	if (token->has_place)
		len += snprintf(text + len, sizeof text - (size_t)len, ".%" PRId64 ".%" PRId64 ".%" PRIu32 ".%" PRIu64,
			token->ts_ms, token->job_id, token->stream_id, token->line);
	return arena_copy(arena, span_of(text, (size_t)len));
}

bool logs_filter_token_read(struct span text, struct logs_filter_token *out)
{
	struct span rest = text, parts[7];
	uint64_t stream_id;
	size_t count = 0;

	*out = (struct logs_filter_token){0};
	while (count < 7 && span_next(&rest, '.', &parts[count]))
		count++;
	if (rest.ptr || (count != 3 && count != 7) || !span_equal(parts[0], SPAN("1")) ||
		!span_parse_i64(parts[1], &out->first_id) || !span_parse_i64(parts[2], &out->last_id) ||
		out->first_id < 0 || out->last_id < 0 || out->last_id == INT64_MAX)
		return false; /* whoever made it up: the neighbours of these numbers are asked for */
	out->has_place = count == 7;
	if (!out->has_place)
		return true;
	if (!span_parse_i64(parts[3], &out->ts_ms) || !span_parse_i64(parts[4], &out->job_id) ||
		!span_parse_u64(parts[5], &stream_id) || stream_id > UINT32_MAX ||
		!span_parse_u64(parts[6], &out->line))
		return false;
	out->stream_id = (uint32_t)stream_id;
	return true;
}
