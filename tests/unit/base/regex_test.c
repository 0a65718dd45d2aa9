#include "base/text/regex.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>

static struct regex *compiled(const char *pattern, unsigned flags)
{
	struct regex *regex = NULL;

	CHECK_OK(regex_new(&regex, span_from(pattern), flags, &err));
	return regex;
}

/* What `pattern` finds in `subject`: group 0, or "-" for nothing, or "limit". */
static struct span found(const char *pattern, unsigned flags, struct span subject)
{
	AUTO(regex) regex = compiled(pattern, flags);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	switch (regex_search(regex, scratch, subject, 0, groups)) {
	case REGEX_MATCH:
		return groups[0];
	case REGEX_NO_MATCH:
		return SPAN("-");
	case REGEX_LIMIT:
		return SPAN("limit");
	}
	return SPAN("?");
}

TEST(an_anchored_expression_matches_where_the_search_begins)
{
	CHECK_SPAN(found("b|cd", 0, SPAN("acd")), SPAN("cd"));
	CHECK_SPAN(found("b|cd", REGEX_ANCHORED, SPAN("acd")), SPAN("-"));
	CHECK_SPAN(found("b|^cd", REGEX_ANCHORED, SPAN("cdb")), SPAN("cd"));
	CHECK_SPAN(found("b|^cd", REGEX_ANCHORED, SPAN("bcd")), SPAN("b"));
}

TEST(regex_groups)
{
	AUTO(regex) regex = compiled("(?<name>[a-z_]+)=(?:(\\d+)|(?<word>\\w+))(!)?", 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	CHECK_INT(regex_group_count(regex), 4);
	CHECK_INT(regex_group(regex, "name"), 1);
	CHECK_INT(regex_group(regex, "word"), 3);
	CHECK_INT(regex_group(regex, "nobody"), -1);
	CHECK_INT(regex_search(regex, scratch, SPAN("x loss=abc"), 0, groups), REGEX_MATCH);
	CHECK_SPAN(groups[0], SPAN("loss=abc"));
	CHECK_SPAN(groups[1], SPAN("loss"));
	CHECK(!groups[2].ptr && !groups[4].ptr);
	CHECK_SPAN(groups[3], SPAN("abc"));
	CHECK_INT(regex_search(regex, scratch, SPAN("x loss=12!"), 0, groups), REGEX_MATCH);
	CHECK_SPAN(groups[2], SPAN("12"));
	CHECK(!groups[3].ptr);
	CHECK_SPAN(groups[4], SPAN("!"));
}

TEST(regex_searches_from_a_place)
{
	AUTO(regex) regex = compiled("\\ba(b*)", 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS], subject = SPAN("abb xa a");

	CHECK_INT(regex_search(regex, scratch, subject, 0, groups), REGEX_MATCH);
	CHECK_SPAN(groups[0], SPAN("abb"));
	CHECK_INT(regex_search(regex, scratch, subject, 1, groups),
		REGEX_MATCH); /* what is before `from` still counts for \b */
	CHECK(groups[0].ptr == subject.ptr + 7);
	CHECK(groups[1].ptr && groups[1].len == 0);
	CHECK_INT(regex_search(regex, scratch, subject, 8, groups), REGEX_NO_MATCH);
	CHECK_INT(regex_search(regex, scratch, subject, 9, groups), REGEX_NO_MATCH);
}

TEST(regex_empty_pattern_and_subject)
{
	AUTO(regex) regex = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS], nothing = {NULL, 0};

	CHECK_OK(regex_new(&regex, nothing, 0, &err));
	CHECK_INT(regex_search(regex, scratch, nothing, 0, groups), REGEX_MATCH);
	CHECK(groups[0].ptr && groups[0].len == 0);
	regex_free(NULL);
	regex_scratch_free(NULL);
}

TEST(regex_flags)
{
	CHECK_SPAN(found("LOSS", 0, SPAN("loss")), SPAN("-"));
	CHECK_SPAN(found("LOSS", REGEX_IGNORE_CASE, SPAN("loss")), SPAN("loss"));
	CHECK_SPAN(found("\xc3\x9c", REGEX_IGNORE_CASE | REGEX_UTF, SPAN("gr\xc3\xbcn")), SPAN("\xc3\xbc"));
	CHECK_SPAN(found("r.n", 0, SPAN("gr\xc3\xbcn")), SPAN("-"));
	CHECK_SPAN(found("r.n", REGEX_UTF, SPAN("gr\xc3\xbcn")), SPAN("r\xc3\xbcn"));
}

TEST(regex_bad_bytes_never_fail)
{
	CHECK_SPAN(found("loss=\\d", REGEX_UTF, SPAN("\xff\xc3 loss=1 \x80")), SPAN("loss=1"));
	CHECK_SPAN(found("a.b", REGEX_UTF,
			   SPAN("a\xff"
				"b")),
		SPAN("-"));
	CHECK_SPAN(found("a.b", 0,
			   SPAN("a\xff"
				"b")),
		SPAN("a\xff"
		     "b"));
	CHECK_SPAN(found("(*NO_JIT)a.b", REGEX_UTF,
			   SPAN("a\xff"
				"b a-b\xc3")),
		SPAN("a-b"));
	CHECK_SPAN(found("a\\x00b", 0, SPAN("a\0b")), SPAN("a\0b"));
}

TEST(regex_without_jit)
{
	CHECK_SPAN(found("(*NO_JIT)(a+)b", 0, SPAN("xaab")), SPAN("aab"));
	CHECK_SPAN(found("(*NO_JIT)c", 0, SPAN("xaab")), SPAN("-"));
	CHECK_SPAN(found("(*NO_JIT)(a+)+$", 0, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")), SPAN("limit"));
}

static void check_refused(const char *pattern, unsigned flags, int64_t column, const char *words)
{
	struct regex *regex = NULL;
	struct error err = {0};

	CHECK_INT(regex_new(&regex, span_from(pattern), flags, &err), ERR_SEMANTIC);
	if (err.column != column || span_find(span_from(err.text), span_from(words)) < 0 || regex)
		test_fail(__FILE__, __LINE__, "%s gives column %d, '%s'", pattern, (int)err.column, err.text);
}

TEST(regex_errors_have_a_place)
{
	check_refused("a(b", 0, 4, "at offset 3: missing closing parenthesis");
	check_refused("a*b)", 0, 4, "at offset 3: unmatched closing parenthesis");
	check_refused("[z-a]", 0, 4, "range out of order");
	check_refused("a\\Cb", 0, 4, "\\C");
	check_refused("(*UTF)a", 0, 7, "UTF");
	check_refused("\xff", REGEX_UTF, 1, "UTF-8 error");
	CHECK_INT(regex_new(&(struct regex *){NULL}, SPAN("("), 0, NULL), ERR_SEMANTIC);
}

TEST(regex_group_limit)
{
	char pattern[200] = "";

	for (size_t i = 0; i < REGEX_MAX_GROUPS; i++)
		memcpy(pattern + 3 * i, "(a)", 4);
	check_refused(pattern, 0, 0, "32 groups, more than 31");
	AUTO(regex) regex = compiled(pattern + 3, 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];
	CHECK_INT(regex_search(regex, scratch, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 0, groups), REGEX_MATCH);
	CHECK_SPAN(groups[31], SPAN("a"));
}

TEST(regex_limits_are_results)
{
	AUTO(regex) regex = compiled("^(x+x+)+$", 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	regex_scratch_limit(scratch, 1000);
	CHECK_INT(regex_search(regex, scratch, SPAN("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx!"), 0, groups),
		REGEX_LIMIT);
	CHECK_INT(regex_search(regex, scratch, SPAN("xxx"), 0, groups), REGEX_MATCH); /* and the scratch stays good */
}

TEST(regex_stack_exhaustion_is_a_limit)
{
	AUTO_MEM char *text = mem_alloc(4 << 20);
	AUTO(regex) regex = compiled("(?:(a)|b)*c", 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	memset(text, 'a', 4 << 20);
	regex_scratch_limit(scratch, UINT32_MAX);
	CHECK_INT(regex_search(regex, scratch, span_of(text, 4 << 20), 0, groups), REGEX_LIMIT);
}

TEST(regex_duplicate_names)
{
	AUTO(regex) regex = compiled("(?J)(?<n>a)|(?<n>b)", 0);

	CHECK_INT(regex_group(regex, "n"), -1);
}

TEST(regex_out_of_memory)
{
	for (long nth = 1;; nth++) {
		struct regex *regex = NULL;
		struct error err = {0};
		mem_fail_at(nth);
		enum status status = regex_new(&regex, SPAN("(?<name>[a-z]+)=(\\d+)"), REGEX_UTF, &err);
		mem_fail_at(0);
		regex_free(regex);
		if (status == OK)
			break;
		CHECK_INT(status, ERR_MEMORY);
		CHECK(nth < 50);
	}
	for (long nth = 1; nth < 20; nth++) {
		mem_fail_at(nth);
		AUTO(regex_scratch) scratch = regex_scratch_new();
		mem_fail_at(0);
		CHECK(scratch || nth < 10);
	}
}

TEST(a_quoted_text_matches_itself_alone)
{
	static const char text[] = "a.b*c\\d[e]\xc3\xa9 $^(?i)";
	AUTO_DONE(buf) pattern = BUF_INIT(1000);
	AUTO(regex) regex = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	regex_quote(span_from(text), &pattern);
	CHECK_OK(regex_new(&regex, buf_span(&pattern), REGEX_UTF, &err));
	CHECK_INT(regex_search(regex, scratch, span_from(text), 0, groups), REGEX_MATCH);
	CHECK_SPAN(groups[0], span_from(text));
	CHECK_INT(regex_search(regex, scratch, SPAN("axbbbc\\d[e]\xc3\xa9 $^(?i)"), 0, groups), REGEX_NO_MATCH);
}

static bool counts(void *context)
{
	return ++*(int *)context > 100;
}

TEST(a_watched_search_is_stopped_in_the_middle_of_one_match)
{
	static char text[100000];
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];
	/* Within the steps, and yet without an end: each of them reads all of the text. */
	static const char *const patterns[] = {"a*[^x]*+y", "(*NO_JIT)a*[^x]*+y"};

	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = 'y';
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		AUTO(regex) regex = compiled(patterns[i], 0);
		int asked = 0;
		regex_scratch_watch(scratch, (struct regex_watch){counts, &asked});
		CHECK_INT(regex_search(regex, scratch, span_of(text, sizeof text), 0, groups), REGEX_LIMIT);
		CHECK_INT(asked, 101);
		CHECK_INT(regex_search(regex, scratch, SPAN("xy"), 0, groups), REGEX_LIMIT);
		CHECK_INT(asked, 102); /* still stopped: at the first step */
		regex_scratch_watch(scratch, (struct regex_watch){0});
		CHECK_INT(regex_search(regex, scratch, SPAN("xy"), 0, groups), REGEX_NO_MATCH);
	}
}

TEST(the_steps_of_one_search_can_be_fewer)
{
	AUTO(regex) regex = compiled("(a+)+[bc]", 0);
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS], text = SPAN("aaaaaaaadaaaaaaaac");

	CHECK_INT(regex_search_within(regex, scratch, text, 0, groups, 2), REGEX_LIMIT);
	CHECK_INT(regex_search_within(regex, scratch, text, 0, groups, 1000), REGEX_MATCH);
	CHECK_INT(regex_search(regex, scratch, text, 0, groups), REGEX_MATCH);
}

/* What a trainer prints at each step: some ten names that are looked for along the line, whatever their order is. */
TEST(a_long_line_is_searched_without_a_watch_where_few_bytes_may_begin_a_match)
{
	static const char line[] =
		" [2026-01-05 00:00:01] iteration 00000001/99999999 | consumed samples:         1024 | elapsed time per"
		" iteration (ms): 2268.7 | throughput per GPU (TFLOP/s/GPU): 416.3 | learning rate: 3.000000E-04 | global"
		" batch size:  1024 | lm loss: 2.302070E+00 | loss scale: 1.0 | grad norm: 0.311 | num zeros: 38695 |"
		" number of skipped iterations:   0 | number of nan iterations:   0 |";
#define AHEAD(name) "(?=.*?" name ": +((?:1\\.#[A-Z]+|(?i:nan|inf)|[-+]?\\d+\\.?\\d*(?:[eE][-+]?\\d+)?)))?"
	static const char *const patterns[] = {
		"iteration +(\\d+)/\\d+ \\|" AHEAD("(?:lm[ _-]|\\| )loss") AHEAD("(?:grad|total) norm")
			AHEAD("learning rate") AHEAD("num zeros") AHEAD("loss scale") AHEAD("\\(ms\\)")
				AHEAD("skipped iterations") AHEAD("(?:params|weights) norm"),
		"(?i)ITERATION +(\\d+)/\\d+ \\|" AHEAD("(?:lm[ _-]|\\| )loss") AHEAD("(?:grad|total) norm")
			AHEAD("learning rate") AHEAD("num zeros") AHEAD("loss scale") AHEAD("\\(ms\\)")
				AHEAD("skipped iterations") AHEAD("(?:params|weights) norm"),
	};
#undef AHEAD
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];
	unsigned percent = 0;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		AUTO(regex) regex = compiled(patterns[i], 0);
		CHECK_INT(regex_search(regex, scratch, SPAN("iteration"), 0, groups), REGEX_NO_MATCH);
		mem_fail_at(1); /* the form of it that can be watched would be made now, at its second stage then */
		CHECK_INT(regex_search_counted(regex, scratch, span_from(line), 0, groups, &percent), REGEX_MATCH);
		mem_fail_at(0);
		CHECK_INT(percent, 0);
		CHECK_SPAN(groups[2], SPAN("2.302070E+00"));
		CHECK_SPAN(groups[8], SPAN("0"));
		CHECK(!groups[9].ptr);
	}
}

/* A line of verl's: the pattern's '^' alone says that a match begins nowhere else. */
TEST(a_long_line_is_searched_without_a_watch_where_a_match_begins_at_its_start_alone)
{
	static const char ahead[] =
		"(?=.*?\\bcritic/(?:score|reward)/mean:(\\d+))?(?=.*?\\bcritic/(?:grad|norm):(\\d+))?"
		"(?=.*?\\blr:(\\d+))?";
	static const char *const starts[] = {"^", "\\A"};
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];
	unsigned percent = 0;
	char line[2000];

	for (size_t i = 0; i < sizeof line; i++)
		line[i] = "critic/loss:1 - "[i % 16];
	memcpy(line, "step:7 - ", 9);
	memcpy(line + 1000, " lr:3 ", 6);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		char pattern[200];
		snprintf(pattern, sizeof pattern, "%sstep:(\\d+) - %s", starts[i], ahead);
		AUTO(regex) regex = compiled(pattern, 0);
		CHECK_INT(regex_search(regex, scratch, SPAN("step"), 0, groups), REGEX_NO_MATCH);
		mem_fail_at(1); /* the form of it that can be watched would be made now, at its second stage then */
		CHECK_INT(regex_search_counted(regex, scratch, span_of(line, sizeof line), 0, groups, &percent),
			REGEX_MATCH);
		mem_fail_at(0);
		CHECK_INT(percent, 0);
		CHECK_SPAN(groups[4], SPAN("3"));
	}
}

struct first_search {
	const struct regex *regex;
	pthread_barrier_t *all_there;
	bool has_found;
};

static void *search_first(void *context)
{
	struct first_search *search = context;
	struct span groups[REGEX_MAX_GROUPS];
	AUTO(regex_scratch) scratch = regex_scratch_new();

	if (scratch)
		pthread_barrier_wait(search->all_there);
	search->has_found = scratch &&
			    regex_search(search->regex, scratch, SPAN("step=12 loss=0.5"), 0, groups) == REGEX_MATCH &&
			    span_equal(groups[1], SPAN("0.5"));
	return NULL;
}

/* The first makes its machine code, while the others wait for it. */
TEST(threads_begin_to_search_for_one_expression_at_once)
{
	enum { THREADS = 4, ROUNDS = 20 };

	for (int round = 0; round < ROUNDS; round++) {
		AUTO(regex) regex = compiled("loss=([0-9.]+)", 0);
		pthread_barrier_t all_there;
		pthread_t threads[THREADS];
		struct first_search searches[THREADS];

		pthread_barrier_init(&all_there, NULL, THREADS);
		for (int i = 0; i < THREADS; i++) {
			searches[i] = (struct first_search){regex, &all_there, false};
			CHECK(!pthread_create(&threads[i], NULL, search_first, &searches[i]));
		}
		for (int i = 0; i < THREADS; i++) {
			CHECK(!pthread_join(threads[i], NULL));
			CHECK(searches[i].has_found);
		}
		pthread_barrier_destroy(&all_there);
	}
}

/* By an expression that is not of ASCII alone. */
TEST(what_is_no_space_no_digit_or_no_word_may_be_of_any_number_of_bytes)
{
	static const char *const patterns[] = {"\xc3\xa9\\S", "\xc3\xa9\\D", "\xc3\xa9\\W", "(?i)\xc3\xa9\\S+$"};
	static const char *const texts[] = {
		"\xc3\xa9\xc3\xa9", "\xc3\xa9\xc5\xbf", "\xc3\xa9\xe2\x84\xaa", "\xc3\xa9#"};

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		AUTO(regex) regex = NULL;
		AUTO(regex_scratch) scratch = regex_scratch_new();
		struct span groups[REGEX_MAX_GROUPS];
		CHECK_OK(regex_new(&regex, span_from(patterns[i]), REGEX_UTF, &err));
		for (size_t j = 0; j < sizeof texts / sizeof *texts; j++) {
			CHECK_INT(regex_search(regex, scratch, span_from(texts[j]), 0, groups), REGEX_MATCH);
			CHECK_SPAN(groups[0], span_from(texts[j]));
		}
	}
}
