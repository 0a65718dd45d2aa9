/* Whatever is asked in LogQL: matchers and filters, an expression of counts, or an error that says what is wrong. */
#include "prometheus/logql.h"
#include "prometheus/matcher_parse.h"
#include "prometheus/promql.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO(arena) arena = arena_new();
	struct logql logql;
	struct error err = {0};

	if (!arena || !scratch || size > 2048)
		return 0;
	enum status status = logql_parse(&logql, span_of((const char *)data, size), arena, &err);
	if (status != OK && (status != ERR_INVALID || !err.text[0]))
		abort();
	if (logql.matcher_count > MATCHERS_MAX || logql.filter_count > LOGQL_FILTERS_MAX)
		abort();
	if (status == OK) {
		regex_scratch_limit(scratch, 1000);
		(void)logql_takes(&logql, scratch, SPAN("step 10 loss 2.5 ERROR nccl"));
	}
	logql_done(&logql);
	struct promql_node *node;
	status = promql_parse_counts(&node, span_of((const char *)data, size), arena, &err);
	if (status != OK && (status != ERR_INVALID || !err.text[0]))
		abort();
	return 0;
}
