#include "state/streams/kept_filter.h"

#include "base/alloc.h"

struct kept_filter {
	atomic_size_t *account;
	size_t len;
	char bytes[];
};

struct kept_filter *kept_filter_new(atomic_size_t *account, struct span filter)
{
	if (!filter.len)
		return NULL;
	struct kept_filter *kept = NULL;
	if (atomic_fetch_add(account, filter.len) + filter.len <= KEPT_FILTERS_BYTES)
		kept = mem_alloc(sizeof *kept + filter.len);
	if (!kept) {
		atomic_fetch_sub(account, filter.len);
		return NULL;
	}
	kept->account = account;
	kept->len = filter.len;
	memcpy(kept->bytes, filter.ptr, filter.len);
	return kept;
}

void kept_filter_free(struct kept_filter *kept)
{
	if (!kept)
		return;
	atomic_fetch_sub(kept->account, kept->len);
	mem_free(kept);
}

struct span kept_filter_span(const struct kept_filter *kept)
{
	return kept ? span_of(kept->bytes, kept->len) : SPAN("");
}
