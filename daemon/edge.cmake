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
  os/activation.cc os/capabilities.cc os/closer.cc os/fd_limit.cc os/handle_probe.cc os/id_map.cc os/landlock.cc os/notify.cc
  os/peer_credentials.cc os/process_info.cc os/run_as.cc os/sandbox.cc os/system_calls.cc os/validity_page.cc)
target_include_directories(hb_os PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_os PUBLIC hb_wire Threads::Threads PRIVATE PkgConfig::SYSTEMD PkgConfig::SECCOMP hb_build)

add_library(hb_observe STATIC observe/log.cc)
target_include_directories(hb_observe PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_observe PRIVATE spdlog::spdlog PkgConfig::SYSTEMD hb_build)

add_library(hb_ipc STATIC
  ipc/doorbell.cc ipc/engine.cc ipc/handle_store.cc ipc/listener.cc ipc/method_table.cc ipc/outbox.cc ipc/server.cc
  ipc/session.cc ipc/session_requests.cc ipc/session_send.cc ipc/socket_path.cc
  ipc/translate_reply.cc ipc/translate_reply_life.cc ipc/translate_reply_share.cc ipc/translate_request.cc
  ipc/translate_request_events.cc ipc/translate_request_group.cc ipc/translate_request_life.cc
  ipc/translate_request_parts.cc)
target_compile_definitions(hb_ipc PRIVATE HIPBROKER_VERSION="${PROJECT_VERSION}")
target_link_libraries(hb_ipc PUBLIC hb_core hb_os hb_observe Boost::headers PRIVATE hb_proto hb_build)

add_library(hb_app STATIC app/config_toml.cc app/confinement.cc app/daemon.cc app/fd_need.cc app/options.cc app/socket_rule.cc)
target_include_directories(hb_app SYSTEM PRIVATE ${TOMLPLUSPLUS_INCLUDE})
target_link_libraries(hb_app PUBLIC hb_ipc PRIVATE CLI11::CLI11 hb_build)

if(HIPBROKER_SANITIZE)
  target_compile_definitions(hb_app PUBLIC HIPBROKER_SANITIZED)
endif()

add_executable(hipbrokerd main.cc)
target_link_libraries(hipbrokerd PRIVATE hb_app hb_build)
install(TARGETS hipbrokerd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
