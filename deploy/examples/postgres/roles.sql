-- Once, on db-a, as a superuser, with the three passwords in the environment (so in no list of processes):
--   sudo -u postgres --preserve-env=OWNER_PASSWORD,SERVER_PASSWORD,REPLICATION_PASSWORD psql -f roles.sql
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv server_password SERVER_PASSWORD
\getenv replication_password REPLICATION_PASSWORD
CREATE ROLE smfleet_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE smfleet LOGIN PASSWORD :'server_password';
CREATE ROLE smfleet_replication LOGIN REPLICATION PASSWORD :'replication_password';
CREATE DATABASE smfleet OWNER smfleet_owner ENCODING 'UTF8' TEMPLATE template0;
