#include "cli/search/completion.h"
#include "cli/search/search.h"
#include "cli/search/search_groups.h"
#include "test.h"

#include <stdio.h>

enum { MOST = 8 };

static void parse(struct options **options, const char *const *arguments)
{
	char *argv[MOST + 2] = {(char *)"sm-search"};
	int argc = 1;

	while (arguments[argc - 1] && argc <= MOST) {
		argv[argc] = (char *)arguments[argc - 1];
		argc++;
	}
	CHECK_OK(options_parse(options, &search_program, argc, argv, NULL, &err));
}

TEST(groups_are_wanted_by_either_option)
{
	static const struct {
		const char *arguments[MOST];
		bool wanted;
	} table[] = {{{NULL}, false}, {{"--count", NULL}, false}, {{"--by", "node", NULL}, true},
		{{"--of=count", NULL}, true}, {{"--by", "node", "--of", "count", "--csv", "x", NULL}, true}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		AUTO(options) options = NULL;
		bool wanted = !table[i].wanted;
		parse(&options, table[i].arguments);
		CHECK_OK(search_groups_wanted(options, &wanted, &err));
		CHECK_INT(wanted, table[i].wanted);
	}
}

TEST(what_is_of_jobs_is_not_of_groups)
{
	static const char *const flags[] = {"watch", "explain", "count", "runs", "compare"};
	static const char *const texts[] = {"sort", "fields", "logs", "sagemaker-json"};

	for (size_t i = 0; i < 9; i++) {
		AUTO(options) options = NULL;
		AUTO(options) alone = NULL;
		char option[64], words[128];
		bool wanted;
		snprintf(option, sizeof option, i < 5 ? "--%s" : "--%s=x", i < 5 ? flags[i] : texts[i - 5]);
		snprintf(words, sizeof words, "--%s is of jobs: not with --by and --of",
			i < 5 ? flags[i] : texts[i - 5]);
		parse(&options, (const char *const[]){"--by", "node", option, NULL});
		CHECK_FAILS(search_groups_wanted(options, &wanted, &err), ERR_INVALID, words);
		parse(&alone, (const char *const[]){option, NULL});
		CHECK_OK(search_groups_wanted(alone, &wanted, &err));
		CHECK(!wanted);
	}
}

TEST(a_shell_is_told_of_each_option)
{
	static const char *const shells[] = {"bash", "zsh"};

	for (size_t i = 0; i < 2; i++) {
		AUTO_DONE(buf) script = BUF_INIT(64 << 10);
		CHECK_OK(completion_put_script(&search_program, shells[i], &script, &err));
		struct span rest = buf_span(&script), line = SPAN(""), option;
		while (rest.len && !span_starts_with(line, SPAN("_sm_search_options='")))
			CHECK(span_next(&rest, '\n', &line));
		CHECK(span_ends_with(line, SPAN("'")));
		line = span_of(line.ptr + 20, line.len - 21);
		const struct option_spec *spec = search_program.options;
		static const char *const first[] = {"--help", "--version", "--config"};
		for (size_t count = 0; line.len; count++) {
			char name[64];
			snprintf(name, sizeof name, "--%s", count < 3 ? first[count] + 2 : spec[count - 3].name);
			CHECK(span_next(&line, ':', &option));
			CHECK_SPAN(option, span_from(name));
			CHECK(line.len || !spec[count - 2].name);
		}
		CHECK_INT(span_starts_with(buf_span(&script), SPAN("#compdef sm-search\n")), i == 1);
	}
	AUTO_DONE(buf) none = BUF_INIT(64 << 10);
	CHECK_FAILS(completion_put_script(&search_program, "fish", &none, &err), ERR_INVALID,
		"--completion is bash or zsh, not 'fish'");
	CHECK_FAILS(completion_put_script(&search_program, "", &none, &err), ERR_INVALID, "not ''");
	CHECK_INT(none.len, 0);
}
