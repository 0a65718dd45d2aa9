/*
 * Job: what of a job has changed, for the columns that searches keep of it (store/sql/search/search_cache.h). Values.
 */
#pragma once

enum search_change {
	SEARCH_CHANGED_JOB = 1, /* its row */
	SEARCH_CHANGED_DOCUMENT = 2,
	SEARCH_CHANGED_METRICS = 4,
};
