/* Job: scores of named models as a member of an answer. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_write.h"
#include "store/store.h"

struct map;

/* "references": those with a score of such a name ("task/metric"), and of these scores alone; names NULL: all. */
enum status api_put_references(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct map *names, struct json_writer *w, struct error *err) MUST_CHECK;
