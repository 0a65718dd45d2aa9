/*
 * Job: builds all parts in order and stops them in reverse. The only place that knows every part.
 * Ownership: new/free. Threads: main.
 */
#pragma once

#include "app/local_token.h"
#include "base/options/options.h"

struct app;

extern const struct option_program app_program;

enum status app_start(struct app **out, struct options *options, struct error *err) MUST_CHECK;
/*
 * Until SIGTERM or SIGINT: also answers the control socket. Then the orderly stop: everything acknowledged is on disk,
 * everything else refused, within --stop-timeout.
 */
enum status app_run(struct app *app, struct error *err) MUST_CHECK;
void app_free(struct app *app);

/* Opens the database without a server (nobody else has it) far enough for app_create_token. */
enum status app_open_offline(struct app **out, const struct options *options, struct error *err) MUST_CHECK;
enum status app_create_token(
	struct app *app, const struct local_token *asked, struct buf *out, struct error *err) MUST_CHECK;

AUTO_TYPE(app)
