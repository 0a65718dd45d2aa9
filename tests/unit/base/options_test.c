#include "base/options/options.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Two tables, of which one goes on in the other. */
static const struct option_spec more_specs[] = {
	{.name = "insecure", .kind = OPTION_FLAG, .help = "No tokens | none.", .heading = "Security"},
	{.name = "tag", .kind = OPTION_TEXT, .is_list = true, .value_name = "K=V", .help = "A tag."},
	{.name = NULL},
};

static const struct option_spec specs[] = {
	{.name = "listen",
		.kind = OPTION_TEXT,
		.value_name = "HOST:PORT",
		.fallback = "127.0.0.1:8080",
		.help = "Where."},
	{.name = "spool-bytes", .kind = OPTION_BYTES, .value_name = "SIZE", .fallback = "1GiB", .help = "How much."},
	{.name = "wait", .kind = OPTION_DURATION, .value_name = "TIME", .fallback = "60s", .help = "How long."},
	{.name = "workers",
		.kind = OPTION_I64,
		.value_name = "N",
		.min = 1,
		.max = 64,
		.fallback = "4",
		.help = "Threads."},
	{.more = more_specs},
};

static const struct option_program program = {.name = "tool",
	.version = "1.2.3",
	.about = "Does things.",
	.usage = "[OPTION]... WORD\n[OPTION]... -- COMMAND",
	.notes = "Exit status: 0 done.",
	.options = specs,
	.takes_words = true,
	.takes_command = true};

#define PARSE(out, environment, ...)                                                                                   \
	options_parse(out, &program, (int)(sizeof((char *[]){"tool", __VA_ARGS__}) / sizeof(char *)),                  \
		(char *[]){"tool", __VA_ARGS__, NULL}, environment, &err)

TEST(options_have_defaults)
{
	AUTO(options) o = NULL;
	CHECK_OK(PARSE(&o, NULL, "word"));
	CHECK_TEXT(options_text(o, "listen"), "127.0.0.1:8080");
	CHECK_INT(options_i64(o, "spool-bytes"), 1 << 30);
	CHECK_INT(options_i64(o, "wait"), 60000);
	CHECK(!options_flag(o, "insecure"));
	CHECK_INT(options_count(o, "tag"), 0);
	CHECK(options_text(o, "tag") == NULL);
	CHECK_INT(options_origin(o, "listen"), OPTION_FROM_DEFAULT);
	CHECK_INT(options_origin(o, "insecure"), OPTION_FROM_NOWHERE);
	CHECK_TEXT(options_origin_text(o, "insecure"), "not set");
	CHECK_INT(options_word_count(o), 1);
	CHECK_TEXT(options_word(o, 0), "word");
	CHECK(options_command(o) == NULL);
}

TEST(options_from_the_command_line)
{
	char *argv[] = {"tool", "--listen=:1", "a", "--workers", "8", "--insecure", "--tag", "x=1", "--tag=y=2", "-5",
		"--", "python", "--listen", NULL};
	AUTO(options) o = NULL;
	CHECK_OK(options_parse(&o, &program, 13, argv, NULL, &err));
	CHECK_TEXT(options_text(o, "listen"), ":1");
	CHECK_INT(options_i64(o, "workers"), 8);
	CHECK(options_flag(o, "insecure"));
	CHECK_INT(options_count(o, "tag"), 2);
	CHECK_TEXT(options_item(o, "tag", 1), "y=2");
	CHECK_TEXT(options_origin_text(o, "workers"), "--workers");
	CHECK_INT(options_word_count(o), 2);
	CHECK_TEXT(options_word(o, 1), "-5");
	CHECK_TEXT(options_command(o)[0], "python");
	CHECK_TEXT(options_command(o)[1], "--listen");
	CHECK(options_command(o)[2] == NULL);
}

TEST(options_last_word_wins_and_no_turns_off)
{
	AUTO(options) o = NULL;
	CHECK_OK(PARSE(&o, NULL, "--workers=2", "--workers=3", "--insecure", "--no-insecure"));
	CHECK_INT(options_i64(o, "workers"), 3);
	CHECK(!options_flag(o, "insecure"));
}

TEST(options_environment_yields_to_flags)
{
	char *environment[] = {"SMFLEET_LISTEN=:2", "SMFLEET_WORKERS=7", "SMFLEET_TAG=a=1\nb=2", "SMFLEET_INSECURE=yes",
		"SMFLEET_SPOOL_BYTES=", "OTHER=1", NULL};
	AUTO(options) o = NULL;
	CHECK_OK(PARSE(&o, environment, "--workers", "5"));
	CHECK_TEXT(options_text(o, "listen"), ":2");
	CHECK_INT(options_i64(o, "workers"), 5);
	CHECK_INT(options_i64(o, "spool-bytes"), 1 << 30);
	CHECK_INT(options_count(o, "tag"), 2);
	CHECK(options_flag(o, "insecure"));
	CHECK_TEXT(options_origin_text(o, "listen"), "SMFLEET_LISTEN");
}

TEST(options_wrong_values_are_named)
{
	char *environment[] = {"SMFLEET_WAIT=soon", NULL};
	AUTO(options) o = NULL;
	CHECK_FAILS(PARSE(&o, NULL, "--workers", "x"), ERR_INVALID, "--workers: 'x' is not a whole number");
	CHECK_FAILS(PARSE(&o, NULL, "--workers=0"), ERR_INVALID, "'0' is less than 1");
	CHECK_FAILS(PARSE(&o, NULL, "--workers=65"), ERR_INVALID, "'65' is more than 64");
	CHECK_FAILS(PARSE(&o, NULL, "--spool-bytes=1XB"), ERR_INVALID, "a size such as 64KiB");
	CHECK_FAILS(PARSE(&o, NULL, "--workers"), ERR_INVALID, "--workers wants a value: N");
	CHECK_FAILS(PARSE(&o, NULL, "--insecure=maybe"), ERR_INVALID, "yes or no");
	CHECK_FAILS(PARSE(&o, NULL, "--"), ERR_INVALID, "a command is wanted");
	CHECK_FAILS(PARSE(&o, environment, "a"), ERR_INVALID,
		"environment variable SMFLEET_WAIT: 'soon' is not a duration");
}

TEST(options_unknown_names_get_a_hint)
{
	AUTO(options) o = NULL;
	CHECK_FAILS(PARSE(&o, NULL, "--lisen", ":1"), ERR_INVALID, "did you mean '--listen'?");
	CHECK_FAILS(PARSE(&o, NULL, "--spool=1"), ERR_INVALID, "did you mean '--spool-bytes'?");
	CHECK_FAILS(PARSE(&o, NULL, "--hlep"), ERR_INVALID, "did you mean '--help'?");
	CHECK_FAILS(PARSE(&o, NULL, "--no-workers"), ERR_INVALID, "unknown option '--no-workers'");
	CHECK_FAILS(PARSE(&o, NULL, "--quux"), ERR_INVALID, "unknown option '--quux'");
}

TEST(options_config_file_is_the_weakest)
{
	char path[] = "/tmp/options_test_XXXXXX";
	char *environment[] = {"SMFLEET_WORKERS=6", NULL};
	AUTO(options) o = NULL;
	int fd = mkstemp(path);
	dprintf(fd, "# ours\n\nlisten = \" :9 \"\n workers=3\ntag = a=1\ntag = b=2\ninsecure = on\n");
	CHECK_OK(PARSE(&o, environment, "--config", path));
	CHECK_TEXT(options_text(o, "listen"), " :9 ");
	CHECK_INT(options_i64(o, "workers"), 6);
	CHECK_INT(options_count(o, "tag"), 2);
	CHECK(options_flag(o, "insecure"));
	char place[64];
	snprintf(place, sizeof place, "%s:3", path);
	CHECK_TEXT(options_origin_text(o, "listen"), place);
	dprintf(fd, "lisen = 5\n");
	AUTO(options) second = NULL;
	struct error err = {0};
	CHECK_INT(PARSE(&second, NULL, "--config", path), ERR_INVALID);
	CHECK_INT(err.line, 8);
	CHECK(strstr(err.text, ":8: unknown option 'lisen'; did you mean 'listen'?") != NULL);
	close(fd);
	unlink(path);
	CHECK_INT(PARSE(&second, NULL, "--config", path), ERR_IO);
	CHECK(strstr(err.text, "cannot open config file") != NULL);
}

TEST(options_print_help_and_markdown)
{
	AUTO(options) o = NULL;
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);
	CHECK_OK(PARSE(&o, NULL, "--help", "--workers"[0] ? "a" : ""));
	CHECK_INT(options_action(o), OPTIONS_HELP);
	options_print(&program, OPTIONS_HELP, &out);
	CHECK(span_find(buf_span(&out), SPAN("usage: tool [OPTION]... WORD\n       tool [OPTION]... -- COMMAND\n")) ==
		0);
	CHECK(span_find(buf_span(&out), SPAN("  --workers N               Threads. [4]\n")) > 0);
	CHECK(span_find(buf_span(&out), SPAN("\nSecurity:\n")) > 0);
	buf_reset(&out);
	options_print(&program, OPTIONS_HELP_MARKDOWN, &out);
	CHECK(span_find(buf_span(&out),
		      SPAN("| `--spool-bytes SIZE` | `SMFLEET_SPOOL_BYTES` | `1GiB` | How much. |\n")) > 0);
	CHECK(span_find(buf_span(&out), SPAN("No tokens \\| none.")) > 0);
	buf_reset(&out);
	options_print(&program, OPTIONS_VERSION, &out);
	CHECK_SPAN(buf_span(&out), SPAN("tool 1.2.3\n"));
}

TEST(options_sizes_and_durations)
{
	int64_t n = 0;
	CHECK(option_parse_bytes(SPAN("64KiB"), &n) && n == 65536);
	CHECK(option_parse_bytes(SPAN("10 MB"), &n) && n == 10000000);
	CHECK(option_parse_bytes(SPAN("7"), &n) && n == 7);
	CHECK(!option_parse_bytes(SPAN("9999999999TiB"), &n));
	CHECK(!option_parse_bytes(SPAN(""), &n));
	CHECK(!option_parse_bytes(SPAN("KiB"), &n));
	CHECK(option_parse_duration(SPAN("500ms"), &n) && n == 500);
	CHECK(option_parse_duration(SPAN("2d"), &n) && n == 172800000);
	CHECK(!option_parse_duration(SPAN("-1s"), &n));
}

TEST(options_survive_lack_of_memory)
{
	char *environment[] = {"SMFLEET_TAG=a=1\nb=2", NULL};
	bool is_done = false;
	for (long nth = 1; !is_done; nth++) {
		struct error err = {0};
		AUTO(options) o = NULL;
		mem_fail_at(nth);
		enum status status = PARSE(&o, environment, "a", "--listen", ":1");
		mem_fail_at(0);
		is_done = status == OK;
		CHECK(is_done || status == ERR_MEMORY);
	}
}
