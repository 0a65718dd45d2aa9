/*
 * Job: calls of the server's JSON interface for the command-line programs: options, problems, paths.
 * Ownership: as http_post.h. Threads: as http_post.h.
 */
#pragma once

#include "base/json/json_read.h"
#include "base/options/options.h"
#include "cli/http/http_post.h"

/* Of the programs. */
enum { EXIT_DONE = 0, EXIT_NOTHING_MATCHED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 3, EXIT_REFUSED = 4 };

/* The rows of the option tables that say which server: --server, --token-file, --ca-file. */
#define CLIENT_OPTIONS                                                                                                 \
	{.name = "server",                                                                                             \
		.kind = OPTION_TEXT,                                                                                   \
		.value_name = "URL",                                                                                   \
		.fallback = "http://127.0.0.1:8080",                                                                   \
		.help = "The smfleet server; several addresses of one database, separated by commas: the next one is " \
			"asked when one is away.",                                                                     \
		.heading = "Server"},                                                                                  \
		{.name = "token",                                                                                      \
			.kind = OPTION_TEXT,                                                                           \
			.value_name = "TOKEN",                                                                         \
			.help = "The token to show to the server; in the environment or a file, never on the command " \
				"line, which everybody sees."},                                                        \
		{.name = "token-file",                                                                                 \
			.kind = OPTION_TEXT,                                                                           \
			.value_name = "FILE",                                                                          \
			.help = "File with the token to show to the server."},                                         \
		{.name = "ca-file",                                                                                    \
			.kind = OPTION_TEXT,                                                                           \
			.value_name = "FILE",                                                                          \
			.help = "Certificate authorities to trust for https, instead of the system's."},               \
		{.name = "tls-cert",                                                                                   \
			.kind = OPTION_TEXT,                                                                           \
			.value_name = "FILE",                                                                          \
			.help = "A certificate of one's own (PEM), which a server with --tls-client-ca asks for."},    \
	{                                                                                                              \
		.name = "tls-key", .kind = OPTION_TEXT, .value_name = "FILE", .help = "Its private key (PEM)."         \
	}

/* Reads the options above. program: "sm-ship", for User-Agent. */
enum status client_open(
	struct http_client **out, const struct options *options, const char *program, struct error *err) MUST_CHECK;

/*
 * Sends and checks: OK for 2xx. Else the status that the reply stands for, with the text, column and field of its
 * problem document; ERR_UNAVAILABLE without a reply. *reply as http_client_send has it.
 */
enum status client_call(struct http_client *client, const struct http_request *request, struct http_reply *reply,
	struct error *err) MUST_CHECK;
/* The same, but ERR_TOO_LARGE where the reply is too large: less has to be asked for. */
enum status client_fetch(struct http_client *client, const struct http_request *request, struct http_reply *reply,
	struct error *err) MUST_CHECK;
/* client_call of GET, whose reply is JSON. *document is NULL unless OK. */
enum status client_get_json(
	struct http_client *client, const struct buf *path, struct json **document, struct error *err) MUST_CHECK;

/* Could the same request succeed later? */
bool client_is_passing(enum status status);

/* Prints what --help and the like ask for to standard output; false when the program is to run. */
bool client_print_help(const struct option_program *program, const struct options *options);
/* "sm-ship: TEXT" on standard error, control characters made harmless. */
void client_say(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
