/* Job: every handler, for the table of routes. Ownership and threads: as api.h. */
#pragma once

#include "http/http.h"

http_handler api_audit, api_reload, api_info, api_healthz, api_readyz, api_metrics_text, api_openapi;
http_handler api_fit, api_job_fit, api_job_s3, api_job_nccl;
http_handler api_attachments_list, api_attachment_get, api_attachment_put, api_attachment_delete;
http_handler api_evaluations_list, api_evaluations_put, api_evaluations_delete;
http_handler api_leaders, api_references_get, api_references_put;
http_handler api_notes_list, api_notes_create, api_note_change, api_note_delete;
http_handler api_session_get, api_session_create, api_session_delete, api_sign_in, api_sign_in_return;
http_handler api_sign_ins_list, api_sign_ins_delete;
http_handler api_tokens_list, api_tokens_create, api_tokens_delete, api_options_list;
http_handler api_jobs_list, api_jobs_create, api_job_get, api_job_delete, api_job_restore, api_trash_list,
	api_job_transition;
http_handler api_events_take, api_search, api_job_run, api_job_checkpoints, api_job_continuity, api_job_restart,
	api_job_stated, api_job_tokens, api_job_schedule, api_job_anatomy, api_job_anatomy_put, api_job_anatomy_delete;
http_handler api_aggregate, api_compare;
http_handler api_streams, api_lines, api_lines_raw, api_log_search, api_log_groups, api_log_histogram, api_log_captures;
http_handler api_retention_get, api_retention_put, api_job_pin, api_job_patch;
http_handler api_series, api_points, api_points_query, api_points_search, api_job_heat;
http_handler api_chart_svg, api_signatures_create;
http_handler api_job_advice, api_nodes, api_node, api_job_nodes, api_job_replacements;
http_handler api_startup, api_job_warm_pool;
http_handler api_report, api_fleet, api_fleet_paces, api_quotas_get, api_quotas_put;
http_handler api_goodput, api_job_goodput, api_scaling, api_prices_get, api_prices_put;
http_handler api_pools_list, api_pool_get, api_pool_match;
http_handler api_definition_proposals;
http_handler api_definitions_test, api_definitions_get, api_definitions_put;
http_handler api_job_definitions_get, api_job_definitions_put, api_backfill_cancel;
http_handler api_incidents, api_incident_get, api_incident_acknowledge, api_incident_mute;
http_handler api_rules_list, api_rules_create, api_rule_put, api_rule_delete, api_rules_preview;
http_handler api_webhooks_list, api_webhooks_create, api_webhook_put, api_webhook_test, api_webhook_report,
	api_webhook_delete, api_webhooks_preview, api_deliveries, api_job_deliveries, api_delivery_retry;
http_handler api_sessions_create, api_session_beat, api_commands_create, api_commands_list;
http_handler api_mcp, api_mcp_stream;
http_handler api_assets, api_job_page, api_download;
http_handler api_workspaces_list, api_workspace_get, api_workspace_put, api_workspace_delete;
http_handler api_suggestions, api_views_list, api_view_put, api_view_delete;
http_handler api_loki_ready;
http_handler api_export;
extern const struct http_upload_ops api_upload_lines, api_upload_points, api_upload_loki, api_upload_otlp_logs,
	api_upload_otlp_metrics, api_upload_otlp_traces, api_upload_remote_write, api_upload_push, api_import;
extern const struct http_stream_ops api_live;
