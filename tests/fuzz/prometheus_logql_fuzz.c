/* Whatever is asked in LogQL: matchers and filters, an expression of counts, or an error that says what is wrong. */
#include "prometheus/logql.h"
#include "prometheus/matcher_parse.h"
#include "prometheus/promql.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PRINT_BYTES = 16 << 20 };

/* What was printed is a query, and is printed so again. */
static void check_lines(const struct logql *logql, struct arena *arena)
{
	AUTO_DONE(buf) text = BUF_INIT(PRINT_BYTES);
	AUTO_DONE(buf) again = BUF_INIT(PRINT_BYTES);
	struct logql other;
	struct error err = {0};

	logql_print(logql, " ", &text);
	if (text.failure || logql_parse(&other, buf_span(&text), arena, &err) != OK)
		abort();
	logql_print(&other, " ", &again);
	logql_done(&other);
	if (!span_equal(buf_span(&text), buf_span(&again)))
		abort();
}

static void check_counts(const struct promql_node *node, struct arena *arena)
{
	AUTO_DONE(buf) text = BUF_INIT(PRINT_BYTES);
	AUTO_DONE(buf) again = BUF_INIT(PRINT_BYTES);
	struct promql_node *other;
	struct error err = {0};

	promql_print(node, &text);
	if (text.failure || promql_parse_counts(&other, buf_span(&text), arena, &err) != OK)
		abort();
	promql_print(other, &again);
	if (!span_equal(buf_span(&text), buf_span(&again)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO(arena) arena = arena_new();
	struct logql logql;
	struct error err = {0};

	if (!arena || !scratch || size > 2048 || memchr(data, 0, size)) /* no parameter holds a NUL */
		return 0;
	enum status status = logql_parse(&logql, span_of((const char *)data, size), arena, &err);
	if (status != OK && (status != ERR_INVALID || !err.text[0]))
		abort();
	if (logql.matcher_count > MATCHERS_MAX || logql.filter_count > LOGQL_FILTERS_MAX)
		abort();
	if (status == OK) {
		check_lines(&logql, arena);
		regex_scratch_limit(scratch, 1000);
		(void)logql_takes(&logql, scratch, SPAN("step 10 loss 2.5 ERROR nccl"));
	}
	logql_done(&logql);
	struct promql_node *node;
	status = promql_parse_counts(&node, span_of((const char *)data, size), arena, &err);
	if (status != OK && (status != ERR_INVALID || !err.text[0]))
		abort();
	if (status == OK)
		check_counts(node, arena);
	return 0;
}
