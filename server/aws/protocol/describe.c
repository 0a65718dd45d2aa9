/* The operations behind AWS's routes, for the OpenAPI document: which there are, what each takes, and which scope it needs. */
#include "aws/protocol/internal.h"
#include "base/json/json_write.h"
#include "model/jobs/shape_schema.h"

#include <stdio.h>

enum { TITLE_BYTES = 160 };

static void write_operation(const char *title, const struct aws_operation *operation, struct json_writer *w)
{
	json_object(w);
	json_put_text(w, "title", title);
	json_put_text(w, "x-scope", http_scope_name(operation->scope));
	shape_write_schema(operation->input, w);
	json_object_end(w);
}

static void open_content(const char *type, struct json_writer *w)
{
	json_key(w, type);
	json_object(w);
	json_key(w, "schema");
	json_object(w);
	json_key(w, "anyOf");
	json_array(w);
}

static void close_content(struct json_writer *w)
{
	json_array_end(w);
	json_object_end(w);
	json_object_end(w);
}

/* Of the services that name it so: "SageMaker.ListTrainingJobs" of X-Amz-Target, "Action=ListMetrics&Version=2010-08-01" of a form. */
static void write_all(const char *type, const char *format, bool is_form, struct json_writer *w)
{
	char title[TITLE_BYTES];
	size_t count;
	const struct aws_service *const *services = aws_services(&count);

	open_content(type, w);
	for (size_t i = 0; i < count; i++) {
		const char *name = is_form ? services[i]->version : services[i]->target;
		for (const struct aws_operation *at = services[i]->operations; name && at->name; at++) {
			if (is_form)
				snprintf(title, sizeof title, "Action=%s&Version=%s", at->name, name);
			else
				snprintf(title, sizeof title, "%s%s%s", name, format, at->name);
			write_operation(title, at, w);
		}
	}
	close_content(w);
}

/* The path names it. */
static void write_one(const char *name, struct json_writer *w)
{
	size_t count;
	const struct aws_service *const *services = aws_services(&count);

	open_content("application/json", w);
	for (size_t i = 0; i < count; i++)
		for (const struct aws_operation *at = services[i]->operations; at->name; at++)
			if (!services[i]->target && strcmp(at->name, name) == 0)
				write_operation(name, at, w);
	close_content(w);
}

void aws_describe(const struct http_route *route, struct json_writer *w)
{
	json_key(w, "requestBody");
	json_object(w);
	json_put_bool(w, "required", true);
	json_key(w, "content");
	json_object(w);
	if (strcmp(route->pattern, "/") == 0) {
		write_all("application/x-amz-json-1.1", ".", false, w);
		write_all("application/x-www-form-urlencoded", "", true, w);
	} else if (strchr(route->pattern, '{')) {
		write_all("application/cbor", "/operation/", false, w);
	} else {
		write_one(route->pattern + 1, w);
	}
	json_object_end(w);
	json_object_end(w);
}
