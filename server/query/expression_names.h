/*
 * Job: the properties of a TrainingJob record that SageMaker's Search knows, and what they hold. Threads: constants.
 */
#pragma once

#include "model/query.h"

enum property_kind { PROPERTY_TEXT, PROPERTY_NUMBER, PROPERTY_TIME, PROPERTY_BOOL };

/* family, key and aggregate of *term from a filter's name; false: nobody's name. */
bool expression_name(struct span name, struct query_term *term, enum property_kind *kind);
/* Is it a list whose elements have properties? */
bool expression_is_list(struct span name);
