#include "people/grants.h"

#include "base/arena.h"

enum { TEAM_MAX_BYTES = 63, TOLD_BYTES = 400 };

enum rule_kind { RULE_GROUP, RULE_PERSON, RULE_EVERYBODY };

struct rule {
	enum rule_kind kind;
	struct span name; /* of the group or person */
	struct grant grant;
};

struct grants {
	struct arena *arena;
	struct rule *rules;
	size_t count;
};

void grants_free(struct grants *grants)
{
	if (!grants)
		return;
	arena_free(grants->arena);
	mem_free(grants);
}

static enum status refuse_rule(struct error *err, const char *where, size_t i, const char *what)
{
	return error_set_field(err, ERR_SEMANTIC, "sign-in", "--sign-in: %s, rule %zu: %s", where, i + 1, what);
}

static enum status read_rule(struct rule *out, const struct json *from, const char *where, size_t i, struct error *err)
{
	struct span group = SPAN(""), person = SPAN(""), scope = SPAN(""), team = SPAN("");
	bool is_everybody = false;

	/* also of a misspelt key: a rule that is not read as it was meant may let somebody in */
	if (json_kind(from) != JSON_OBJECT || json_find_other(from, "group person everybody scope team"))
		return refuse_rule(
			err, where, i, "it has the keys group, person or everybody, scope, team, and no others");
	TRY(json_want_string(from, "group", &group, err));
	TRY(json_want_string(from, "person", &person, err));
	TRY(json_want_bool(from, "everybody", &is_everybody, err));
	TRY(json_want_string(from, "scope", &scope, err));
	TRY(json_want_string(from, "team", &team, err));
	if ((group.len > 0) + (person.len > 0) + is_everybody != 1)
		return refuse_rule(
			err, where, i, "exactly one of group, person and \"everybody\": true says whom it is for");
	if (!http_scope_parse(scope, &out->grant.scope) || out->grant.scope == SCOPE_PUBLIC)
		return refuse_rule(err, where, i, "scope is one of read, write, admin");
	if (team.len > TEAM_MAX_BYTES)
		return refuse_rule(err, where, i, "a team's name has at most 63 bytes");
	out->kind = group.len ? RULE_GROUP : person.len ? RULE_PERSON : RULE_EVERYBODY;
	out->name = group.len ? group : person;
	out->grant.team = team;
	return OK;
}

static enum status keep(struct grants *grants, struct rule *rule, struct error *err)
{
	rule->name = arena_copy(grants->arena, rule->name);
	rule->grant.team = arena_copy(grants->arena, rule->grant.team);
	return rule->name.ptr && rule->grant.team.ptr ? OK : error_no_memory(err);
}

enum status grants_new(struct grants **out, const struct json *list, const char *where, struct error *err)
{
	AUTO(grants) grants = mem_zeroed(sizeof *grants);

	if (!grants || !(grants->arena = arena_new()) ||
		!(grants->rules = arena_alloc(grants->arena, (json_count(list) + 1) * sizeof *grants->rules)))
		return error_no_memory(err);
	if (json_kind(list) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "sign-in",
			"--sign-in: %s needs an array: \"rules\": [{\"group\": \"ml\", \"scope\": \"read\"}]", where);
	for (const struct json *one = json_first(list); one; one = json_next(one)) {
		struct rule *rule = &grants->rules[grants->count];
		TRY(read_rule(rule, one, where, grants->count, err));
		TRY(keep(grants, rule, err));
		grants->count++;
	}
	*out = TAKE(grants);
	return OK;
}

static bool fits(const struct rule *rule, const struct person *person)
{
	if (rule->kind != RULE_GROUP)
		return rule->kind == RULE_EVERYBODY || span_equal(rule->name, person->name);
	for (size_t i = 0; i < person->group_count; i++)
		if (span_equal(rule->name, person->groups[i]))
			return true;
	return false;
}

static enum status refuse_person(const struct person *person, struct error *err)
{
	AUTO_DONE(buf) told = BUF_INIT(TOLD_BYTES + 8);

	for (size_t i = 0; i < person->group_count; i++) {
		bool has_room = told.len + person->groups[i].len + 2 < TOLD_BYTES;
		if (told.len)
			buf_append_text(&told, ", ");
		if (has_room)
			buf_append_span(&told, person->groups[i]);
		else
			buf_append_text(&told, "…");
		if (!has_room)
			break;
	}
	if (!told.len)
		return error_set(err, ERR_FORBIDDEN,
			"%.*s may not use this server: no groups are known of this person, and no rule of --sign-in is for the person",
			SPAN_ARGS(person->name));
	return error_set(err, ERR_FORBIDDEN,
		"%.*s may not use this server: no rule of --sign-in is for the person, or for one of these groups: %.*s",
		SPAN_ARGS(person->name), SPAN_ARGS(buf_span(&told)));
}

enum status grants_find(const struct grants *grants, const struct person *person, struct grant *out, struct error *err)
{
	for (size_t i = 0; grants && i < grants->count; i++)
		if (fits(&grants->rules[i], person)) {
			*out = grants->rules[i].grant;
			return OK;
		}
	return refuse_person(person, err);
}

enum status grants_find_listed(
	const struct grants *grants, struct span name, struct span groups, struct grant *out, struct error *err)
{
	AUTO_MEM struct span *parts = NULL;
	AUTO(json) list = NULL;

	TRY(json_parse(&list, groups, err));
	if (!(parts = mem_alloc((json_count(list) + 1) * sizeof *parts)))
		return error_no_memory(err);
	struct person person = {.name = name, .groups = parts};
	for (const struct json *one = json_first(list); one; one = json_next(one))
		parts[person.group_count++] = json_string_of(one);
	return grants_find(grants, &person, out, err);
}
