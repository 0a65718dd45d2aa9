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
		sent->fallen.is_there = sent->back.is_there = false;
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
	return attempts_of_sent(&extractor->attempts, ts_ms);
}

uint32_t extractor_begun_at(const struct extractor *extractor, int64_t ts_ms)
{
	uint32_t attempt = attempts_of_sent(&extractor->attempts, ts_ms);

	return attempt > 1 && extractor->attempts.sent_ms[attempt - 1] == ts_ms ? attempt : 0;
}

int64_t extractor_began_ms(const struct extractor *extractor, uint32_t attempt)
{
	int64_t sent_ms = extractor->attempts.sent_ms[attempt - 1];

	return sent_ms == INT64_MIN ? INT64_MAX : sent_ms;
}

int64_t extractor_fallen_ms(const struct extractor *extractor)
{
	return extractor->sent.fallen.is_there ? extractor->sent.fallen.ms : INT64_MAX;
}

static bool has_any_sent(const struct attempts *attempts)
{
	for (size_t i = 0; i < attempts->start_count; i++)
		if (attempts->sent_ms[i] != INT64_MIN)
			return true;
	return false;
}

enum status extractor_keep_sent(struct extractor *extractor, const struct extractor *before, struct error *err)
{
	struct attempts *attempts = &extractor->attempts;
	const struct attempts *known = &before->attempts;

	extractor->sent = before->sent;
	if (!has_any_sent(known))
		return OK;
	for (size_t i = 0; i < attempts->start_count && i < known->start_count; i++)
		attempts->sent_ms[i] = known->sent_ms[i];
	for (size_t i = attempts->start_count; i < known->start_count; i++)
		TRY(attempts_open_decided(attempts, known->starts[i], known->sent_ms[i], err));
	return OK;
}
