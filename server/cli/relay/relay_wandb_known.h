/*
 * Job: what the relay knows of a training's runs of W&B: how far each has come by what went through here, as a client that goes on asks.
 * Ownership: new/free; texts are copied. Threads: one at a time: under the core's mutex.
 */
#pragma once

#include "base/alloc.h"
#include "base/json/json_read.h"

struct wandb_known_run {
	char *project, *id;
	char *name; /* that is shown */
	char *config, *summary; /* JSON objects */
	char *history_tail, *events_tail; /* the last line; "": none */
	uint64_t history_lines, events_lines, console_lines;
};

struct wandb_known; /* the newest runs, and as whom they are shown */

struct wandb_known *wandb_known_new(void);
void wandb_known_free(struct wandb_known *known);
/* Good until the next run is added; NULL: not known. */
struct wandb_known_run *wandb_known_find(struct wandb_known *known, struct span project, struct span id);
/* The one that is known, or a new one; NULL: out of memory. */
struct wandb_known_run *wandb_known_add(struct wandb_known *known, struct span project, struct span id);
/* In place of a text of a run; what is too long to be kept is "" or {}, as it was new. */
void wandb_known_set(char **text, struct span value);
/* "": the server did not say yet. */
const char *wandb_known_entity(const struct wandb_known *known);
void wandb_known_set_entity(struct wandb_known *known, struct span entity);

/* What a body of the run's file_stream brings. */
void wandb_known_take(struct wandb_known_run *run, const struct json *body);

AUTO_TYPE(wandb_known)
