#include "cli/process/command_signals.h"

#include "base/span.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LAST_SIGNAL = 64 };

/* "USR1", "SIGUSR1", "10"; 0: none of them. */
static int read_signal(const char *name)
{
	int64_t number;

	if (span_parse_i64(span_from(name), &number))
		return number >= 1 && number <= LAST_SIGNAL ? (int)number : 0;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i <= LAST_SIGNAL; i++) {
		const char *known = sigabbrev_np(i);
		if (known && strcasecmp(known, name) == 0)
			return i;
	}
	return 0;
}

static enum status read_one(struct orders *orders, const char *text, struct error *err)
{
	bool is_checkpoint = strncmp(text, "checkpoint=", 11) == 0, is_stop = strncmp(text, "stop=", 5) == 0;

	if (!is_checkpoint && !is_stop)
		return error_set_field(
			err, ERR_INVALID, "on", "--on '%s' is neither checkpoint=SIGNAL nor stop=SIGNAL", text);
	int number = read_signal(strchr(text, '=') + 1);
	if (!number)
		return error_set_field(
			err, ERR_INVALID, "on", "--on '%s' names no signal: USR1, TERM, INT … or a number", text);
	if (is_checkpoint)
		orders->checkpoint_signal = number;
	else
		orders->stop_signal = number;
	return OK;
}

enum status orders_read(struct orders *orders, const struct options *options, struct error *err)
{
	size_t count = options_count(options, "on");

	if (count && !options_command(options))
		return error_set_field(
			err, ERR_INVALID, "on", "--on is for a command that sm-ship runs: sm-ship --on … -- COMMAND");
	for (size_t i = 0; i < count; i++)
		TRY(read_one(orders, options_item(options, "on", i), err));
	return OK;
}

void orders_carry_out(const struct orders *orders, const char *command, char *result, size_t room)
{
	bool is_stop = strcmp(command, "stop") == 0;
	int number = is_stop ? orders->stop_signal : strcmp(command, "checkpoint") == 0 ? orders->checkpoint_signal : 0;
	const char *name = number ? sigabbrev_np(number) : NULL;
	char numbered[16];
	pid_t pid;

	if (!orders->child) {
		snprintf(result, room, "nothing: sm-ship runs no command here");
		return;
	}
	if (!number) {
		snprintf(result, room, "nothing: sm-ship was started without --on %s=SIGNAL", command);
		return;
	}
	snprintf(numbered, sizeof numbered, "%d", number);
	switch (child_signal(orders->child, number, is_stop, &pid)) {
	case 0:
		snprintf(result, room, "signal %s%s sent to process %d", name ? "SIG" : "", name ? name : numbered,
			(int)pid);
		break;
	case ESRCH:
		snprintf(result, room, "nothing: the command has ended");
		break;
	default:
		snprintf(result, room, "signal %s could not be sent to process %d", name ? name : numbered, (int)pid);
	}
}
