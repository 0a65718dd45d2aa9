/*
 * Job: Debian's libpq, loaded when a database is PostgreSQL's: who stays with SQLite need not have it installed.
 * Ownership: it stays loaded. Threads: any.
 */
#pragma once

#include "base/error.h"

#include <libpq-fe.h>

/* clang-format off */
#define LIBPQ_FUNCTIONS(X) \
	X(PQconnectdbParams) X(PQfinish) X(PQstatus) X(PQtransactionStatus) X(PQerrorMessage) X(PQsocket) X(PQparameterStatus) \
	X(PQserverVersion) X(PQbackendPID) X(PQconninfoParse) X(PQconninfoFree) X(PQfreemem) X(PQsetNoticeReceiver) \
	X(PQsetnonblocking) X(PQflush) X(PQisBusy) X(PQconsumeInput) X(PQgetResult) X(PQsetSingleRowMode) \
	X(PQenterPipelineMode) X(PQexitPipelineMode) X(PQpipelineSync) \
	X(PQsendQuery) X(PQsendPrepare) X(PQsendQueryPrepared) X(PQsendQueryParams) \
	X(PQresultStatus) X(PQresultErrorField) X(PQresultErrorMessage) X(PQcmdStatus) X(PQcmdTuples) X(PQresultMemorySize) \
	X(PQclear) X(PQntuples) X(PQnfields) X(PQfname) X(PQftype) X(PQgetisnull) X(PQgetvalue) X(PQgetlength)
/* clang-format on */

struct libpq {
#define LIBPQ_MEMBER(name) __typeof__(name) *name;
	LIBPQ_FUNCTIONS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
};

/* ERR_UNSUPPORTED: it is not installed, or lacks what we call; the text says what to install. */
enum status libpq_load(const struct libpq **out, struct error *err) MUST_CHECK;
