/*
 * Job: what SQLite and PostgreSQL call differently, in words that both take and mean alike. Beside these, in store/sql: no INSERT OR,
 *      but ON CONFLICT (key), where a column of the row that is there has its table's name before it; CASE for iif, coalesce for
 *      ifnull, IS DISTINCT FROM for IS NOT; no rowid; a condition is never a number, nor a number a condition; sums of whole numbers
 *      and results of CAST are BIGINT or DOUBLE PRECISION; a subquery in FROM has a name, and a CROSS
 *      JOIN, which SQLite does in its order, no ON; what is ordered by may not be NULL, or says
 *      where NULL comes. tests/checks/sql.py asks both databases.
 * Ownership and threads: text. An operand may stand there more than once.
 */
#pragma once

/* A column that says whether; of NULL it says no. */
#define SQL_TRUTH(condition) "CASE WHEN " condition " THEN 1 ELSE 0 END"
/* Of two that are never NULL. */
#define SQL_GREATER(a, b) "CASE WHEN " a " > " b " THEN " a " ELSE " b " END"
#define SQL_LESSER(a, b) "CASE WHEN " a " < " b " THEN " a " ELSE " b " END"
/* What is below 0 as 0, and NULL as NULL. */
#define SQL_NOT_BELOW_0(operand) "(SELECT CASE WHEN v.n < 0 THEN 0 ELSE v.n END FROM (SELECT " operand " AS n) AS v)"
/* The aggregate, a whole number: 0 of no rows. What no number holds stops at 9e18, so that one mad row does not stop a reader. */
#define SQL_TOTAL(operand)                                                                                             \
	"CAST(CASE WHEN " SQL_SUM(operand) " > 9e18 THEN 9e18 WHEN " SQL_SUM(                                          \
		operand) " < -9e18 THEN -9e18 ELSE " SQL_SUM(operand) " END AS BIGINT)"
#define SQL_SUM(operand) "coalesce(sum(CAST(" operand " AS DOUBLE PRECISION)), 0)"

/* Of rows that are read without their job's: those of a job in the trash are none. */
#define NOT_IN_TRASH " AND job_id NOT IN (SELECT job_id FROM trashed_jobs)"
