#include "cli/process/command_signals.h"
#include "cli/ship/ship_options.h"
#include "test.h"

#include <signal.h>

enum { MOST = 8 };

/* sm-ship with these --on, and a command unless there is none to be. */
static enum status read_orders(const char *const *on, bool has_command, struct orders *orders, struct error *err)
{
	AUTO(options) options = NULL;
	char *argv[2 * MOST + 4] = {(char *)"sm-ship"};
	int argc = 1;

	for (; *on; on++) {
		argv[argc++] = (char *)"--on";
		argv[argc++] = (char *)*on;
	}
	if (has_command) {
		argv[argc++] = (char *)"--";
		argv[argc++] = (char *)"true";
	}
	*orders = (struct orders){0};
	TRY(options_parse(&options, &ship_program, argc, argv, NULL, err));
	return orders_read(orders, options, err);
}

TEST(signals_by_all_their_names)
{
	static const struct {
		const char *text;
		int checkpoint, stop;
	} table[] = {
		{"checkpoint=USR1", SIGUSR1, 0},
		{"checkpoint=SIGUSR1", SIGUSR1, 0},
		{"checkpoint=sigusr1", SIGUSR1, 0},
		{"checkpoint=usr2", SIGUSR2, 0},
		{"checkpoint=1", 1, 0},
		{"stop=64", 0, 64},
		{"stop=TERM", 0, SIGTERM},
		{"stop=Int", 0, SIGINT},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct orders orders;
		CHECK_OK(read_orders((const char *const[]){table[i].text, NULL}, true, &orders, &err));
		CHECK_INT(orders.checkpoint_signal, table[i].checkpoint);
		CHECK_INT(orders.stop_signal, table[i].stop);
	}
}

TEST(of_orders_the_last_of_each_kind_counts)
{
	static const char *const on[] = {"stop=INT", "checkpoint=USR1", "stop=TERM", NULL};
	struct orders orders;

	CHECK_OK(read_orders(on, true, &orders, &err));
	CHECK_INT(orders.checkpoint_signal, SIGUSR1);
	CHECK_INT(orders.stop_signal, SIGTERM);
	CHECK_OK(read_orders((const char *const[]){NULL}, false, &orders, &err));
	CHECK_INT(orders.checkpoint_signal, 0);
	CHECK_INT(orders.stop_signal, 0);
}

static void check_refused(const char *text, bool has_command, const char *words)
{
	struct orders orders;
	struct error own = {0};

	CHECK_INT(read_orders((const char *const[]){text, NULL}, has_command, &orders, &own), ERR_INVALID);
	CHECK_TEXT(own.field, "on");
	CHECK_FAILS(read_orders((const char *const[]){text, NULL}, has_command, &orders, &err), ERR_INVALID, words);
}

TEST(orders_that_are_none)
{
	check_refused("checkpoint=0", true, "--on 'checkpoint=0' names no signal: USR1, TERM, INT … or a number");
	check_refused("checkpoint=65", true, "'checkpoint=65' names no signal");
	check_refused("stop=-15", true, "'stop=-15' names no signal");
	check_refused("stop=", true, "'stop=' names no signal");
	check_refused("stop=SIG", true, "'stop=SIG' names no signal");
	check_refused("stop=SIGSIGTERM", true, "'stop=SIGSIGTERM' names no signal");
	check_refused("stop=TERMINATE", true, "'stop=TERMINATE' names no signal");
	check_refused("stop=4294967311", true, "names no signal"); /* 15 above 2^32 */
	check_refused("pause=TERM", true, "--on 'pause=TERM' is neither checkpoint=SIGNAL nor stop=SIGNAL");
	check_refused("stop", true, "is neither");
	check_refused("stop=TERM", false, "sm-ship --on … -- COMMAND");
}

TEST(an_order_without_a_command_or_a_signal_is_nothing)
{
	struct orders orders = {.stop_signal = SIGTERM};
	char result[64];

	orders_carry_out(&orders, "stop", result, sizeof result);
	CHECK_TEXT(result, "nothing: sm-ship runs no command here");
	orders_carry_out(&orders, "stop", result, 9);
	CHECK_TEXT(result, "nothing:"); /* cut, with its end */
}
