/* Steps for the points of definitions that say none (guide.h). */
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
		found->total = guided->total;
		found->step_follows = guided->step_follows;
	}
	if (guided->run_total)
		run->format->said_total = guided->run_total;
}

/* A line that says the step alone. */
static enum status see_alone(struct run *run, struct line_view *view, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct guide_memory memory = {&extractor->header, &extractor->bars};
	struct guided guided;

	guide_find_alone(&extractor->guide, run->set, run->scratch, view, &memory, &guided);
	return guided.has_step ? place_step(run, &guided, err) : OK;
}

/* Once it is known who speaks: what stood before the line that told it. */
static enum status replay(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span rest = extractor_recent(extractor), segment;
	struct line_view view;

	for (; extractor->recent_count && span_next(&rest, '\n', &segment); extractor->recent_count--) {
		line_view_set(&view, segment, &extractor->prefixes);
		TRY(see_alone(run, &view, err));
	}
	extractor_forget_recent(extractor);
	return OK;
}

static enum status hear(struct run *run, bool has_found, struct error *err)
{
	struct extractor *extractor = run->extractor;
	bool is_new;

	TRY(guide_hear(
		&extractor->guide, run->set, run->scratch, &run->extractor->segment.view, has_found, &is_new, err));
	if (is_new)
		return replay(run, err);
	if (!extractor->guide.count && !has_found)
		extractor_remember(extractor, line_view_text(&run->extractor->segment.view));
	return OK;
}

static bool find(struct run *run, struct guided *guided)
{
	struct extractor *extractor = run->extractor;
	struct guide_memory memory = {&extractor->header, &extractor->bars};

	return guide_find(&extractor->guide, run->set, run->scratch, &run->extractor->segment.view, &memory, guided);
}

enum status guide_segment(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	bool has_found = extractor->found_count > 0, is_early = guide_is_choosing(&extractor->guide);
	struct guided guided;

	if (is_early)
		TRY(hear(run, has_found, err));
	if (!has_found)
		return see_alone(run, &run->extractor->segment.view, err);
	if (!needs_step(run))
		return OK;
	if (!find(run, &guided) && !is_early) { /* who speaks now? */
		size_t count = extractor->guide.count;
		TRY(hear(run, has_found, err));
		if (extractor->guide.count > count)
			(void)find(run, &guided);
	}
	give_step(run, &guided);
	return OK;
}
