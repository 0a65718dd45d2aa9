/*
 * Job: what the server knows of devices, prices, limits, named models, signatures of faults and advice: what came with the program, under what files of the options say.
 *      An entry of a file takes the place of the one of its name; "replace": true leaves nothing else.
 * Ownership: read/done; its texts live as long. Threads: main; then constants.
 */
#pragma once

#include "base/buf.h"
#include "base/options/options.h"

struct pipeline;

enum { DATA_FILES = 6 };

struct data_files {
	struct buf devices, references, limits, signatures, advice;
	struct buf prices; /* of the file alone; "": there is none */
};

/* ERR_INVALID, ERR_IO: the option's name, the file's, and what is wrong in it. */
enum status data_files_read(struct data_files *out, const struct options *options, struct error *err) MUST_CHECK;
void data_files_done(struct data_files *files);
/* The options whose files say something else by now, or what no server would start with: that waits for a restart. *out: their names. */
size_t data_files_list_changed(
	const struct data_files *known, const struct options *options, const char *out[DATA_FILES]);
/* Prices are the database's: the file's take their place with each start, as PUT /api/v1/prices does. */
enum status data_files_put_prices(
	const struct data_files *files, struct pipeline *pipeline, struct error *err) MUST_CHECK;
