#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct test_case *const __start_test_cases[];
extern const struct test_case *const __stop_test_cases[];

static struct {
	jmp_buf back;
} state;

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	longjmp(state.back, 1);
}

bool test_has_time_for(size_t nth, size_t of)
{
	const char *is_long = getenv("SM_LONG");

	return nth % of == 0 || (is_long && *is_long);
}

void test_make_folder(char *path, size_t size, const char *name)
{
	const char *parent = getenv("TMPDIR");
	int len = snprintf(path, size, "%s/smfleet-%s-XXXXXX", parent ? parent : "/tmp", name);

	if (len < 0 || (size_t)len >= size || !mkdtemp(path))
		test_fail(__FILE__, __LINE__, "cannot make the folder '%s'", path);
}

void test_check_span(const char *file, int line, const char *expression, struct span got, struct span want)
{
	if (!span_equal(got, want))
		test_fail(file, line, "%s is '%.*s', not '%.*s'", expression, SPAN_ARGS(got), SPAN_ARGS(want));
}

void test_check_i64(const char *file, int line, const char *expression, int64_t got, int64_t want)
{
	if (got != want)
		test_fail(file, line, "%s is %" PRId64 ", not %" PRId64, expression, got, want);
}

void test_check_double(const char *file, int line, const char *expression, double got, double want)
{
	if (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want)))
		test_fail(file, line, "%s is %.17g, not %.17g", expression, got, want);
}

static int is_chosen(const struct test_case *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(test->name, argv[i]))
			return 1;
	return argc == 1;
}

/* On its own: a longjmp leaves the local variables of the function that called setjmp undefined. */
static int passes(const struct test_case *test)
{
	if (setjmp(state.back))
		return 0;
	test->run();
	return 1;
}

int main(int argc, char **argv)
{
	int failed = 0, passed = 0;

	for (const struct test_case *const *at = __start_test_cases; at < __stop_test_cases; at++) {
		if (argc == 2 && strcmp(argv[1], "--list") == 0) {
			puts((*at)->name);
			continue;
		}
		if (!is_chosen(*at, argc, argv))
			continue;
		if (passes(*at)) {
			passed++;
		} else {
			fprintf(stderr, "FAILED %s\n", (*at)->name);
			failed++;
		}
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
