/*
 * Job: one element of a list in a job's document that satisfies a whole tree of terms. Ownership: borrows. Threads: values.
 */
#pragma once

#include "model/query.h"

/* Has an element of the list one->term.key all of one->left? */
bool search_document_has(struct span document, const struct query_node *one);
