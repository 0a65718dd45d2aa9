/*
 * Job: what a person may do here: the first rule that fits the person's name or one of the person's groups. Who fits none may nothing.
 * Ownership: new/free; what it finds lives as long as it does. Immutable. Threads: any.
 */
#pragma once

#include "base/json/json_read.h"
#include "http/http.h"

struct grants;
struct grant {
	enum http_scope scope;
	struct span team; /* "": none */
};
struct person {
	struct span name;
	const struct span *groups;
	size_t group_count;
};

/* list: [{"group"|"person": TEXT, or "everybody": true, "scope": "read", "team": "vision"}, …]; where: names it in errors. */
enum status grants_new(struct grants **out, const struct json *list, const char *where, struct error *err) MUST_CHECK;
void grants_free(struct grants *grants);
/* ERR_FORBIDDEN names the groups. */
enum status grants_find(
	const struct grants *grants, const struct person *person, struct grant *out, struct error *err) MUST_CHECK;
/* The same of groups that are a JSON array of texts. */
enum status grants_find_listed(const struct grants *grants, struct span name, struct span groups, struct grant *out,
	struct error *err) MUST_CHECK;

AUTO_TYPE(grants)
