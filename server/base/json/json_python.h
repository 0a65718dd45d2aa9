/*
 * Job: a dictionary as Python prints it, as JSON: strings in either quotes, True, False, None, and tuples. What is no such text becomes
 *      what no parser of JSON takes. Threads: any.
 */
#pragma once

#include "base/buf.h"

void json_from_python(struct span text, struct buf *out);
