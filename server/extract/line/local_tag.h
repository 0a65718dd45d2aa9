/*
 * Job: "[local_rank=3] ", "[GPU 0] ": which process or device of its machine a line is of. It says nothing of which machine that is.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* At the front; *text is then what is behind it. */
bool local_tag_take(struct span *text);
/* In front of the line's words, also behind what launchers, collectors and loggers put there. */
bool local_tag_is_before(struct span text);
