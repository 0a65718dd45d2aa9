#include "model/jobs/evaluation_reference.h"

#include "model/json_form.h"

#include <math.h>
#include <stdio.h>

static enum status refuse(size_t at, const char *what, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "references[%zu]", at);
	return error_set_field(err, ERR_SEMANTIC, field, "%s: %s", field, what);
}

static bool is_known(struct span key)
{
	return span_equal(key, SPAN("model")) || span_equal(key, SPAN("shots")) || span_equal(key, SPAN("source")) ||
	       span_equal(key, SPAN("scores"));
}

static bool are_scores(const struct json *scores)
{
	double value;

	for (const struct json *at = json_first(scores); at; at = json_next(at))
		if (json_kind(at) != JSON_NUMBER || !json_number_of(at, &value) || !isfinite(value) ||
			span_find_char(json_key_of(at), '/') < 1)
			return false;
	return json_kind(scores) == JSON_OBJECT && json_first(scores);
}

static enum status check_reference(const struct json *entry, size_t at, struct error *err)
{
	const struct json *scores = json_get(entry, "scores"), *shots = json_get(entry, "shots"),
			  *source = json_get(entry, "source");
	double count;

	if (json_kind(entry) != JSON_OBJECT || !json_string_of(json_get(entry, "model")).len)
		return refuse(at, "a reference is an object with model, the model's name", err);
	for (const struct json *field = json_first(entry); field; field = json_next(field))
		if (!is_known(json_key_of(field)))
			return refuse(at, "it has a field that is none of: model shots source scores", err);
	if (source && json_kind(source) != JSON_STRING)
		return refuse(at, "source is a text", err);
	if (shots && (json_kind(shots) != JSON_NUMBER || !json_number_of(shots, &count) || count < 0 ||
			     count != floor(count)))
		return refuse(at, "shots is a whole number from 0 on", err);
	if (!scores || !are_scores(scores))
		return refuse(at, "scores is an object of numbers by TASK/METRIC, {\"mmlu/acc\": 0.453}", err);
	return OK;
}

enum status evaluation_check_references(const struct json *document, struct error *err)
{
	const struct json *references = json_get(document, "references");
	size_t at = 0;

	if (!references || json_kind(references) != JSON_ARRAY)
		return error_set_field(
			err, ERR_SEMANTIC, "references", "references is an array of {model, shots, source, scores}");
	if (json_count(references) > EVALUATION_REFERENCES_MAX)
		return error_set_field(err, ERR_TOO_LARGE, "references", "there are %zu references, more than %d",
			json_count(references), EVALUATION_REFERENCES_MAX);
	for (const struct json *field = json_first(document); field; field = json_next(field))
		if (!span_equal(json_key_of(field), SPAN("references")) &&
			!span_equal(json_key_of(field), SPAN("about")))
			return error_set_field(err, ERR_SEMANTIC, "references", "'%.*s' is none of: references about",
				SPAN_ARGS(span_cut(json_key_of(field), 60)));
	TRY(json_check_form(document, err));
	for (const struct json *entry = json_first(references); entry; entry = json_next(entry))
		TRY(check_reference(entry, at++, err));
	return OK;
}
