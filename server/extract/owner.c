/*
 * Whose a series is, when two formats of a stream give metrics of the same name. Who came first keeps the name; the other's
 * series has a label, train:loss{preset="hf-trainer"}, or two curves would be drawn as one. The other gets the name itself
 * where it goes on with the curve: the first one has ended (a start-up line stands between them, or it was silent for
 * far longer than it uses to be), it was a generic one of few lines, or a near relative whose lines are now taken by the other.
 * An owner that comes back takes its name again from one that has said little.
 */
#include "extract/state.h"

static struct slot *slot_at(const struct run *run, uint32_t slot)
{
	return &run->extractor->slots.items[slot];
}

static const struct format *format_of(const struct run *run, const struct slot *slot)
{
	return formats_find(&run->extractor->formats, slot->preset);
}

/* Has been silent for long, or its trainer was started anew. */
static bool has_ended(const struct run *run, const struct format *owner)
{
	const struct attempts *attempts = &run->extractor->attempts;

	return (attempts->has_hint && attempts->hint_line > owner->last_line) ||
	       format_has_ended(owner, run->line->number);
}

static bool may_go_on(const struct run *run, const struct slot *of)
{
	const struct format *owner = format_of(run, of);

	return !owner || run->format->taken_over == owner->preset || has_ended(run, owner) ||
	       (owner->is_generic && !run->format->is_generic && !format_outweighs(owner, run->format));
}

static bool write_name(const struct run *run, uint32_t index, struct buf *out)
{
	extractor_series_name(run->extractor, run->set, index, out);
	return !out->failure;
}

/* False: no memory. */
static bool hash_of(const struct run *run, uint32_t index, uint32_t *out)
{
	struct slot *slot = slot_at(run, index);
	AUTO_DONE(buf) name = BUF_INIT(2 * METRIC_NAME_MAX_BYTES);

	if (!slot->shown_hash) {
		if (!write_name(run, index, &name))
			return false;
		slot->shown_hash = (uint32_t)span_hash(buf_span(&name)) | 1;
	}
	*out = slot->shown_hash;
	return true;
}

static bool compare_names(const struct run *run, uint32_t a, uint32_t b, bool *is_same)
{
	AUTO_DONE(buf) left = BUF_INIT(2 * METRIC_NAME_MAX_BYTES);
	AUTO_DONE(buf) right = BUF_INIT(2 * METRIC_NAME_MAX_BYTES);
	uint32_t hash, other;

	*is_same = false;
	if (!hash_of(run, a, &hash) || !hash_of(run, b, &other))
		return false;
	if (hash != other)
		return true;
	if (!write_name(run, a, &left) || !write_name(run, b, &right))
		return false;
	*is_same = span_equal(buf_span(&left), buf_span(&right));
	return true;
}

/* Of another preset, and it has points. SLOT_NONE: nobody. */
static bool find_owner(const struct run *run, uint32_t of, uint32_t *out)
{
	const struct extractor *extractor = run->extractor;
	bool is_same = false;

	*out = SLOT_NONE;
	for (uint32_t i = 0; i < extractor->slots.count && !is_same; i++) {
		const struct slot *slot = &extractor->slots.items[i];
		if (slot->preset == run->format->preset || slot->is_beside || slot->is_given_up ||
			!extractor->attempts.tracks[i].count)
			continue;
		if (!compare_names(run, i, of, &is_same))
			return false;
		*out = is_same ? i : SLOT_NONE;
	}
	return true;
}

static void give_name(const struct run *run, uint32_t from, uint32_t to)
{
	slot_at(run, from)->is_given_up = true;
	slot_at(run, from)->heir = to;
}

/* Of one that has ended the curve goes on: so do its attempts and its count. */
static void hand_over(const struct run *run, uint32_t from, uint32_t to)
{
	const struct track *old = &run->extractor->attempts.tracks[from];
	struct track *new = &run->extractor->attempts.tracks[to];
	const struct format *owner = format_of(run, slot_at(run, from));

	give_name(run, from, to);
	slot_at(run, to)->last_at = slot_at(run, from)->last_at;
	slot_at(run, to)->last_count = slot_at(run, from)->last_count;
	slot_at(run, to)->last_value = slot_at(run, from)->last_value;
	if (!owner || !has_ended(run, owner))
		return;
	new->now = old->now;
	new->before = old->before;
	new->is_on_trial = old->is_on_trial;
	new->progress = old->progress;
	new->count = old->count;
}

static uint32_t find_twin(struct run *run, uint32_t slot)
{
	uint32_t twin = slot_at(run, slot)->twin;

	if (twin == SLOT_NONE)
		twin = slots_add_twin(&run->extractor->slots, slot);
	return twin;
}

/* Its name went to another, which may have been a stray. */
static uint32_t come_back(struct run *run, uint32_t index)
{
	struct slot *slot = slot_at(run, index);
	uint32_t heir = slot->heir;

	for (size_t i = 0; i < FORMATS_MAX && slot_at(run, heir)->is_given_up; i++)
		heir = slot_at(run, heir)->heir;
	const struct format *format = format_of(run, slot_at(run, heir));
	if (format && !format_outweighs(run->format, format))
		return find_twin(run, index);
	give_name(run, heir, index);
	slot->is_given_up = false;
	return index;
}

bool owner_find_slot(struct run *run, uint32_t *index)
{
	struct slot *slot = slot_at(run, *index);
	uint32_t owner;

	if (slot->is_given_up) {
		*index = come_back(run, *index);
		return true;
	}
	if (slot->is_settled)
		return true;
	if (!find_owner(run, *index, &owner))
		return false;
	slot->is_settled = true;
	if (owner == SLOT_NONE)
		return true;
	if (may_go_on(run, slot_at(run, owner)))
		hand_over(run, owner, *index);
	else
		slot->is_beside = true;
	return true;
}
