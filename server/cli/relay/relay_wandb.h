/*
 * Job: what the files of W&B's dialect share. Its client is answered at once: what it tells is put into the spool; what it asks is asked of
 *      the server while that is there, and is else what is known of runs that went through here.
 *
 *   Records  "wandb MS WRITER PATH BODY": when it came, which of the processes that share a run sent it ("-": none), where on the server it
 *            goes, and its body on one line (of a file in base64).
 * Ownership: a call is its caller's. Threads: that of the connection.
 */
#pragma once

#include "cli/relay/relay_core.h"
#include "cli/relay/relay_wandb_known.h"
#include "tracker/graphql.h"
#include "tracker/wandb_replies.h"

struct relay_wandb_call {
	struct relay_core *core;
	const struct relay_request *request;
	struct span path; /* without the secret before it */
	struct json *body; /* an object that may be changed; NULL: it is none */
	struct graphql_request asked;
	struct relay_reply *reply;
	struct json_writer w; /* into the reply: "data" is open */
};

typedef enum status relay_wandb_operation(struct relay_wandb_call *call, struct error *err);

/* ---- relay_wandb.c ---- */
/* Keeps a body that is to be sent to this path. */
void relay_wandb_put(struct relay_wandb_call *call, struct span path, struct span body);
/* The same of a call of GraphQL, by its operation and variables alone. */
enum status relay_wandb_put_operation(struct relay_wandb_call *call, struct error *err) MUST_CHECK;
/* As the server answers, after all that was told before has reached it. ERR_UNAVAILABLE: it is away, or has not got all. */
enum status relay_wandb_ask(struct relay_wandb_call *call, struct http_reply *reply, struct error *err) MUST_CHECK;
/* What it answered is the reply. */
void relay_wandb_reply_with(struct relay_wandb_call *call, const struct http_reply *reply);
/* As whom runs are shown, into the buf. */
void relay_wandb_entity(struct relay_wandb_call *call, struct buf *out);
/* A variable; "": it is none, or no text. */
struct span relay_wandb_variable(const struct relay_wandb_call *call, const char *name);

/* ---- relay_wandb_runs.c ---- */
relay_wandb_operation relay_wandb_upsert, relay_wandb_resume_status, relay_wandb_alert;

/* ---- relay_wandb_files.c ---- */
relay_wandb_operation relay_wandb_create_files;
/* A file, whose bytes are the request's body. */
enum status relay_wandb_put_file(struct relay_wandb_call *call, struct error *err) MUST_CHECK;

/* ---- relay_wandb_stream.c ---- */
/* A body of file_stream. */
enum status relay_wandb_stream(struct relay_wandb_call *call, struct error *err) MUST_CHECK;

/* ---- relay_wandb_compose.c ---- */
/* The call may begin a run, or go on with one, or ends it. */
bool relay_wandb_is_run(struct span path, struct span body);
enum status relay_wandb_compose(
	struct span records, const struct relay_terms *terms, struct relay_sending *out, struct error *err) MUST_CHECK;
