/*
 * Job: tables of runs, as W&B and MLflow export them, read to their ends: their cells become points.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "cli/input/point_spool.h"
#include "cli/input/table_scan.h"

struct table_files;

enum status table_files_new(
	struct table_files **out, const char *program, struct point_spool *points, struct error *err) MUST_CHECK;
void table_files_free(struct table_files *tables);
enum status table_files_add(
	struct table_files *tables, const struct table_part *part, unsigned stream, struct error *err) MUST_CHECK;
/* Reads on as far as the spool has room; false: there is more. */
bool table_files_round(struct table_files *tables);
/* Those with lines that could not be read: each was named on standard error, with the first such line. */
size_t table_files_damaged(const struct table_files *tables);

AUTO_TYPE(table_files)
