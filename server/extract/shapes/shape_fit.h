/*
 * Job: one group of lines to metric definitions, each tried on the lines. Internal to extract/.
 * Ownership: in the caller's arena. Threads: one at a time. Pure.
 */
#pragma once

#include "base/text/regex.h"
#include "extract/shapes/shape_groups.h"
#include "extract/shapes/shape_names.h"
#include "extract/shapes/line_shape.h"

/* A group with what its numbers are called. */
struct shape_reading {
	uint32_t group;
	const struct shape_token *tokens; /* of its first piece */
	size_t token_count;
	size_t number_count;
	size_t *number_tokens; /* which token each is */
	struct shape_name *names;
	bool has_names; /* some metric of it has one */
	size_t step, epoch; /* which of its numbers; SIZE_MAX: none */
	double score;
};

/* Does it belong into a curve? */
bool shape_number_is_metric(const struct shape_reading *reading, const struct shape_group *group, size_t number);

struct shape_fitting {
	struct arena *arena;
	struct regex_scratch *scratch;
	const struct shape_groups *groups;
};

/* metric_count 0: none of its numbers can be told from the others. */
enum status shape_fit(const struct shape_fitting *on, const struct shape_reading *reading, struct line_shape *out,
	struct error *err) MUST_CHECK;
/* What reads the step of a line that says nothing else; regex "": nothing does. */
enum status shape_fit_heading(const struct shape_fitting *on, const struct shape_reading *reading,
	struct metric_definition *out, struct error *err) MUST_CHECK;
