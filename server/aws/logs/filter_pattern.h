/*
 * Job: CloudWatch Logs' filter patterns: terms (ERROR "a phrase" ?or -not %regex%), selectors in JSON ({ $.a.b[0] = "x*" && … })
 *      and fields between spaces ([ip, ..., status = 4*, bytes > 1000]). Matching a line costs its length.
 * Ownership: new/free. Threads: immutable; a scratch belongs to one thread.
 * Source: docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html. What it leaves open is in docs/aws-logs.md.
 */
#pragma once

#include "base/text/regex.h"

enum { FILTER_PATTERN_MAX_BYTES = 1024 };

struct filter_pattern;

/* ERR_INVALID with field "filterPattern" and column. Blanks match all. */
enum status filter_pattern_new(struct filter_pattern **out, struct span text, struct error *err) MUST_CHECK;
void filter_pattern_free(struct filter_pattern *pattern);

bool filter_pattern_is_all(const struct filter_pattern *pattern);
bool filter_pattern_matches(const struct filter_pattern *pattern, struct regex_scratch *scratch, struct span line);

/*
 * What every line that matches holds, for a search that need not read all: a text, or a regular expression of texts; "": nothing
 * is known. Of a line of JSON it is taken that plain letters are written as they are, and not as \u0041.
 */
struct span filter_pattern_needle(const struct filter_pattern *pattern, bool *is_regex);

AUTO_TYPE(filter_pattern)
