/*
 * Job: what a narrow reader sees: on its connection the name of each table is that of a temporary view, through which rows of one team's
 *      jobs alone are there. The views are made of the tables that there are, so that one which is added later needs no thought here: of
 *      a table without jobs and teams nothing is seen, unless narrow.c lists it.
 * Ownership and threads: as of the connection.
 */
#pragma once

#include "store/driver/driver.h"

/* Once for each connection to the database; it may write temporary things then. */
enum status narrow_make_views(struct store_reader *on, struct error *err) MUST_CHECK;
