/*
 * Job: between a training and its experiment tracker's server: a loopback address for the training's client, in a process of its own, which
 *      answers at once and delivers in order what it was told, exactly once. The server may be away, and sm-ship may be killed: the training
 *      does not notice either.
 *
 *   Its death  another one follows it at the same address, as long as the process lives that only watches it (the guard).
 *   Who else   any user of the machine can connect: a random token, which is in the training's environment, says who may.
 *   Whose      a training that has a tracker of its own (variables, ./mlruns) is left alone; so is one that goes to other machines, where
 *              the address leads nowhere.
 *
 * Ownership: new/free. Threads: the main thread, but for relay_tell_job; relay_start before any other thread exists.
 */
#pragma once

#include "base/options/options.h"

struct relay;

struct relay_options {
	const char *program; /* for messages */
	const struct options *options; /* server, token, spool-bytes, relay-bytes */
	const char *spool_folder;
	const char *job; /* as sm-ship would call it */
	char *const *environment;
	char *const *command;
};

/* *out is NULL where there is none: the training has its own, or it could not be made, which is said. Sets this process's environment. */
void relay_start(struct relay **out, const struct relay_options *options);
/* In this process: what those that are no more have left for the server. ERR_UNAVAILABLE: not all of it in --drain-timeout. */
enum status relay_send_left(const struct relay_options *options, struct error *err) MUST_CHECK;
void relay_free(struct relay *relay); /* ends it at once if it still runs: what waits stays in the spool */
/* The training's process. */
void relay_put_child(struct relay *relay, int pid);
/* Any thread: what the server calls sm-ship's job. */
void relay_tell_job(struct relay *relay, const char *job);
/* Any thread: the training has told its tracker of a run that the server does not have yet. What it printed behind that waits: the server
 * is to know that these values have a tracker, and of which run they are (docs/metrics.md). */
bool relay_is_beginning(const struct relay *relay);
/* The part of its address by which it knows the training; the relay's. Clients print the address. */
const char *relay_secret(const struct relay *relay);
/* The server refused it: there is none. */
void relay_tell_no_job(struct relay *relay);
/* The training is over: what waits is sent, until then. */
void relay_end(struct relay *relay, int64_t give_up_mono_ms);
/* The same time once more, sooner. */
void relay_give_up_at(struct relay *relay, int64_t mono_ms);
bool relay_has_ended(struct relay *relay);

AUTO_TYPE(relay)
