#include "app/exit_status.h"

#include <stdio.h>

int command_fail(const struct error *err, int code)
{
	if (err->line)
		fprintf(stderr, "sm-server: line %lld: %s\n", (long long)err->line, err->text);
	else
		fprintf(stderr, "sm-server: %s\n", err->text);
	return code;
}
