#include "base/text/regex.h"
#include "base/text/regex_literals.h"
#include "test.h"

#include <stdio.h>

typedef enum status read_literals(
	struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count, struct error *err);

static void show(read_literals *read, struct span pattern, char *out, size_t room)
{
	AUTO(arena) arena = arena_new();
	struct regex_clause *clauses = NULL;
	size_t count = 0, used = 0;

	CHECK_OK(read(pattern, arena, &clauses, &count, &err));
	out[0] = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < clauses[i].count; j++) {
			const struct regex_literal *literal = &clauses[i].any[j];
			used += (size_t)snprintf(out + used, room - used, "%s%s%.*s%s",
				!i && !j ? ""
				: j      ? "|"
					 : " & ",
				literal->starts_word ? "<" : "", SPAN_ARGS(literal->text),
				literal->ends_word ? ">" : "");
		}
}

TEST(what_is_required)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {{"timeout", "timeout"}, {"(?i)out of memory", "out of memory"},
		{"WARN.*timeout", "WARN & timeout"}, {"iteration\\s+884187[0-9]/", "iteration & 884187 & /"},
		{"[A-Z]{14,}", ""}, {"\\b8841873\\b", "<8841873>"}, {"abc?d", "ab & d"}, {"ab{0,3}c", "a & c"},
		{"ab{2}c", "ab & c"}, {"ab+c", "ab & c"}, {"(abc)?d", "d"}, {"(?:abc|de)f", "abc|de & f"}, {"abc|", ""},
		{"abc|x*", ""}, {"(a|b(cd|ef))g", "a|cd|ef & g"}, {"foo(?!bar)baz", "foo & baz"}, {"(?<=x)y", "y"},
		{"(?<word>ab)c", "ab & c"}, {"(?P<w>ab)c", "ab & c"}, {"a\\.b", "a.b"}, {"a\\Qb\\E", ""},
		{"a(?#c)*b", ""}, {"(?x)a b", ""}, {"(*UTF)abc", ""}, {"(?R)abc", ""}, {"(?(1)ab|cd)", ""},
		{"\\x41bc", ""}, {"[]a]bc", "bc"}, {"[^]a]bc", "bc"}, {"[[:alpha:]]bc", "bc"},
		{"[[:<:]]ab[[:>:]] c", "ab &  c"}, {"a{,3}b", "b"}, {"a{x}b", "a{x}b"}, {"a\\b", "a>"},
		{"\\b?ab", "ab"}, {"caf\xc3\xa9", ""}, {"abc)", ""}, {"(abc", ""}, {"abc\\", ""}, {"(a)\\1b", "a & b"},
		{"^abc$", "abc"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char got[256];
		show(regex_literals, span_from(cases[i].pattern), got, sizeof got);
		if (strcmp(got, cases[i].want) != 0)
			test_fail(
				__FILE__, __LINE__, "'%s' gives '%s', not '%s'", cases[i].pattern, got, cases[i].want);
	}
}

TEST(first_match_in_bytes_requires_more)
{
	static const struct {
		const char *pattern, *want;
	} cases[] = {{"(?:head|(?!^)\\G,) x=", "head &  x="}, {"(?:(?!^)\\G,|head) x=", "head &  x="},
		{"(?:one|(?!^)\\G.*?|two): ", "one|two & : "}, {"head|(?!^)\\G", "head"}, {"(?:(?!^)\\G|\\d)x", "x"},
		{"(?:head|(?!^)\\G)?x", "x"}, {"(?:head|(?!^a)\\G)x", ""}, {"(?:head|\\G)x", ""},
		{"caf\xc3\xa9s|tea", "caf|tea"}, {"\xe2\x80\xa2{2}loss", "loss"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char got[256];
		show(regex_literals_of_first, span_from(cases[i].pattern), got, sizeof got);
		if (strcmp(got, cases[i].want) != 0)
			test_fail(
				__FILE__, __LINE__, "'%s' gives '%s', not '%s'", cases[i].pattern, got, cases[i].want);
	}
}

/* ---- by brute force: whatever matches holds what is said to be required ---- */

static uint32_t dice(uint32_t *state, uint32_t sides)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % sides;
}

static bool is_word(char c)
{
	return span_find_char(SPAN("abcABC019_"), c) >= 0;
}

static bool holds(struct span text, const struct regex_literal *literal)
{
	for (size_t i = 0; i + literal->text.len <= text.len; i++) {
		size_t end = i + literal->text.len;
		if (span_equal_fold(span_of(text.ptr + i, literal->text.len), literal->text) &&
			!(literal->starts_word && i && is_word(text.ptr[i - 1])) &&
			!(literal->ends_word && end < text.len && is_word(text.ptr[end])))
			return true;
	}
	return false;
}

static void check_text(struct span pattern, struct span text, const struct regex_clause *clauses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool has_any = false;
		for (size_t j = 0; j < clauses[i].count; j++)
			has_any |= holds(text, &clauses[i].any[j]);
		if (!has_any)
			test_fail(__FILE__, __LINE__, "'%.*s' matches '%.*s', which has no '%.*s'", SPAN_ARGS(pattern),
				SPAN_ARGS(text), SPAN_ARGS(clauses[i].any[0].text));
	}
}

static void check_matches(read_literals *read, unsigned flags, size_t *required, size_t *matched)
{
	static const char *const parts[] = {"a", "b", "c", "A", "1", "0", ".", "-", " ", "\\b", "\\d", "\\w", "\\s",
		"\\.", "(", ")", "(?:", "(?i)", "(?i:", "(?=", "(?!", "(?<=", "(?<n>", "(?>", "|", "|", "*", "+", "?",
		"{2}", "{0,1}", "{1,}", "{,2}", "[ab]", "[^a]", "[]a]", "[[:digit:]]", "[[:<:]]", "[[:>:]]", "[\\]b]",
		"^", "$", "\\1", "\\Qa*\\E", "(?#x)", "\\K", "\\x61", "*?", "++", "ab", "abc", "01", "(?!^)\\G",
		"|(?!^)\\G", "\xc3\xa9"};
	AUTO(regex_scratch) scratch = regex_scratch_new();
	uint32_t state = 7;

	for (int round = 0; round < 60000; round++) {
		AUTO(arena) arena = arena_new();
		AUTO(regex) regex = NULL;
		struct regex_clause *clauses = NULL;
		char pattern[64] = "", text[24];
		struct span groups[REGEX_MAX_GROUPS];
		size_t count = 0;
		for (uint32_t i = 0, n = 1 + dice(&state, 7); i < n; i++)
			strcat(pattern, parts[dice(&state, sizeof parts / sizeof *parts)]);
		CHECK_OK(read(span_from(pattern), arena, &clauses, &count, &err));
		if (!count || regex_new(&regex, span_from(pattern), flags, NULL) != OK)
			continue;
		++*required;
		for (int i = 0; i < 40; i++) {
			size_t len = dice(&state, sizeof text);
			for (size_t k = 0; k < len; k++)
				text[k] = "abcABC01.- {a\xc3\xa9"[dice(&state, 15)];
			if (regex_search(regex, scratch, span_of(text, len), 0, groups) != REGEX_MATCH)
				continue;
			++*matched;
			check_text(span_from(pattern), span_of(text, len), clauses, count);
		}
	}
}

TEST(every_match_holds_what_is_required)
{
	size_t required = 0, matched = 0;

	check_matches(regex_literals, REGEX_MULTILINE, &required, &matched);
	CHECK(required > 5000 && matched > 5000);
	required = matched = 0;
	check_matches(regex_literals_of_first, 0, &required, &matched);
	CHECK(required > 5000 && matched > 5000);
}

/* How many bytes in a row are needed, and which: the first and the last of them. */
TEST(what_is_required_behind_each_other)
{
	static const struct {
		const char *pattern;
		unsigned at_least;
		char first, last;
	} cases[] = {{"[A-Z]{14,}", 14, 'A', 'Z'}, {"x[A-Z]{3,}", 0, 0, 0}, {"\\d{4}", 4, '0', '9'},
		{"\\w{5,9}=", 5, '0', 'z'}, {"\\S{20,}", 20, 0, '\xff'}, {"[^ -~]{4}", 0, 0, 0}, {"[^\\S]{9}", 0, 0, 0},
		{"[a-f\\d]{32}", 32, '0', 'f'}, {"[\\-+.]{4}", 4, '+', '.'}, {"[]a]{4}", 4, ']', 'a'},
		{"[a-]{4}", 4, '-', 'a'}, {"[[:alpha:]]{8}", 0, 0, 0}, {"[\\x41]{8}", 0, 0, 0}, {"[a-z]{8}?", 0, 0, 0},
		{"([a-z]{8})?", 0, 0, 0}, {"(?:[a-z]{8}=)+", 8, 'a', 'z'}, {"[a-z]{8}|x", 0, 0, 0},
		{"(x|[a-z]{8})", 0, 0, 0}, {"[a-z]{5}[0-9]{9}", 9, '0', '9'}, {"[a-z]{0,8}", 0, 0, 0},
		{"[a-z]{,8}", 0, 0, 0}, {"[a-z]{9 }", 0, 0, 0}, {"[a-z]{5}{0}", 0, 0, 0}, {"[a-z]{8}{2}", 8, 'a', 'z'},
		{"[a-z]{999}", 256, 'a', 'z'}, {"(?=[a-z]{8})y", 0, 0, 0}, {"(?![a-z]{8})y", 0, 0, 0},
		{"(?x)[a-z]{8}", 0, 0, 0}, {"[a-z]{8}caf\xc3\xa9", 0, 0, 0}, {"[a-z]{8}+", 8, 'a', 'z'},
		{"(?i)[a-z]{8}", 8, 'a', 'z'}, {"\\D{8}", 0, 0, 0}, {".{8}", 0, 0, 0}, {"[a-z]{8}\\Qx", 0, 0, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct regex_run run;
		int first = 0, last = 255;
		CHECK_OK(regex_run_of(span_from(cases[i].pattern), &run, &err));
		for (; run.at_least && !run.has[first]; first++)
			;
		for (; run.at_least && !run.has[last]; last--)
			;
		if (run.at_least != cases[i].at_least ||
			(run.at_least &&
				(first != (unsigned char)cases[i].first || last != (unsigned char)cases[i].last)))
			test_fail(__FILE__, __LINE__, "'%s' needs %u of %d to %d", cases[i].pattern, run.at_least,
				first, last);
	}
}

/* By whatever door it comes that lets it through. */
TEST(a_nul_behind_a_backslash_in_a_class_is_no_kind_of_character)
{
	static const char pattern[] = "[\\\0]{4}";
	struct regex_run run;

	CHECK_OK(regex_run_of(span_of(pattern, sizeof pattern - 1), &run, &err));
	CHECK(!run.at_least || run.has[0]);
}
