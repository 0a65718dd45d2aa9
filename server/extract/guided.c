/* Steps for the points of definitions that say none (guide.h). */
#include "extract/line/prefix.h"
#include "extract/state.h"

static bool wants_step(const struct run *run, const struct found *found)
{
	return !found->has_step && !definition_has_step(&run->list->items[found->definition]);
}

/* One that has its own is the line's. */
static bool needs_step(const struct run *run)
{
	const struct extractor *extractor = run->extractor;
	bool wants = false;

	for (size_t i = 0; i < extractor->found_count; i++) {
		if (extractor->found[i].has_step)
			return false;
		wants |= wants_step(run, &extractor->found[i]);
	}
	return wants;
}

static void give_step(const struct run *run, const struct guided *guided)
{
	struct extractor *extractor = run->extractor;

	for (size_t i = 0; i < extractor->found_count; i++) {
		struct found *found = &extractor->found[i];
		if (!wants_step(run, found))
			continue;
		found->has_step = guided->has_step;
		found->step = guided->step;
		found->has_epoch = guided->has_epoch;
		found->epoch = guided->epoch;
		found->step_follows = guided->step_follows;
	}
	if (guided->total)
		extractor->said_total = guided->total;
}

/* A line that says the step alone. */
static enum status see_alone(struct run *run, struct span text, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct guide_memory memory = {&extractor->header, &extractor->largest_total};
	struct guided guided;

	guide_find_alone(run->set, extractor->guide.preset, run->scratch, text, &memory, &guided);
	return guided.has_step ? place_step(run, &guided, err) : OK;
}

/* Once it is known who speaks: what stood before the line that told it. */
static enum status replay(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span rest = buf_span(&extractor->recent), segment;

	for (; extractor->recent_count && span_next(&rest, '\n', &segment); extractor->recent_count--)
		TRY(see_alone(run, segment, err));
	extractor->recent_count = 0;
	buf_reset(&extractor->recent);
	return OK;
}

static enum status choose(struct run *run, bool has_found, const struct prefix *prefix, struct error *err)
{
	struct extractor *extractor = run->extractor;
	size_t start;

	if (!has_found && !guide_is_choosing(&extractor->guide))
		return OK;
	if (choice_see(&extractor->guide, run->set, run->scratch, prefix, &start)) {
		prefix_trust(&extractor->prefixes, prefix, start);
		return replay(run, err);
	}
	if (extractor->guide.preset < 0 && !has_found)
		extractor_remember(extractor, prefix->starts[prefix->certain]);
	return OK;
}

enum status guide_segment(struct run *run, struct span segment, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct guide_memory memory = {&extractor->header, &extractor->largest_total};
	bool has_found = extractor->found_count > 0;
	struct prefix prefix;
	struct guided guided;

	if (!has_found && extractor->guide.preset < 0 && !guide_is_choosing(&extractor->guide))
		return OK;
	(void)!line_peel(segment, &extractor->prefixes, &prefix).len;
	TRY(choose(run, has_found, &prefix, err));
	struct span text = prefix.starts[prefix.certain];
	if (!has_found)
		return see_alone(run, text, err);
	if (!needs_step(run))
		return OK;
	guide_find(run->set, extractor->guide.preset, run->scratch, text, &memory, &guided);
	give_step(run, &guided);
	return OK;
}
