/* sm-server: options, then either a subcommand or the server until a signal. */
#include "app/app.h"
#include "app/commands.h"
#include "app/exit_status.h"
#include "app/reload.h"
#include "app/storage.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

static int serve(struct options *options)
{
	AUTO(app) app = NULL;
	struct error err = {0};

	if (app_start(&app, options, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	if (app_run(app, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	return EXIT_DONE;
}

static int run(struct options *options)
{
	struct error err = {0};

	if (reload_set_level(options, &err) != OK)
		return command_fail(&err, EXIT_USAGE);
	if (storage_check(options, &err) != OK)
		return command_fail(&err, EXIT_USAGE);
	return options_word_count(options) ? command_run(options) : serve(options);
}

int main(int argc, char **argv)
{
	AUTO(options) options = NULL;
	struct error err = {0};

	/* Buffers of a slice or a group come and go a thousand times a second: from the heap, or page faults are a fifth of the
	 * work. What a burst needed goes back when it is over (mem_give_back). With two heaps the threads of ingest wait for each
	 * other; each more of them holds some memory that is free. */
	mallopt(M_ARENA_MAX, 4);
	mallopt(M_MMAP_THRESHOLD, 8 * 1024 * 1024);
	mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);

	if (options_parse(&options, &app_program, argc, argv, environ, &err) != OK)
		return command_fail(&err, EXIT_USAGE);
	if (options_action(options) == OPTIONS_RUN)
		return run(options);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	options_print(&app_program, options_action(options), &text);
	printf("%.*s", SPAN_ARGS(buf_span(&text)));
	return EXIT_DONE;
}
