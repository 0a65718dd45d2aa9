#include "cli/http/client.h"
#include "cli/ship/ship.h"
#include "cli/ship/ship_options.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	AUTO(options) options = NULL;
	struct error err = {0};

	if (options_parse(&options, &ship_program, argc, argv, environ, &err) != OK) {
		client_say(ship_program.name, "%s\nTry 'sm-ship --help'.", err.text);
		return EXIT_USAGE;
	}
	if (client_print_help(&ship_program, options))
		return EXIT_DONE;
	return ship_run(options, environ);
}
