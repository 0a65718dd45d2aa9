/* Lines that match, found in the text of many: the same that match alone, and without a look at what cannot match. */
#include "read/logs/log_matcher.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

struct finding {
	struct log_matcher *matcher;
	struct regex_scratch *scratch;
	size_t asked; /* how often: before each match that is tried on text */
};

static bool count_asked(void *context)
{
	((struct finding *)context)->asked++;
	return false;
}

static void finding_open(struct finding *on, const char *pattern, bool is_regex, bool ignore_case)
{
	*on = (struct finding){.scratch = regex_scratch_new()};
	CHECK_OK(log_matcher_new(&on->matcher, span_from(pattern), is_regex, ignore_case, &err));
	regex_scratch_watch(on->scratch, (struct regex_watch){count_asked, on});
}

static void finding_close(struct finding *on)
{
	log_matcher_free(on->matcher);
	regex_scratch_free(on->scratch);
}

static const char *const words[] = {"loss", "1.25", "WARN", "timeout", "ABCDEFGHIJKLMNOP", "abcdefgh", "0088418",
	"iteration", "0088418", "=", "", "ABCDEFGH", "\t", "/", "x"};

/* Lines of a few words, some long, in one piece. */
static void make_text(struct buf *text, unsigned seed)
{
	for (int i = 0; i < 400; i++) {
		int count = seed % 97 == 5 ? 600 : (int)(seed >> 7) % 6;
		for (int j = 0; j < count; j++) {
			seed = seed * 1103515245 + 12345;
			buf_append_span(text, span_from(words[(seed >> 16) % (sizeof words / sizeof *words)]));
			if (seed >> 9 & 3)
				buf_append_char(text, ' ');
		}
		seed = seed * 1103515245 + 12345;
		buf_append_char(text, '\n');
	}
}

static void check_all(const char *pattern, bool is_regex, bool ignore_case, struct span text)
{
	struct finding on;
	uint64_t limited = 0, alone = 0;
	size_t at;

	finding_open(&on, pattern, is_regex, ignore_case);
	at = log_matcher_next(on.matcher, on.scratch, text, 0, &limited);
	for (size_t begin = 0; begin < text.len;) {
		struct span line = span_skip(text, begin);
		line = span_of(line.ptr, (size_t)span_find_char(line, '\n'));
		bool matches = log_matcher_matches(on.matcher, on.scratch, line, &alone);
		if (matches != (at == begin))
			test_fail(__FILE__, __LINE__, "'%s' on '%.*s'", pattern, SPAN_ARGS(line));
		if (at == begin)
			at = log_matcher_next(on.matcher, on.scratch, text, begin + line.len + 1, &limited);
		begin += line.len + 1;
	}
	CHECK_INT(at, text.len);
	CHECK_INT(limited + alone, 0);
	finding_close(&on);
}

TEST(lines_are_found_in_the_text_of_many_as_they_are_alone)
{
	static const char *const patterns[] = {"loss", "WARN.*timeout", "iteration\\s+0088418[0-9]?",
		"0088418.*iteration", "[A-Z]{14,}", "[A-Z]{24,}", "\\d{6}", "^$", "^", "$", "x$", "^loss", "(?i)warn",
		"(?i)[a-z]{9,} ", "(?i:Loss) +[0-9.]{4}", "[^ ]{30,}x", "\\s0088418\\s", "(?:loss|WARN) (?:x|timeout)",
		"loss\\s\\s1.25", "\\Aloss", "x\\z", "(?<=loss )x", "\\S{16}", "\\w{25}=", "timeout\\b",
		"(loss)(.*)\\1", "[\\w.]{12,} [A-P]{8}", "nowhere", "[0-9a-f]{32}"};

	for (unsigned seed = 1; seed < 6; seed++) {
		AUTO_DONE(buf) text = BUF_INIT(1 << 24);
		make_text(&text, seed * 7919);
		for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
			check_all(patterns[i], true, false, buf_span(&text));
			check_all(patterns[i], true, true, buf_span(&text));
			check_all(patterns[i], false, false, buf_span(&text));
			check_all(patterns[i], false, true, buf_span(&text));
		}
	}
}

static size_t times_asked(const char *pattern, struct span text, size_t *found)
{
	struct finding on;
	uint64_t limited = 0;

	finding_open(&on, pattern, true, false);
	*found = log_matcher_next(on.matcher, on.scratch, text, 0, &limited);
	finding_close(&on);
	return on.asked;
}

TEST(what_cannot_match_is_not_tried)
{
	static const char *const patterns[] = {
		"iteration\\s+0088418[0-9]/", "[A-Z]{14,}", "WARN.*timeout", "\\d{9}", "\\biteration 7777777\\b"};
	AUTO_DONE(buf) text = BUF_INIT(1 << 24);
	size_t found, end;

	for (int i = 0; i < 5000; i++)
		buf_printf(&text, "iteration %d/ 0088417%d/ WARNING of UPPERCASE\n%d timeout\n", i, i % 10, i);
	end = text.len;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		CHECK_INT(times_asked(patterns[i], buf_span(&text), &found), 0);
		CHECK_INT(found, end);
	}
	CHECK(times_asked("it[a-z]+ x", buf_span(&text), &found) >
		100); /* as often as all is looked at piece by piece */
	buf_printf(&text, "WARN 1 timeout, iteration 00884187/ ABCDEFGHIJKLMN 123456789, iteration 7777777\n");
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		CHECK(times_asked(patterns[i], buf_span(&text), &found) <= 2);
		CHECK_INT(found, end);
	}
}

/* As text: one line each. The first one that matches, or -1. */
static int first_line(const char *pattern, bool ignore_case, const char *text)
{
	struct finding on;
	uint64_t limited = 0;
	struct span all = span_from(text);

	finding_open(&on, pattern, true, ignore_case);
	size_t at = log_matcher_next(on.matcher, on.scratch, all, 0, &limited);
	int line = at < all.len ? 0 : -1;
	for (size_t i = 0; i < at && at < all.len; i++)
		line += text[i] == '\n';
	CHECK_INT(limited, 0);
	finding_close(&on);
	return line;
}

TEST(an_expression_counts_characters_and_not_their_bytes)
{
	CHECK_INT(first_line("^.{3}$", false, "four\n\xc3\xa9t\xc3\xa9\n"), 1);
	CHECK_INT(first_line("^.{3}$", false, "\xe6\x97\xa5\n\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\n"), 1);
	CHECK_INT(first_line("na.ve", false, "na\xc3\xafve\n"), 0);
	CHECK_INT(first_line("na..ve", false, "na\xc3\xafve\n"), -1);
	CHECK_INT(first_line("na[^x]ve", false, "na\xc3\xafve\n"), 0);
	CHECK_INT(first_line("^\\W\\S\\D$", false, "\xc3\xa9\xc3\xa9\xc3\xa9\n"), 0);
	CHECK_INT(first_line("^[^ ]{5,6}$", false, "\xc3\xa9\xc3\xa9\xc3\xa9\n\xc3\xa9tait\n"), 1);
	CHECK_INT(first_line("caf\\xe9", true, "CAF\xc3\x89\n"), 0);
	CHECK_INT(first_line("\\x{65e5}", false, "nothing\n\xe6\x97\xa5\n"), 1);
}

TEST(of_a_line_that_is_no_utf_8_an_expression_counts_bytes)
{
	CHECK_INT(first_line("na.ve", false, "na\xefve\n"), 0);
	CHECK_INT(first_line("na.ve", false, "plain\nna\xff\xffve\nna\xc3\xafve\n"), 2);
	CHECK_INT(first_line("na..ve", false, "na\xc3\xafve\nna\xff\xffve\n"), 1);
}

TEST(behind_an_empty_match_the_next_character_is_looked_at)
{
	struct finding on;
	struct span text = SPAN("\xc3\xa9x");
	size_t start, end;

	finding_open(&on, "[^y]*?", true, false);
	CHECK(log_matcher_range(on.matcher, on.scratch, text, 1, &start, &end));
	CHECK_INT(start, 2);
	finding_close(&on);
}
