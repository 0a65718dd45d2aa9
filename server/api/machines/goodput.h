/* Job: of a run, into an object that is open. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

struct run_link;
enum status api_write_run_goodput(struct store_reader *reader, struct arena *arena, const struct run_link *links,
	size_t count, struct json_writer *w, struct error *err) MUST_CHECK;
