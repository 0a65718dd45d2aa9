
#include "app/commands.h"

#include "app/app.h"
#include "app/command_backup.h"
#include "app/command_doctor.h"
#include "app/command_move.h"
#include "app/control.h"
#include "app/exit_status.h"
#include "app/storage.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "store/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- token create ---- */

static const char *text_or_empty(const struct options *options, const char *name)
{
	const char *text = options_text(options, name);

	return text ? text : "";
}

static void write_token_request(const struct options *options, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_text(&w, "command", "token_create");
	json_put_text(&w, "name", options_word(options, 2));
	json_put_text(&w, "scope", text_or_empty(options, "scope"));
	json_put_text(&w, "team", text_or_empty(options, "team"));
	json_put_bool(&w, "aws", options_flag(options, "aws"));
	json_object_end(&w);
}

static bool print_token(void *context, struct span line)
{
	AUTO(json) json = NULL;
	int *code = context;
	struct error err;

	if (json_parse(&json, line, &err) != OK) {
		*code = command_fail(&err, EXIT_FAILED);
		return false;
	}
	struct span token = json_string_of(json_get(json, "token")), problem = json_string_of(json_get(json, "error"));
	if (token.len)
		printf("%.*s\n", SPAN_ARGS(token));
	else
		fprintf(stderr, "sm-server: %.*s\n", SPAN_ARGS(problem));
	*code = token.len ? EXIT_DONE : EXIT_REFUSED;
	return false;
}

static int create_offline(const struct options *options)
{
	AUTO(app) app = NULL;
	AUTO_DONE(buf) token = BUF_INIT(512);
	const struct local_token asked = {.name = span_from(options_word(options, 2)),
		.scope = span_from(text_or_empty(options, "scope")),
		.team = span_from(text_or_empty(options, "team")),
		.wants_aws = options_flag(options, "aws")};
	struct error err = {0};

	log_set_level(LOG_WARNING);
	if (app_open_offline(&app, options, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	if (app_create_token(app, &asked, &token, &err) != OK)
		return command_fail(&err, EXIT_REFUSED);
	printf("%.*s\n", SPAN_ARGS(buf_span(&token)));
	return EXIT_DONE;
}

/* ERR_NOT_FOUND: no server is running. */
static enum status ask_server(const struct options *options, const struct buf *request,
	bool (*take)(void *context, struct span line), void *context, struct error *err)
{
	AUTO_DONE(buf) socket = BUF_INIT(4096);

	TRY(buf_status(request, err));
	TRY(storage_socket(options, &socket, err));
	return control_ask(socket.ptr, buf_span(request), take, context, err);
}

/* The running server makes it (one process writes a database); without one the database is opened here. */
static int command_create_token(const struct options *options)
{
	AUTO_DONE(buf) request = BUF_INIT(8192);
	struct error err = {0};
	int code = EXIT_FAILED;

	if (options_word_count(options) != 3 || strcmp(options_word(options, 1), "create") != 0) {
		fprintf(stderr, "sm-server: the command is: token create NAME\n");
		return EXIT_USAGE;
	}
	write_token_request(options, &request);
	enum status status = ask_server(options, &request, print_token, &code, &err);
	if (status == ERR_NOT_FOUND)
		return create_offline(options);
	return status == OK ? code : command_fail(&err, EXIT_FAILED);
}

/* ---- check ---- */

static void print_finding(void *context, const struct store_finding *finding)
{
	(void)context;
	printf("%s", finding->what);
	if (finding->job.len)
		printf(" of job '%.*s'", SPAN_ARGS(finding->job));
	if (finding->part_name.len)
		printf(", %s %.*s", finding->part, SPAN_ARGS(finding->part_name));
	else if (finding->part[0])
		printf(", %s %" PRIu64, finding->part, finding->part_id);
	printf(", at %" PRIu64 ": %.*s\n", finding->at, SPAN_ARGS(finding->text));
}

static bool print_rows(void *context, const char *what, uint64_t rows)
{
	enum { EACH = 4096 };
	bool is_terminal = *(bool *)context;

	if (is_terminal && rows % EACH == 0)
		fprintf(stderr, "\r%s: %" PRIu64 " rows ", what, rows);
	return true;
}

static int check_database(const struct store_options *db, bool is_quick, bool is_online)
{
	bool is_terminal = isatty(STDERR_FILENO);
	struct store_check check = {.is_quick = is_quick,
		.is_online = is_online,
		.found = print_finding,
		.progress = print_rows,
		.context = &is_terminal};
	uint64_t problems = 0;
	struct error err = {0};

	enum status status = store_check(db, &check, &problems, &err);
	if (is_terminal)
		fprintf(stderr, "\r%40s\r", "");
	if (status != OK)
		return command_fail(&err, EXIT_FAILED);
	printf("%s: %" PRIu64 " problem%s%s\n", db->path, problems, problems == 1 ? "" : "s",
		is_online
			? " (a server is running: tables were looked at one by one, free pages were not; a backup looks at all)"
			: "");
	return problems ? EXIT_FAILED : EXIT_DONE;
}

static int check_file(const char *path, bool is_quick, bool is_online)
{
	const struct store_options db = {.path = path};

	return check_database(&db, is_quick, is_online);
}

static enum status has_schema(const struct store_options *db, bool *has, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct store_plan plan = {0};

	if (!arena)
		return error_no_memory(err);
	TRY(store_plan_migrations(db, arena, &plan, err));
	*has = plan.version != 0;
	return OK;
}

/* Beside a server or not: it is the same to PostgreSQL. */
static int check_postgres(const struct options *options)
{
	struct storage_tool tool;
	struct error err = {0};
	bool has;

	storage_tool_init(&tool, options, options_text(options, "db"));
	if (has_schema(&tool.store, &has, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	if (has)
		return check_database(&tool.store, options_flag(options, "quick"), false);
	fprintf(stderr, "sm-server: there is no schema '%s' in the database (--schema)\n", tool.store.schema);
	return EXIT_FAILED;
}

static int command_check(const struct options *options)
{
	const char *db = options_text(options, "db");
	int64_t pid;

	if (storage_is_postgres(options))
		return check_postgres(options);
	if (access(db, R_OK) != 0) {
		fprintf(stderr, "sm-server: there is no database '%s' (--db)\n", db);
		return EXIT_FAILED;
	}
	bool is_online = store_is_in_use(db, &pid);
	AUTO_MEM char *log = store_beside(db, "-wal");
	if (is_online && log && access(log, F_OK) != 0) {
		fprintf(stderr,
			"sm-server: '%s' is in use by process %" PRId64
			" under another name, with its log beside that: check that one\n",
			db, pid);
		return EXIT_FAILED;
	}
	return check_file(db, options_flag(options, "quick"), is_online);
}

/* ---- restore ---- */

/* A backup has no key: the next start would make a new one, which opens nothing of it. */
static void warn_of_key(const struct options *options, const char *db)
{
	const char *stated = options_text(options, "secret-key-file");
	AUTO_DONE(buf) path = BUF_INIT(4096);

	buf_printf(&path, "%s%s", stated ? stated : db, stated ? "" : ".key");
	buf_append_char(&path, 0);
	if (buf_status(&path, NULL) == OK && access(path.ptr, F_OK) != 0)
		fprintf(stderr,
			"sm-server: warning: the key file '%s' is not there: copy that of the server that made the backup before you start this one, "
			"else secrets of webhooks in it cannot be opened\n",
			path.ptr);
}

static int command_restore(const struct options *options)
{
	const char *db = options_text(options, "db");
	struct error err = {0};

	if (options_word_count(options) != 2) {
		fprintf(stderr, "sm-server: the command is: restore FILE [--replace] [--db FILE]\n");
		return EXIT_USAGE;
	}
	if (storage_needs_file(options, "pg_restore puts back what pg_dump wrote", &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	const char *copy = options_word(options, 1);
	if (access(copy, R_OK) != 0) {
		fprintf(stderr, "sm-server: cannot read '%s'\n", copy);
		return EXIT_FAILED;
	}
	if (check_file(copy, false, false) != EXIT_DONE) {
		fprintf(stderr, "sm-server: '%s' is damaged and was not restored\n", copy);
		return EXIT_FAILED;
	}
	enum status status = store_restore(copy, db, options_flag(options, "replace"), &err);
	if (status != OK)
		return command_fail(&err, status == ERR_CONFLICT ? EXIT_REFUSED : EXIT_FAILED);
	printf("%s: restored from %s\n", db, copy);
	warn_of_key(options, db);
	return EXIT_DONE;
}

/* ---- migrate ---- */

static enum status print_plan(const struct store_options *store_options, size_t *pending, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct store_plan plan;

	if (!arena)
		return error_no_memory(err);
	*pending = 0;
	TRY(store_plan_migrations(store_options, arena, &plan, err));
	printf("%s: version %" PRId64 ", %.1f MB; this program's is %" PRId64 "\n", store_options->path, plan.version,
		(double)plan.bytes / 1e6, plan.count ? plan.migrations[plan.count - 1].number : 0);
	for (size_t i = 0; i < plan.count; i++)
		if (plan.migrations[i].is_pending) {
			(*pending)++;
			printf("  %.*s: %.*s\n", SPAN_ARGS(plan.migrations[i].name),
				SPAN_ARGS(plan.migrations[i].about));
		}
	if (*pending)
		printf("Each changes the schema alone, in one transaction of milliseconds; what is stored is worked on later, beside the "
		       "server's work.\n");
	else
		printf("Nothing is to be done.\n");
	return OK;
}

static enum status migrate(const struct store_options *store_options, struct error *err)
{
	AUTO(store) store = NULL;

	TRY(store_open(&store, store_options, err));
	printf("%s: migrated\n", store_options->path);
	return OK;
}

static enum status migrate_and_grant(const struct options *options, const struct store_options *db, struct error *err)
{
	const char *role = options_text(options, "runtime-role");
	size_t pending;

	if (role && !storage_is_postgres(options))
		return store_grant(db, role, err); /* which says why not, before anything is done */
	TRY(print_plan(db, &pending, err));
	if (options_flag(options, "plan"))
		return OK;
	if (pending)
		TRY(migrate(db, err));
	if (!role)
		return OK;
	TRY(store_grant(db, role, err));
	printf("%s: role '%s' may run a server\n", db->path, role);
	return OK;
}

static int command_migrate(const struct options *options)
{
	struct storage_tool tool;
	struct error err = {0};

	storage_tool_init(&tool, options, options_text(options, "db"));
	enum status status = migrate_and_grant(options, &tool.store, &err);
	if (status != OK)
		return command_fail(&err, status == ERR_CONFLICT ? EXIT_REFUSED : EXIT_FAILED);
	return EXIT_DONE;
}

/* ---- all ---- */

int command_run(const struct options *options)
{
	static const struct {
		const char *name;
		int (*run)(const struct options *options);
	} commands[] = {{"token", command_create_token}, {"backup", command_backup}, {"restore", command_restore},
		{"check", command_check}, {"migrate", command_migrate}, {"move", command_move},
		{"doctor", command_doctor}};

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(options_word(options, 0), commands[i].name) == 0)
			return commands[i].run(options);
	fprintf(stderr, "sm-server: '%s' is no command; see sm-server --help\n", options_word(options, 0));
	return EXIT_USAGE;
}
