/*
 * Job: sm-search anatomy JOB, sm-search fit JOB: an answer of the server about one job, as rows of names and values or as its JSON.
 * Ownership: nothing is kept. Threads: one.
 */
#pragma once

#include "cli/search/search_list.h"

/* Whether the words ask for one. ERR_INVALID: with something that is of jobs alone. */
enum status search_show_wanted(const struct options *options, bool *wanted, struct error *err) MUST_CHECK;
enum status search_show_print(struct search_list *search, struct error *err) MUST_CHECK;
