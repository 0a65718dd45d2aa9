/*
 * Job: replies to calls of W&B's SDK that need nothing that is stored: who asks, and what a server of this kind has. The server and sm-ship's
 *      relay give the same ones. Each writes its members into an object that is open: GraphQL's "data".
 * Ownership: nothing is kept. Threads: any. Pure.
 */
#pragma once

#include "base/json/json_write.h"

/* By which clients before 0.24 know what a server can: those between which it is tested. */
#define WANDB_NEWEST_CLIENT "0.31.0"
#define WANDB_OLDEST_CLIENT "0.19.11"
/* As whom those are shown who have no team. */
#define WANDB_NO_TEAM "smfleet"
#define WANDB_DEFAULT_PROJECT "uncategorized"
#define WANDB_NO_ARTIFACTS "this server keeps no artifacts: put files beside the checkpoints, and log where"
#define WANDB_NO_SWEEPS "this server has no sweeps: start the runs of a search yourself, with one group for all"
/* Which of the processes that share a run sends. */
#define WANDB_WRITER_HEADER "X-Wandb-Async-Client-Id"
/* Files of a stream's post. */
#define WANDB_HISTORY "wandb-history.jsonl"
#define WANDB_EVENTS "wandb-events.jsonl"
#define WANDB_SUMMARY "wandb-summary.json"
#define WANDB_CONSOLE "output.log"
/* W&B's own limits, in bytes. */
enum { WANDB_ID_MAX_BYTES = 128, WANDB_PROJECT_MAX_BYTES = 128, WANDB_NAME_MAX_BYTES = 500 };

/* name "": as the team. */
void wandb_write_viewer(struct json_writer *w, struct span team, struct span name);
/* {"id": NAME, "name": NAME} */
void wandb_write_named(struct json_writer *w, const char *key, struct span name);

/* What went wrong, as an object; is_graphql: in GraphQL's form. */
void wandb_write_fault(struct json_writer *w, const char *text, bool is_graphql);
/* A file that the SDK sends of its own accord, of which this server has the words elsewhere: in the log, with the run, or as HyperParameters. */
bool wandb_file_is_elsewhere(struct span name);

/* What clients ask by the operation's name alone. False: it is another one, and nothing is written. */
bool wandb_write_fixed(struct json_writer *w, struct span operation);
