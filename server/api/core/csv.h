/* Job: fields of CSV (RFC 4180). Ownership and threads: as api.h. */
#pragma once

#include "base/buf.h"

void api_csv_text(struct buf *out, struct span text);
void api_csv_double(struct buf *out, double value);
