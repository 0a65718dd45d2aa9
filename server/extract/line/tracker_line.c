#include "extract/line/tracker_line.h"

/* "wandb: loss 0.255"; "🏃 View run loss 3 at: http://…", "🧪 View experiment at: …" of MLflow. */
static const struct span heads[] = {
	SPAN("wandb: "), SPAN("\xf0\x9f\x8f\x83 View run "), SPAN("\xf0\x9f\xa7\xaa View experiment ")};

bool tracker_line_is(const struct prefix *prefix)
{
	for (size_t i = 0; i < prefix->count; i++)
		for (size_t j = 0; j < sizeof heads / sizeof *heads; j++)
			if (span_starts_with(prefix->starts[i], heads[j]))
				return true;
	return false;
}
