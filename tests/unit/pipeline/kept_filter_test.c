/* Filters that wait for the sealer: a copy each, and a limit on all together. */
#include "state/streams/kept_filter.h"
#include "base/alloc.h"
#include "test.h"

TEST(a_filter_is_copied_and_counted_while_it_is_kept)
{
	atomic_size_t account = 0;
	char bytes[] = "a filter";

	struct kept_filter *kept = kept_filter_new(&account, span_from(bytes));
	bytes[0] = '?';
	CHECK_SPAN(kept_filter_span(kept), SPAN("a filter"));
	CHECK_INT(account, 8);
	kept_filter_free(kept);
	CHECK_INT(account, 0);
}

TEST(there_is_none_of_nothing)
{
	atomic_size_t account = 0;

	CHECK(!kept_filter_new(&account, SPAN("")));
	CHECK_SPAN(kept_filter_span(NULL), SPAN(""));
	kept_filter_free(NULL);
	CHECK_INT(account, 0);
}

TEST(as_much_is_kept_as_the_limit_and_no_byte_more)
{
	AUTO_MEM char *bytes = mem_zeroed(KEPT_FILTERS_BYTES);
	atomic_size_t account = 0;

	CHECK(bytes);
	struct kept_filter *most = kept_filter_new(&account, span_of(bytes, KEPT_FILTERS_BYTES - 1));
	struct kept_filter *last = kept_filter_new(&account, span_of(bytes, 1));
	CHECK(most && last);
	CHECK(!kept_filter_new(&account, span_of(bytes, 1)));
	kept_filter_free(last);
	CHECK(!kept_filter_new(&account, span_of(bytes, 2)));
	CHECK_INT(account, KEPT_FILTERS_BYTES - 1);
	kept_filter_free(most);
	CHECK_INT(account, 0);
}
