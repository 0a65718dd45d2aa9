/*
 * Job: builds all parts in order and stops them in reverse. The only place that knows every part.
 * Ownership: new/free. Threads: main.
 */
#pragma once

#include "api/api.h"
#include "base/options.h"

struct app;

extern const struct option_program app_program;

enum status app_start(struct app **out, struct options *options, struct error *err) MUST_CHECK;
/*
 * Until SIGTERM or SIGINT: also answers the control socket. Then the orderly stop: everything acknowledged is on disk,
 * everything else refused, within --stop-timeout.
 */
enum status app_run(struct app *app, struct error *err) MUST_CHECK;
void app_free(struct app *app);

/* What the control socket does; see control.h. */
struct app_token {
	struct span name, scope, team;
	bool wants_aws;
};
/* Its text, and in two more lines, as a profile of AWS's clients has them, the pair that they sign with. */
enum status app_create_token(
	struct app *app, const struct app_token *asked, struct buf *out, struct error *err) MUST_CHECK;

/* Opens the database without a server (nobody else has it) far enough for app_create_token. */
enum status app_open_offline(struct app **out, const struct options *options, struct error *err) MUST_CHECK;

struct control_backup *app_backup(struct app *app);
struct pipeline *app_pipeline(struct app *app);

AUTO_TYPE(app)
