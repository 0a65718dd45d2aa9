/* Statements on standard input, a NUL behind each, as the PostgreSQL driver spells them: how many parameters, the text, and that of many at once. For sql.py. */
#include "store/driver/dialect.h"

#include <inttypes.h>
#include <stdio.h>

enum { SQL_BYTES = 1 << 20 };

static bool print_spelled(struct span sql)
{
	AUTO_DONE(buf) out = BUF_INIT(SQL_BYTES), many = BUF_INIT(SQL_BYTES);
	int parameters;

	dialect_postgres(&out, sql, &parameters);
	dialect_postgres_many(&many, buf_span(&out), parameters);
	if (out.failure || many.failure)
		return false;
	printf("%d%c%.*s%c%.*s%c", parameters, 0, (int)out.len, out.ptr, 0, (int)many.len, many.ptr, 0);
	return true;
}

int main(void)
{
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);

	for (int c = getchar(); c != EOF; c = getchar()) {
		if (c) {
			buf_append_char(&sql, (char)c);
			continue;
		}
		if (sql.failure || !print_spelled(buf_span(&sql)))
			return 1;
		buf_reset(&sql);
	}
	return fflush(stdout) ? 1 : 0;
}
