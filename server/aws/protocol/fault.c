/* What went wrong, as AWS says it: codes by status, faults of input in its words. */
#include "aws/protocol/internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_MAX_BYTES = 200 };

enum status aws_error(struct error *err, enum status status, const char *code, const char *format, ...)
{
	char text[ERROR_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	error_set(err, status, "%s", text);
	if (err)
		err->code = code;
	return status;
}

const char *aws_code_of(const struct aws_service *service, const struct error *err)
{
	static const struct aws_codes unknown = {"ValidationException", "ValidationException",
		"ResourceNotFoundException", "ConflictException", "ThrottlingException", "ServiceUnavailableException"};
	const struct aws_codes *codes = service ? &service->codes : &unknown;

	if (err->code)
		return err->code;
	switch (err->status) {
	case ERR_INVALID:
	case ERR_SEMANTIC:
		return codes->invalid;
	case ERR_UNAUTHORIZED:
		return "UnrecognizedClientException";
	case ERR_FORBIDDEN:
		return "AccessDeniedException";
	case ERR_NOT_FOUND:
	case ERR_GONE:
		return codes->not_found;
	case ERR_CONFLICT:
	case ERR_PRECONDITION:
		return codes->conflict;
	case ERR_TOO_LARGE:
		return "RequestEntityTooLargeException";
	case ERR_UNSUPPORTED:
		return "UnsupportedMediaTypeException";
	case ERR_MISDIRECTED:
		return "MisdirectedRequestException";
	case ERR_BUSY:
		return codes->busy;
	case ERR_UNAVAILABLE:
	case ERR_MEMORY:
		return codes->unavailable;
	case OK:
	case ERR_IO:
	case ERR_INTERNAL:
	case STATUS_COUNT:
		break;
	}
	return "InternalFailure";
}

int aws_http_status_of(const struct error *err)
{
	int code = http_status_of(err->status);

	if (err->status == ERR_UNAUTHORIZED)
		return 403;
	return code == 404 || code == 409 || code == 410 || code == 422 || code == 429 ? 400 : code;
}

/* first, second, first, second, NULL */
static const char *find_pair(const char *const *pair, const char *first)
{
	for (; pair && pair[0]; pair += 2)
		if (strcmp(pair[0], first) == 0)
			return pair[1];
	return NULL;
}

const char *aws_query_code(const struct aws_service *service, const char *code)
{
	static const char *const common[] = {"InvalidSignatureException", "SignatureDoesNotMatch",
		"IncompleteSignatureException", "IncompleteSignature", "MissingAuthenticationTokenException",
		"MissingAuthenticationToken", "UnrecognizedClientException", "InvalidClientTokenId",
		"AccessDeniedException", "AccessDenied", "ThrottlingException", "Throttling",
		"UnknownOperationException", "InvalidAction", NULL};
	const char *own = find_pair(service ? service->query_codes : NULL, code);

	own = own ? own : find_pair(common, code);
	return own ? own : code;
}

/* "ResourceConfig.InstanceGroups[0].InstanceType" -> "resourceConfig.instanceGroups.1.member.instanceType" */
static void put_path(const char *path, struct buf *out)
{
	bool is_first = true;

	for (const char *at = path; *at; at++) {
		if (*at == '[') {
			unsigned long number = strtoul(at + 1, (char **)&at, 10);
			buf_printf(out, ".%lu.member", number + 1);
			continue;
		}
		buf_append_char(out, is_first ? (char)tolower((unsigned char)*at) : *at);
		is_first = *at == '.';
	}
}

static const char *name_of(enum shape_kind kind)
{
	static const char *const names[] = {[SHAPE_OBJECT] = "a structure",
		[SHAPE_ARRAY] = "a list",
		[SHAPE_MAP] = "a map",
		[SHAPE_STRING] = "a string",
		[SHAPE_INTEGER] = "an integer",
		[SHAPE_NUMBER] = "a number",
		[SHAPE_BOOLEAN] = "a boolean",
		[SHAPE_ENUM] = "a string",
		[SHAPE_TIME] = "a timestamp",
		[SHAPE_NEEDED] = "there"};

	return names[kind];
}

static void put_words(const char *words, struct buf *out)
{
	buf_append_text(out, "enum value set: [");
	for (const char *c = words; *c; c++) {
		if (*c == '|')
			buf_append_text(out, ", ");
		else
			buf_append_char(out, *c);
	}
	buf_append_char(out, ']');
}

static void put_constraint(const struct shape_fault *fault, struct buf *out)
{
	const struct shape_rule *rule = fault->rule;
	long long min = rule->min, max = rule->max;

	switch (fault->wrong) {
	case SHAPE_MISSING:
		buf_append_text(out, "Member must not be null");
		break;
	case SHAPE_OTHER_TYPE:
		buf_printf(out, "Member must be %s", name_of(rule->kind));
		break;
	case SHAPE_TOO_SHORT:
	case SHAPE_TOO_FEW:
		buf_printf(out, "Member must have length greater than or equal to %lld", min);
		break;
	case SHAPE_TOO_LONG:
	case SHAPE_TOO_MANY:
		buf_printf(out, "Member must have length less than or equal to %lld", max);
		break;
	case SHAPE_KEY_TOO_LONG:
		buf_printf(out, "Member must have length less than or equal to %d", SHAPE_PATH_MAX_BYTES);
		break;
	case SHAPE_TOO_SMALL:
		buf_printf(out, "Member must have value greater than or equal to %lld", min);
		break;
	case SHAPE_TOO_LARGE:
		buf_printf(out, "Member must have value less than or equal to %lld", max);
		break;
	case SHAPE_NO_MATCH:
		buf_printf(out, "Member must satisfy regular expression pattern: %s", rule->words);
		break;
	case SHAPE_NO_WORD:
		buf_append_text(out, "Member must satisfy ");
		put_words(rule->words, out);
		break;
	case SHAPE_FITS:
		break;
	}
}

static enum status violate(
	const char *code, const char *path, struct span value, bool is_null, const char *constraint, struct error *err)
{
	AUTO_DONE(buf) named = BUF_INIT(4 * SHAPE_PATH_MAX_BYTES);
	const char *quote = is_null ? "" : "'";

	put_path(path, &named);
	buf_append_char(&named, 0);
	TRY(buf_status(&named, err));
	enum status status = error_set_field(err, ERR_SEMANTIC, path,
		"1 validation error detected: Value %s%.*s%s at '%.200s' failed to satisfy constraint: %s", quote,
		SPAN_ARGS(value), quote, named.ptr, constraint);
	if (err)
		err->code = code;
	return status;
}

enum status aws_check(
	const struct aws_call *call, const struct shape_rule *rules, const struct json *document, struct error *err)
{
	AUTO_DONE(shape_fault) fault = SHAPE_FAULT_INIT;
	AUTO_DONE(buf) shown = BUF_INIT(16 << 20), constraint = BUF_INIT(4096);

	fault.takes_texts = call->protocol == AWS_QUERY;
	TRY(shape_check(rules, document, &fault, err));
	if (!fault.wrong)
		return OK;
	bool is_missing = fault.wrong == SHAPE_MISSING;
	if (is_missing)
		buf_append_text(&shown, "null");
	else if (fault.value && json_kind(fault.value) == JSON_STRING)
		buf_append_span(&shown, json_string_of(fault.value));
	else
		shape_fault_show(&fault, SHOWN_MAX_BYTES, &shown);
	shown.len = span_cut(buf_span(&shown), SHOWN_MAX_BYTES).len;
	put_constraint(&fault, &constraint);
	buf_append_char(&constraint, 0);
	TRY(buf_status(&shown, err));
	TRY(buf_status(&constraint, err));
	return violate(is_missing ? call->service->codes.missing : call->service->codes.invalid,
		shape_fault_path(&fault), buf_span(&shown), is_missing, constraint.ptr, err);
}

enum status aws_violation(
	const struct aws_call *call, const char *path, struct span value, const char *constraint, struct error *err)
{
	return violate(call->service->codes.invalid, path, span_cut(value, SHOWN_MAX_BYTES), false, constraint, err);
}
