/*
 * Job: scores of named models from a list that people keep: {"references": [{"model": "Llama 2 7B", "shots": 5, "source": "…",
 *      "scores": {"mmlu/acc": 0.453}}]}. Pure.
 * Ownership: it looks at the caller's document. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"

enum { EVALUATION_REFERENCES_MAX = 1000 };

/* ERR_SEMANTIC names the field and the value; ERR_TOO_LARGE. */
enum status evaluation_check_references(const struct json *document, struct error *err) MUST_CHECK;
