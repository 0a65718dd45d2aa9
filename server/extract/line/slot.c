#include "extract/line/slot.h"

#include "base/alloc.h"

enum { INDEX_MIN = 16 };

void slots_done(struct slots *slots)
{
	for (size_t i = 0; i < slots->count; i++)
		mem_free(slots->items[i].name);
	mem_free(slots->items);
	mem_free(slots->index);
	*slots = (struct slots){0};
}

static struct slot *add(struct slots *slots, size_t most)
{
	if (slots->count >= most || !mem_grow((void **)&slots->items, slots->count, &slots->cap, sizeof *slots->items))
		return NULL;
	struct slot *slot = &slots->items[slots->count++];
	*slot = (struct slot){.tail = (uint32_t)(slots->count - 1),
		.next = SLOT_NONE,
		.twin = SLOT_NONE,
		.rank = RANK_NONE,
		.lead = RANK_NONE};
	return slot;
}

bool slots_add_definitions(struct slots *slots, int32_t preset, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = add(slots, SLOTS_MAX);
		if (!slot)
			return false;
		slot->preset = preset;
		slot->definition = (uint32_t)i;
		slot->first = (uint32_t)(slots->count - 1);
	}
	return true;
}

static bool is_named(const struct slot *slot, struct span name)
{
	return slot->name ? span_equal(span_from(slot->name), name) : name.len == 0;
}

/* ---- who is in the chain of a definition: a log may have thousands of names ---- */

static size_t index_start(const struct slots *slots, uint32_t first, uint32_t hash, int32_t rank)
{
	uint64_t key = ((uint64_t)first << 32 | hash) ^ (uint64_t)(uint32_t)rank * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots->index_cap - 1);
}

static void index_put(struct slots *slots, uint32_t number)
{
	const struct slot *slot = &slots->items[number];
	size_t at = index_start(slots, slot->first, slot->hash, slot->rank);

	while (slots->index[at])
		at = (at + 1) & (slots->index_cap - 1);
	slots->index[at] = number + 1;
	slots->index_count++;
}

/* Room for one more, half of it free. */
static bool index_grow(struct slots *slots)
{
	size_t cap = slots->index_cap ? 2 * slots->index_cap : INDEX_MIN, old_cap = slots->index_cap;

	if (2 * (slots->index_count + 1) <= slots->index_cap)
		return true;
	uint32_t *old = slots->index, *new = mem_zeroed(cap * sizeof *new);
	if (!new)
		return false;
	slots->index = new;
	slots->index_cap = cap;
	slots->index_count = 0;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i])
			index_put(slots, old[i] - 1);
	mem_free(old);
	return true;
}

/* SLOT_NONE: there is none yet. */
static uint32_t index_find(const struct slots *slots, uint32_t first, struct span name, uint32_t hash, int32_t rank)
{
	if (!slots->index_cap)
		return SLOT_NONE;
	for (size_t at = index_start(slots, first, hash, rank); slots->index[at];
		at = (at + 1) & (slots->index_cap - 1)) {
		const struct slot *slot = &slots->items[slots->index[at] - 1];
		if (slot->first == first && slot->hash == hash && slot->rank == rank && is_named(slot, name))
			return slots->index[at] - 1;
	}
	return SLOT_NONE;
}

/* The slot of that name and rank in the chain of `first`, made when it is new. */
static uint32_t in_chain(struct slots *slots, uint32_t first, struct span name, uint32_t hash, int32_t rank)
{
	const struct slot *head = &slots->items[first];
	uint32_t at = head->rank == rank && is_named(head, name) ? first : index_find(slots, first, name, hash, rank);

	if (at != SLOT_NONE)
		return at;
	char *copy = name.len ? mem_copy_bytes(name.ptr, name.len) : NULL;
	struct slot *slot = (name.len && !copy) || !index_grow(slots) ? NULL : add(slots, SLOTS_NAMED_MAX);
	if (!slot) {
		mem_free(copy);
		return SLOT_NONE;
	}
	uint32_t self = (uint32_t)(slots->count - 1);
	slot->preset = slots->items[first].preset;
	slot->definition = slots->items[first].definition;
	slot->first = first;
	slot->name = copy;
	slot->hash = hash;
	slot->rank = rank;
	slots->items[slots->items[first].tail].next = self;
	slots->items[first].tail = self;
	index_put(slots, self);
	return self;
}

static bool is_same(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

/* What another rank said at that step, else NULL. */
static const struct said *said_by_other(const struct slot *slot, const struct said *said)
{
	uint32_t kept = slot->said_count < SAID_MAX ? slot->said_count : SAID_MAX;

	for (uint32_t i = 0; i < kept; i++)
		if (slot->said[i].step == said->step && slot->said[i].rank != said->rank)
			return &slot->said[i];
	return NULL;
}

/* Without a rank. NULL: it is not made yet. */
static const struct slot *main_slot(const struct slots *slots, uint32_t first, struct span name, uint32_t hash)
{
	const struct slot *head = &slots->items[first];
	uint32_t at = head->rank == RANK_NONE && is_named(head, name) ? first
								      : index_find(slots, first, name, hash, RANK_NONE);

	return at == SLOT_NONE ? NULL : &slots->items[at];
}

static const struct said *last_said(const struct slot *slot)
{
	return slot->said_count ? &slot->said[(slot->said_count - 1) % SAID_MAX] : NULL;
}

bool slots_falls(const struct slots *slots, uint32_t first, struct span name, const struct said *said)
{
	const struct slot *slot = main_slot(slots, first, name, name.len ? (uint32_t)span_hash(name) : 0);
	uint32_t kept = !slot ? 0 : slot->said_count < SAID_MAX ? slot->said_count : SAID_MAX;

	for (uint32_t i = 0; i < kept; i++)
		if (slot->said[i].step == said->step && slot->said[i].rank > said->rank)
			return true;
	return false;
}

void slot_note(struct slot *slot, const struct said *said)
{
	slot->said[slot->said_count++ % SAID_MAX] = *said;
}

bool slots_is_new_rank(const struct slots *slots, uint32_t first, struct span name, const struct said *said)
{
	uint32_t hash = name.len ? (uint32_t)span_hash(name) : 0;
	const struct slot *slot = main_slot(slots, first, name, hash);

	return slot && slot->is_apart && said->rank != slot->lead && said->step > last_said(slot)->step &&
	       index_find(slots, first, name, hash, said->rank) == SLOT_NONE;
}

/* Others are further on, and what they said at this step is not known any more. */
static bool is_behind(const struct slot *slot, const struct said *said)
{
	const struct said *last = last_said(slot);

	return last && !slot->has_folded && last->rank != said->rank && said->rank != slot->lead &&
	       said->step < last->step;
}

/* False: another rank has said the same. */
static bool tell_apart(struct slot *slot, const struct said *said, bool is_sure)
{
	const struct said *other = said_by_other(slot, said);

	if (other && is_same(other->value, said->value)) {
		slot->has_folded = true;
		return false;
	}
	slot->lead = other ? other->rank : slot->lead;
	slot->is_apart = other || (is_sure && is_behind(slot, said));
	slot_note(slot, said);
	return true;
}

uint32_t slots_find(struct slots *slots, uint32_t first, struct span name, const struct said *said, bool is_sure)
{
	uint32_t hash = name.len ? (uint32_t)span_hash(name) : 0;
	uint32_t at = name.len ? in_chain(slots, first, name, hash, RANK_NONE) : first;

	if (at == SLOT_NONE || said->rank == RANK_NONE)
		return at;
	struct slot *slot = &slots->items[at];
	if (slot->lead == RANK_NONE)
		slot->lead = said->rank;
	if (!slot->is_apart && !tell_apart(slot, said, is_sure))
		return SLOT_FOLDED;
	return slot->is_apart && said->rank != slot->lead ? in_chain(slots, first, name, hash, said->rank) : at;
}

uint32_t slots_add_twin(struct slots *slots, uint32_t of)
{
	const char *name = slots->items[of].name;
	char *copy = name ? mem_copy_string(name) : NULL;
	struct slot *twin = name && !copy ? NULL : add(slots, SLOTS_NAMED_MAX);

	if (!twin) {
		mem_free(copy);
		return SLOT_NONE;
	}
	struct slot *slot = &slots->items[of];
	twin->preset = slot->preset;
	twin->definition = slot->definition;
	twin->first = slot->first;
	twin->name = copy;
	twin->hash = slot->hash;
	twin->rank = slot->rank;
	twin->is_settled = twin->is_beside = true;
	twin->guessed = slot->guessed;
	twin->is_shown = slot->is_shown;
	slot->twin = (uint32_t)(slots->count - 1);
	return slot->twin;
}

static bool is_definition(const struct slots *slots, size_t index, int32_t preset, size_t definition)
{
	const struct slot *slot = &slots->items[index];

	return slot->preset == preset && slot->definition == definition && slot->first == index;
}

uint32_t slots_find_definitions(const struct slots *slots, int32_t preset, size_t count)
{
	for (size_t first = 0; first + count <= slots->count; first++) {
		size_t i = 0;
		while (i < count && is_definition(slots, first + i, preset, i))
			i++;
		bool goes_on = first + i < slots->count && is_definition(slots, first + i, preset, i);
		if (i == count && !goes_on)
			return (uint32_t)first;
	}
	return SLOT_NONE;
}

void slots_pack(const struct slots *slots, struct buf *out)
{
	pack_u64(out, slots->count);
	for (size_t i = 0; i < slots->count; i++) {
		const struct slot *slot = &slots->items[i];
		pack_i64(out, slot->preset);
		pack_u64(out, slot->definition);
		pack_u64(out, slot->first);
		pack_u64(out, slot->next);
		pack_span(out, span_from(slot->name ? slot->name : ""));
		pack_i64(out, slot->rank);
		pack_i64(out, slot->lead);
		pack_u64(out, (uint64_t)slot->is_apart | (uint64_t)slot->is_shown << 1 |
				      (uint64_t)slot->has_changed << 2 | (uint64_t)slot->is_settled << 3 |
				      (uint64_t)slot->is_beside << 4 | (uint64_t)slot->is_given_up << 5 |
				      (uint64_t)(slot->twin != SLOT_NONE) << 6 | (uint64_t)slot->has_folded << 7);
		if (slot->is_given_up)
			pack_u64(out, slot->heir);
		if (slot->twin != SLOT_NONE)
			pack_u64(out, slot->twin);
		pack_u64(out, slot->said_count);
		for (size_t j = 0; j < SAID_MAX && j < slot->said_count; j++) {
			pack_i64(out, slot->said[j].step);
			pack_double(out, slot->said[j].value);
			pack_i64(out, slot->said[j].rank);
		}
		pack_u64(out, slot->guessed);
		pack_double(out, slot->guessed_first);
		pack_i64(out, slot->last_at);
		pack_i64(out, slot->last_count);
		pack_double(out, slot->last_value);
	}
}

static uint32_t unpack_below(struct unpacker *in, uint64_t limit)
{
	uint64_t value = unpack_u64(in);

	in->has_failed |= value >= limit;
	return in->has_failed ? 0 : (uint32_t)value;
}

static int32_t unpack_rank(struct unpacker *in)
{
	int64_t value = unpack_i64(in);

	in->has_failed |= value < RANK_NONE || value >= RANK_MAX;
	return in->has_failed ? RANK_NONE : (int32_t)value;
}

static void unpack_said(struct unpacker *in, struct slot *slot)
{
	slot->said_count = unpack_below(in, UINT32_MAX);
	for (size_t j = 0; j < SAID_MAX && j < slot->said_count; j++) {
		slot->said[j].step = unpack_i64(in);
		slot->said[j].value = unpack_double(in);
		slot->said[j].rank = unpack_rank(in);
	}
}

static void unpack_owner(struct unpacker *in, struct slot *slot, uint32_t flags, size_t count)
{
	slot->is_settled = flags >> 3 & 1;
	slot->is_beside = flags >> 4 & 1;
	slot->is_given_up = flags >> 5 & 1;
	slot->has_folded = flags >> 7 & 1;
	if (slot->is_given_up)
		slot->heir = unpack_below(in, count);
	if (flags >> 6 & 1)
		slot->twin = unpack_below(in, count);
}

/* Chains go forward only, so that a damaged state cannot make a circle. */
static bool unpack_slot(struct unpacker *in, struct slots *slots, bool has_owners, size_t count)
{
	struct slot *slot = add(slots, SLOTS_MAX);

	if (!slot)
		return false;
	size_t self = slots->count - 1;
	slot->preset = unpack_rank(in); /* -1 or a number, as a rank is */
	slot->definition = unpack_below(in, SLOTS_MAX);
	slot->first = unpack_below(in, self + 1);
	uint64_t next = unpack_u64(in);
	in->has_failed |= next != SLOT_NONE && (next <= self || next >= count);
	slot->next = in->has_failed ? SLOT_NONE : (uint32_t)next;
	struct span name = unpack_span(in);
	slot->name = name.len && !in->has_failed ? mem_copy_bytes(name.ptr, name.len) : NULL;
	slot->hash = slot->name ? (uint32_t)span_hash(span_from(slot->name)) : 0;
	slot->rank = unpack_rank(in);
	slot->lead = unpack_rank(in);
	uint32_t flags = unpack_below(in, has_owners ? 256 : 8);
	slot->is_apart = flags & 1;
	slot->is_shown = flags >> 1 & 1;
	slot->has_changed = flags >> 2 & 1;
	if (has_owners)
		unpack_owner(in, slot, flags, count);
	unpack_said(in, slot);
	slot->guessed = unpack_below(in, UINT32_MAX);
	slot->guessed_first = unpack_double(in);
	slot->last_at = unpack_i64(in);
	slot->last_count = unpack_i64(in);
	slot->last_value = unpack_double(in);
	return name.len == 0 || slot->name || in->has_failed;
}

/* Of chains that have been unpacked. Of a damaged state each slot is in one at most. */
static bool build_index(struct slots *slots)
{
	for (uint32_t first = 0; first < slots->count; first++) {
		if (slots->items[first].first != first)
			continue;
		for (uint32_t at = slots->items[first].next; at != SLOT_NONE; at = slots->items[at].next) {
			if (slots->items[at].first != first)
				break;
			if (!index_grow(slots))
				return false;
			index_put(slots, at);
			slots->items[first].tail = at;
		}
	}
	return true;
}

enum status slots_unpack(struct slots *slots, bool has_owners, struct unpacker *in, struct error *err)
{
	size_t count = unpack_count(in, 1);

	if (in->has_failed || count > SLOTS_MAX)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: series");
	for (size_t i = 0; i < count && !in->has_failed; i++)
		if (!unpack_slot(in, slots, has_owners, count))
			return error_no_memory(err);
	if (in->has_failed)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: series");
	return build_index(slots) ? OK : error_no_memory(err);
}
