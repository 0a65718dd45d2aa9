/* Job: a shape as JSON Schema (2020-12), for those who read the interface. Ownership and threads: as shape.h. */
#pragma once

#include "base/json/json_write.h"
#include "model/jobs/shape.h"

/* Into an object that is open. rules NULL: an object of any members. */
void shape_write_schema(const struct shape_rule *rules, struct json_writer *w);
