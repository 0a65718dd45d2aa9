/*
 * Job: sm-ship --import-mlflow: the runs of an MLflow store become jobs, one after the other.
 * Ownership: nothing is left. Threads: the main thread, before any other.
 */
#pragma once

#include "base/options/options.h"

/* The exit status of the program. */
int import_mlflow_run(const struct options *options, char *const *environment);
