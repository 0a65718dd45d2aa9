/* Job: numbers in CSV, beside csv_put_cell. Ownership and threads: as api.h. */
#pragma once

#include "base/text/csv.h"

void api_csv_double(struct buf *out, double value);
