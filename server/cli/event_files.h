/*
 * Job: TensorBoard's event files, followed: their scalars go into the spool as points, one a line, "N TAB object": N numbers
 *      the points of a tag in its stream, by which the sender passes over what the server has.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "cli/spool.h"

struct event_files;

enum status event_files_new(struct event_files **out, const char *program, struct spool *spool,
	const char *spool_folder, struct error *err) MUST_CHECK;
void event_files_free(struct event_files *events);
/* Is it called as event files are? */
bool event_files_match(const char *path);
/* All files of a stream, in the order in which they were added, are one run. */
enum status event_files_add(
	struct event_files *events, const char *path, unsigned stream, struct error *err) MUST_CHECK;
/* Reads what there is. */
void event_files_round(struct event_files *events);

AUTO_TYPE(event_files)
