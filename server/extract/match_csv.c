/* Rows of numbers under a header that names the columns: one is the step, each other one a series by its name. */
#include "extract/csv.h"
#include "extract/line/number.h"
#include "extract/state.h"

static bool take_column(struct run *run, struct found *found)
{
	struct extractor *extractor = run->extractor;

	if (!mem_grow((void **)&extractor->found, extractor->found_count, &extractor->found_cap, sizeof *found))
		return false;
	extractor->found[extractor->found_count++] = *found;
	return true;
}

bool match_csv(struct run *run, uint32_t index, struct span segment, int32_t rank)
{
	struct extractor *extractor = run->extractor;
	struct track *track = &run->tracks[index];
	struct found found = {.definition = index, .rank = rank, .has_step = true};
	struct span name, part;

	if (!csv_read_step(&extractor->header, segment, &found.step, &part))
		return true;
	struct span names = buf_span(&extractor->header);
	track->health.matched++;
	run->has_match = true;
	ptrdiff_t step = csv_step_column(names);
	for (ptrdiff_t at = 0; span_next(&names, ',', &name) && span_next(&segment, ',', &part); at++) {
		found.name = span_trim(name);
		found.text = part;
		if (at != step && number_parse(part, &found.value) && !take_column(run, &found))
			return false;
	}
	return true;
}
