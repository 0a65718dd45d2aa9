#include "cli/client.h"
#include "cli/search.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	AUTO(options) options = NULL;
	struct error err = {0};

	if (options_parse(&options, &search_program, argc, argv, environ, &err) != OK) {
		client_say(search_program.name, "%s\nTry 'sm-search --help'.", err.text);
		return EXIT_USAGE;
	}
	if (client_print_help(&search_program, options))
		return EXIT_DONE;
	return search_run(options, environ);
}
