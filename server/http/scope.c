#include "http/http.h"

static const char *const names[] = {
	[SCOPE_PUBLIC] = "public", [SCOPE_READ] = "read", [SCOPE_WRITE] = "write", [SCOPE_ADMIN] = "admin"};

const char *http_scope_name(enum http_scope scope)
{
	return names[scope];
}

bool http_scope_parse(struct span name, enum http_scope *out)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i]))) {
			*out = (enum http_scope)i;
			return true;
		}
	return false;
}

bool http_may(const struct principal *principal, enum http_scope needs)
{
	enum http_scope has = principal->scope;

	return needs == SCOPE_PUBLIC || has == SCOPE_ADMIN || has == needs ||
	       (principal->is_person && has == SCOPE_WRITE && needs == SCOPE_READ);
}

enum status http_check_scope(const struct principal *principal, enum http_scope needs, struct error *err)
{
	if (http_may(principal, needs))
		return OK;
	error_fill(err, ERR_FORBIDDEN, "this needs the scope '%s'; '%s' has '%s'", http_scope_name(needs),
		principal->name, http_scope_name(principal->scope));
	if (err)
		err->is_of_caller = true;
	return ERR_FORBIDDEN;
}
