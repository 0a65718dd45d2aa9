#include "state/watchers/step_trail.h"

#include "extract/line/number.h"

enum {
	STRIDES = 100, /* a number goes on that is at most so many rises ahead: it may come more rarely than before */
	LOOK_BYTES = 200,
	PLACES = 16
};

bool known_forms_add(struct known_forms *known, uint32_t form)
{
	for (uint32_t i = 0; i < known->count; i++)
		if (known->hashes[i] == form)
			return false;
	known->hashes[known->next] = form;
	known->next = (known->next + 1) % KNOWN_FORMS;
	known->count += known->count < KNOWN_FORMS;
	return true;
}

/* ---- numbers of a line ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What may stand between two digits of a number or a time. */
static bool is_joint(char c)
{
	return c == '.' || c == ':' || c == '-' || c == '/' || c == ',' || c == 'T';
}

size_t number_bytes(struct span text, size_t at, bool *is_time)
{
	size_t end = at;

	*is_time = false;
	while (end < text.len && (is_digit(text.ptr[end]) || (is_joint(text.ptr[end]) && end + 1 < text.len &&
								     is_digit(text.ptr[end + 1])))) {
		*is_time |= text.ptr[end] == ':';
		end++;
	}
	return end - at;
}

/* "60" and the 60 of "60/500"; no time, date or fraction. */
static bool step_of(struct span number, int64_t *out)
{
	size_t digits = 0;

	while (digits < number.len && is_digit(number.ptr[digits]))
		digits++;
	return (digits == number.len || number.ptr[digits] == '/') &&
	       span_parse_i64(span_of(number.ptr, digits), out) && *out <= STEP_MAX;
}

/* Of the line's numbers: the one at *place, or the first from `above` on up to `most`, and its place. */
static bool find_number(struct span text, bool is_placed, uint32_t *place, int64_t above, int64_t most, int64_t *out)
{
	uint32_t at = 0;
	bool is_time;

	for (size_t i = 0, bytes; i < text.len && i < LOOK_BYTES && at < PLACES; i++) {
		if (!is_digit(text.ptr[i]))
			continue;
		bytes = number_bytes(text, i, &is_time);
		bool is_step = step_of(span_of(text.ptr + i, bytes), out);
		if (is_placed && at == *place)
			return is_step;
		if (!is_placed && is_step && *out > above && *out <= most) {
			*place = at;
			return true;
		}
		at++;
		i += bytes - 1;
	}
	return false;
}

/* ---- trails ---- */

void step_trails_value(struct step_trails *trails, int64_t step)
{
	if (step > trails->step)
		trails->rise = step - trails->step;
	trails->step = step;
	memset(trails->items, 0, sizeof trails->items);
}

static void begin(struct step_trails *trails, uint32_t form, struct span text)
{
	struct step_trail trail = {.form = form, .rises = 1};

	for (size_t i = 0; i < TRAILS; i++)
		if (!trails->items[i].rises) {
			if (find_number(text, false, &trail.place, trails->step, trails->step + trails->rise * STRIDES,
				    &trail.at))
				trails->items[i] = trail;
			return;
		}
}

/* The ranks of a job are not quite in step; what falls further than it usually rises, or leaps, counts something else. */
static void go_on(struct step_trail *trail, const struct step_trails *trails, struct span text)
{
	int64_t number = 0, usual = (trail->at - trails->step) / (int64_t)trail->rises;
	int64_t fall = usual > trails->rise ? usual : trails->rise;

	if (!find_number(text, true, &trail->place, 0, 0, &number) || number < trail->at - fall ||
		number > trail->at + trails->rise * STRIDES) {
		*trail = (struct step_trail){0};
		return;
	}
	if (number > trail->at) {
		trail->at = number;
		trail->rises++;
	}
}

uint64_t step_trails_line(struct step_trails *trails, uint32_t form, bool is_new, struct span text)
{
	struct step_trail *trail = NULL;

	for (size_t i = 0; i < TRAILS; i++)
		if (trails->items[i].rises && trails->items[i].form == form)
			trail = &trails->items[i];
	if (trail)
		go_on(trail, trails, text);
	else if (is_new && trails->rise)
		begin(trails, form, text);
	return trail ? trail->rises : 0;
}

/* ---- the state ---- */

void known_forms_pack(const struct known_forms *known, struct buf *out)
{
	pack_u64(out, known->count);
	pack_u64(out, known->next);
	for (uint32_t i = 0; i < known->count; i++)
		pack_u64(out, known->hashes[i]);
}

void known_forms_unpack(struct known_forms *known, struct unpacker *in)
{
	size_t count = unpack_count(in, 1);
	uint64_t next = unpack_u64(in);

	in->has_failed |= count > KNOWN_FORMS || next >= KNOWN_FORMS;
	if (in->has_failed)
		return;
	known->count = (uint32_t)count;
	known->next = (uint32_t)next;
	for (size_t i = 0; i < count; i++)
		known->hashes[i] = (uint32_t)unpack_u64(in);
}

void step_trails_pack(const struct step_trails *trails, struct buf *out)
{
	pack_i64(out, trails->step);
	pack_i64(out, trails->rise);
	for (size_t i = 0; i < TRAILS; i++) {
		pack_u64(out, trails->items[i].rises);
		if (!trails->items[i].rises)
			continue;
		pack_u64(out, trails->items[i].form);
		pack_u64(out, trails->items[i].place);
		pack_i64(out, trails->items[i].at);
	}
}

void step_trails_unpack(struct step_trails *trails, struct unpacker *in)
{
	trails->step = unpack_i64(in);
	trails->rise = unpack_i64(in);
	in->has_failed |=
		trails->step < -STEP_MAX || trails->step > STEP_MAX || trails->rise < 0 || trails->rise > 2 * STEP_MAX;
	for (size_t i = 0; i < TRAILS; i++) {
		struct step_trail *trail = &trails->items[i];
		trail->rises = unpack_u64(in);
		if (!trail->rises)
			continue;
		trail->form = (uint32_t)unpack_u64(in);
		trail->place = (uint32_t)unpack_u64(in);
		trail->at = unpack_i64(in);
		in->has_failed |= trail->at < -STEP_MAX || trail->at > STEP_MAX;
	}
}
