/*
 * The whole unit test framework. TEST(name) { … } registers itself through a linker section; CHECK and friends report
 * and end the test. Programs take names (or parts of them) as arguments and --list.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

struct test_case {
	const char *file;
	const char *name;
	void (*run)(void);
};

#define TEST(identifier)                                                                                               \
	static void test_##identifier(void);                                                                           \
	static const struct test_case test_case_##identifier = {__FILE__, #identifier, test_##identifier};             \
	static const struct test_case *const test_entry_##identifier __attribute__((used, section("test_cases"))) =    \
		&test_case_##identifier;                                                                               \
	static void test_##identifier(void)

/* A new folder, in memory where tests/run says so (TMPDIR). path holds it; it is the caller's to remove. */
void test_make_folder(char *path, size_t size, const char *name);

/* Of a long row: each with tests/run --all (SM_LONG=1), else one of so many. */
bool test_has_time_for(size_t nth, size_t of);

void test_fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void test_check_span(const char *file, int line, const char *expression, struct span got, struct span want);
void test_check_i64(const char *file, int line, const char *expression, int64_t got, int64_t want);
void test_check_double(
	const char *file, int line, const char *expression, double got, double want); /* same bits, or both NaN */

#define CHECK(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #condition))
#define CHECK_INT(got, want) test_check_i64(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_DOUBLE(got, want) test_check_double(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_SPAN(got, want) test_check_span(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_TEXT(got, want) test_check_span(__FILE__, __LINE__, #got, span_from(got), span_from(want))
/* The call must be OK; prints the error's text otherwise. `err` is in scope of the expression. */
#define CHECK_OK(expression)                                                                                           \
	do {                                                                                                           \
		struct error err = {0};                                                                                \
		if ((expression) != OK)                                                                                \
			test_fail(__FILE__, __LINE__, "%s: %s (%s)", #expression, err.text, status_name(err.status));  \
	} while (0)
/* The call must fail with this status, and its text must hold the words. */
#define CHECK_FAILS(expression, wanted, words)                                                                         \
	do {                                                                                                           \
		struct error err = {0};                                                                                \
		enum status got_ = (expression);                                                                       \
		if (got_ != (wanted))                                                                                  \
			test_fail(__FILE__, __LINE__, "%s: %s, not %s (%s)", #expression, status_name(got_),           \
				status_name(wanted), err.text);                                                        \
		if (span_find(span_from(err.text), span_from(words)) < 0)                                              \
			test_fail(__FILE__, __LINE__, "%s: '%s' does not say '%s'", #expression, err.text, words);     \
	} while (0)
