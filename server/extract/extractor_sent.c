/* The attempts of a stream, as its sent points see them. */
#include "base/hash128.h"
#include "extract/state.h"

bool extractor_is_led_by(struct extractor *extractor, struct span metric, bool is_loss)
{
	struct sent_steps *sent = &extractor->sent;
	struct hash128 hash = {0};

	hash128_add(&hash, metric);
	uint64_t name = hash.low | 1;
	if (sent->leader != name && (!sent->leader || (is_loss && !sent->is_loss))) {
		sent->leader = name;
		sent->is_loss = is_loss;
		sent->attempt = 0; /* its own steps */
		sent->fallen.is_there = false;
	}
	return sent->leader == name;
}

enum status extractor_place_sent(
	struct extractor *extractor, const struct sent_step *at, bool *is_open, struct error *err)
{
	return sent_place(&extractor->sent, &extractor->attempts, at, is_open, err);
}

bool extractor_set_breaks(struct extractor *extractor, const int64_t *at_ms, size_t count, unsigned changes)
{
	return attempts_set_breaks(&extractor->attempts, at_ms, count, changes);
}

unsigned extractor_break_changes(const struct extractor *extractor)
{
	return extractor->attempts.break_changes;
}

void extractor_begin_sent(struct extractor *extractor)
{
	extractor->sent.has_begun = true;
}

bool extractor_has_begun_sent(const struct extractor *extractor)
{
	return extractor->sent.has_begun;
}

void extractor_end_sent(struct extractor *extractor, int64_t arrival_ms)
{
	sent_end_body(&extractor->sent, arrival_ms);
}

uint32_t extractor_attempt_of_sent(const struct extractor *extractor, int64_t ts_ms)
{
	const struct sent_steps *sent = &extractor->sent;
	uint32_t attempt = extractor_attempt(extractor);

	return attempt - (attempt > 1 && attempt == sent->opened && ts_ms < sent->opened_ms);
}

int64_t extractor_opened_ms(const struct extractor *extractor)
{
	const struct sent_steps *sent = &extractor->sent;

	return sent->opened == extractor_attempt(extractor) ? sent->opened_ms : INT64_MAX;
}

enum status extractor_keep_sent(struct extractor *extractor, const struct extractor *before, struct error *err)
{
	extractor->sent = before->sent;
	if (!before->sent.opened)
		return OK;
	for (size_t i = extractor->attempts.start_count; i < before->attempts.start_count; i++)
		TRY(attempts_open_decided(&extractor->attempts, before->attempts.starts[i], err));
	return OK;
}
