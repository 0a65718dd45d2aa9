/*
 * Job: one cell of CSV, as it is safe to open in a spreadsheet.
 * Ownership: none. Threads: values.
 * Source: RFC 4180; OWASP, "CSV Injection": a cell that begins with = + - @, a tab or the end of a line would be a formula, also where
 *         other separators than the comma are meant; so an apostrophe is put in front. Numbers are numbers.
 */
#pragma once

#include "base/buf.h"

void csv_put_cell(struct buf *out, struct span text);
