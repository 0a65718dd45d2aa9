#include "cli/http/client.h"
#include "cli/process/profile.h"
#include "cli/search/search.h"

#include <unistd.h>

/* argv with the profile as the config file, unless another is named. */
static enum status parse(
	struct options **options, struct buf *profile, struct buf *all, int argc, char **argv, struct error *err)
{
	TRY(profile_find(argc, argv, environ, profile, err));
	if (!profile->len)
		return options_parse(options, &search_program, argc, argv, environ, err);
	buf_append(all, (char *[]){argv[0], "--config", profile->ptr}, 3 * sizeof *argv);
	buf_append(all, argv + 1, (size_t)argc * sizeof *argv); /* with the NULL at its end */
	TRY(buf_status(all, err));
	return options_parse(options, &search_program, argc + 2, (char *const *)(void *)all->ptr, environ, err);
}

int main(int argc, char **argv)
{
	AUTO(options) options = NULL;
	AUTO_DONE(buf) profile = BUF_INIT(8192);
	AUTO_DONE(buf) all = BUF_INIT(64 << 20); /* the options point into it */
	struct error err = {0};

	if (argc < 1 || parse(&options, &profile, &all, argc, argv, &err) != OK) {
		client_say(search_program.name, "%s\nTry 'sm-search --help'.", err.text);
		return EXIT_USAGE;
	}
	if (client_print_help(&search_program, options))
		return EXIT_DONE;
	return search_run(options, environ);
}
