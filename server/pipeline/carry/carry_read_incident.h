/*
 * Job: the record of an incident from JSON.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/alerts.h"
#include "store/carry.h"

enum status carry_read_incident(
	const struct json *object, struct arena *arena, struct incident_row *row, struct error *err) MUST_CHECK;
