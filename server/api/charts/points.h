/* Job: what other ways to a chart share; "" is the default. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "read/charts/chart.h"

enum { CHART_BUCKETS_DEFAULT = 1000, CHART_BUCKETS_MAX = 10000 };
/* A list of names as a set for api_write_chart; NULL: all. */
enum status api_parse_columns(const struct json *names, unsigned *columns, struct error *err) MUST_CHECK;
void api_write_chart(struct json_writer *w, const struct chart *chart, unsigned columns);
