/* Job: the command line of sm-search. Ownership: values. Threads: any. */
#pragma once

#include "base/options/options.h"

extern const struct option_program search_program;

/* ERR_INVALID: an option that only a search for jobs has. with: what is asked for instead. */
enum status search_options_refuse(const struct options *options, const char *with, struct error *err) MUST_CHECK;
