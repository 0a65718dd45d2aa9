/*
 * Job: one value of a YAML document that is a mapping of scalars, as MLflow writes meta.yaml. Lists and mappings in it are passed over.
 * Ownership: the value is the arena's. Threads: any. Pure. Source: YAML 1.1, as PyYAML writes it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

/* *out stays as it is where the key is absent or its value is null. ERR_INVALID: the value cannot be read. */
enum status flat_yaml_read(
	struct span document, const char *key, struct arena *arena, struct span *out, struct error *err) MUST_CHECK;
