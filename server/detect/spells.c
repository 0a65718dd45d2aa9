#include "detect/spells.h"

#include <math.h>

static const double usual = 6, most = 16, count_fading = 1 - 1.0 / 1024, size_fading = 1 - 1.0 / 16384;
static const double odd_z = 4, longer = 1.5, higher = 2;

static void end_run(struct spells *spells)
{
	if (spells->is_spell) {
		spells->count = fmin(spells->count + 1, most);
		spells->longest = fmax(spells->longest, spells->run);
		spells->highest = fmax(spells->highest, spells->height);
	}
	spells->run = 0;
	spells->height = 0;
	spells->is_spell = false;
}

void spells_gather(struct spells *spells, double z, bool is_open)
{
	spells->count *= count_fading;
	spells->longest *= size_fading;
	spells->highest *= size_fading;
	if (z <= odd_z) {
		end_run(spells);
		return;
	}
	spells->run += spells->run < UINT32_MAX;
	spells->height = fmax(spells->height, fmin(z, 1e6));
	spells->is_spell |= is_open;
}

void spells_drop(struct spells *spells)
{
	spells->is_spell = false;
	end_run(spells);
}

bool spells_are_usual(const struct spells *spells)
{
	return spells->count >= usual;
}

void spells_add(struct spells *spells)
{
	spells->is_spell = true;
}

bool spells_have_more(const struct spells *spells)
{
	return spells->run > longer * spells->longest || spells->height > higher * spells->highest;
}

void spells_pack(const struct spells *spells, struct buf *out)
{
	pack_double(out, spells->count);
	pack_double(out, spells->longest);
	pack_double(out, spells->highest);
	pack_double(out, spells->height);
	pack_u64(out, spells->run);
	pack_u64(out, spells->is_spell);
}

void spells_unpack(struct spells *spells, struct unpacker *in)
{
	spells->count = unpack_double(in);
	spells->longest = unpack_double(in);
	spells->highest = unpack_double(in);
	spells->height = unpack_double(in);
	uint64_t run = unpack_u64(in), is_spell = unpack_u64(in);
	in->has_failed |= run > UINT32_MAX || is_spell > 1 || !isfinite(spells->count) || !isfinite(spells->height);
	spells->run = (uint32_t)run;
	spells->is_spell = is_spell;
}
