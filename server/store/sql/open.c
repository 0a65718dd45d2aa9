/* A store is a database and what searches keep of it in memory. */
#include "store/columns/job_changes.h"
#include "store/driver/connection.h"
#include "store/sql/jobs/main_metrics.h"
#include "store/sql/search/search_cache.h"

enum { DEFAULT_SEARCH_BYTES = 512 << 20 };

enum status store_open(struct store **out, const struct store_options *options, struct error *err)
{
	AUTO(job_changes) changes = job_changes_new();
	AUTO(search_cache)
	search = search_cache_new(changes, options->search_bytes ? options->search_bytes : DEFAULT_SEARCH_BYTES);
	AUTO(store) store = NULL;

	if (!changes || !search)
		return error_no_memory(err);
	TRY(database_open(&store, options, changes, search, err));
	changes = NULL;
	search = NULL;
	TRY(main_metrics_renew(store, err));
	*out = TAKE(store);
	return OK;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	struct job_changes *changes = database_changes(store);
	struct search_cache *search = database_search(store);
	database_close(store);
	search_cache_free(search);
	job_changes_free(changes);
}
