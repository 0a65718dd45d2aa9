#include "cli/ship/beside.h"

#include "base/clock.h"
#include "cli/process/child.h"
#include "cli/ship/ship_options.h"

void beside_done(struct beside *beside)
{
	identity_free(beside->identity);
	http_client_free(beside->client);
}

enum status beside_open(struct beside *beside, char *const *environment, const char *what, struct error *err)
{
	TRY(ship_find_identity(&beside->identity, beside->options, environment, err));
	if (beside->identity->is_named_by_time)
		return error_set(err, ERR_INVALID, "--job NAME says whose %s it is", what);
	return client_open(&beside->client, beside->options, ship_program.name, err);
}

enum status beside_send(struct beside *beside, enum status (*attempt)(void *context, struct error *err), void *context,
	struct error *err)
{
	int64_t until_ms = clock_mono_ms() + options_i64(beside->options, "drain-timeout");

	for (;;) {
		enum status status = attempt(context, err);
		if (!client_is_passing(status) || clock_mono_ms() >= until_ms)
			return status;
		if (child_pause()) {
			beside->is_stopped = true;
			return error_set(err, ERR_UNAVAILABLE, "stopped");
		}
	}
}

enum status beside_take(struct beside *beside, const char *file, enum status status, struct error *err)
{
	if (status == OK)
		return OK;
	error_prefix(err, "'%s'", file);
	if (status == ERR_MEMORY || client_is_passing(status))
		return status;
	client_say(ship_program.name, "%s", err->text);
	beside->refused++;
	return OK;
}

int beside_run(const struct beside *beside,
	enum status (*prepare)(void *context, char *const *environment, struct error *err),
	enum status (*ship)(void *context, struct error *err), void *context, char *const *environment)
{
	struct error err = {0};

	if (prepare(context, environment, &err) != OK) {
		client_say(ship_program.name, "%s\nTry 'sm-ship --help'.", err.text);
		return EXIT_USAGE;
	}
	child_block_signals();
	if (ship(context, &err) != OK) {
		client_say(ship_program.name, "%s; start it again", err.text);
		return EXIT_UNREACHABLE;
	}
	return beside->refused ? EXIT_REFUSED : EXIT_DONE;
}
