# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors

# The edge: I/O around the core.
find_package(Boost 1.81 REQUIRED)
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

add_library(hb_os STATIC
  os/activation.cc os/capabilities.cc os/closer.cc os/descriptor_store.cc os/fd_limit.cc os/handle_probe.cc os/id_map.cc
  os/landlock.cc os/memory_region.cc os/notify.cc os/notify_socket.cc
  os/peer_credentials.cc os/process_info.cc os/run_as.cc os/sandbox.cc os/system_calls.cc os/unread.cc
  os/validity_page.cc)
target_include_directories(hb_os PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_os PUBLIC hb_wire Threads::Threads PRIVATE PkgConfig::SYSTEMD PkgConfig::SECCOMP hb_build)

# What outlives the daemon. It knows nothing of the broker.
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(hb_restart STATIC
  restart/checksum.cc restart/crash_point.cc restart/inbox.cc restart/node_memory.cc restart/parking.cc restart/parking_queue.cc restart/parking_restore.cc
  restart/record_codec.cc restart/record_codec_bytes.cc restart/record_heap.cc restart/record_heap_open.cc)
target_include_directories(hb_restart PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(hb_restart SYSTEM PRIVATE ${XXHASH_INCLUDE})
target_link_libraries(hb_restart PUBLIC hb_os PRIVATE hb_build)

add_library(hb_observe STATIC
  observe/audit.cc observe/audit_record.cc observe/json.cc observe/log.cc observe/log_line.cc observe/message.cc observe/sinks.cc
  observe/writer.cc)
target_include_directories(hb_observe PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_observe PUBLIC hb_wire PRIVATE spdlog::spdlog Threads::Threads PkgConfig::SYSTEMD hb_build)

# Reading TOML with every error at its place, and the node's policy, which is read so.
add_library(hb_conf STATIC conf/file.cc conf/reader.cc)
target_include_directories(hb_conf PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(hb_conf SYSTEM PUBLIC ${TOMLPLUSPLUS_INCLUDE})
target_link_libraries(hb_conf PUBLIC hb_wire PRIVATE hb_build)

add_library(hb_policy STATIC
  policy/policy.cc policy/policy_reader.cc policy/policy_toml.cc policy/quota_rules.cc policy/selector.cc
  policy/set_quotas.cc)
target_link_libraries(hb_policy PUBLIC hb_core hb_conf PRIVATE hb_build)

add_library(hb_ipc STATIC
  ipc/administration.cc ipc/audit_admin.cc ipc/connect_rate.cc ipc/continuity.cc ipc/doorbell.cc ipc/engine.cc ipc/engine_descriptors.cc ipc/engine_restart.cc ipc/far_receive.cc ipc/handle_store.cc
  ipc/in_flight.cc ipc/listener.cc ipc/method_table.cc ipc/outbox.cc ipc/scope_directory.cc ipc/server.cc ipc/server_restart.cc
  ipc/session.cc ipc/session_requests.cc ipc/session_restart.cc ipc/session_send.cc ipc/socket_path.cc
  ipc/translate_admin.cc ipc/translate_reply.cc ipc/translate_reply_life.cc ipc/translate_reply_share.cc ipc/translate_request.cc
  ipc/translate_request_events.cc ipc/translate_request_export.cc ipc/translate_request_group.cc ipc/translate_request_life.cc
  ipc/translate_request_parts.cc ipc/unanswered.cc)
target_compile_definitions(hb_ipc PRIVATE HIPBROKER_VERSION="${PROJECT_VERSION}")
target_link_libraries(hb_ipc PUBLIC hb_core hb_policy hb_os hb_restart hb_observe Boost::headers PRIVATE hb_proto hb_build)

add_library(hb_app STATIC
  app/administration.cc app/administration_policy.cc app/administration_quotas.cc app/administration_scopes.cc
  app/config_toml.cc app/confinement.cc app/daemon.cc app/fd_need.cc app/heartbeat.cc app/kept_memory.cc app/options.cc app/policy_source.cc app/restart.cc
  app/runtime_state.cc app/socket_rule.cc)
target_link_libraries(hb_app PUBLIC hb_ipc hb_conf hb_policy PRIVATE CLI11::CLI11 hb_build)

if(HIPBROKER_SANITIZE)
  target_compile_definitions(hb_app PUBLIC HIPBROKER_SANITIZED)
endif()

add_executable(hipbrokerd main.cc)
target_link_libraries(hipbrokerd PRIVATE hb_app hb_build)
install(TARGETS hipbrokerd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
