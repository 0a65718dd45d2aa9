/*
 * Job: small files of a job in an import: within their quotas, in the order of their paths, and as their checksums say.
 * Errors: name the field of the record. Threads: the one that has the import.
 */
#pragma once

#include "pipeline/carry/carry_import_stream.h"

enum status carry_import_take_attachment(
	struct carry_import *import, const struct attachment_row *row, struct error *err) MUST_CHECK;
enum status carry_import_take_part(
	struct carry_import *import, const struct carry_part *part, struct error *err) MUST_CHECK;
/* The one that is open must have all of its bytes. None: nothing to do. */
enum status carry_import_finish_file(struct carry_import *import, struct error *err) MUST_CHECK;
void carry_import_forget_files(struct carry_import *import);
