/* Job: where a log tells of a checkpoint, and what somebody set right of it, as members of an answer. Ownership: none. Threads: any. */
#pragma once

#include "base/json/json_write.h"

struct checkpoint_row;

/* attempt (null: not known), ts_ms, stream, line (null: no line tells of it); by hand also from, usable, worked_out and who says so */
void checkpoint_write_place(struct json_writer *w, const struct checkpoint_row *row);
