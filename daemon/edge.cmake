# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors

# The edge: I/O around the core.
find_package(Boost 1.81 REQUIRED)
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

add_library(hb_os STATIC
  os/activation.cc os/closer.cc os/fd_limit.cc os/handle_probe.cc os/notify.cc os/peer_credentials.cc
  os/process_info.cc os/unread.cc os/validity_page.cc)
target_include_directories(hb_os PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_os PUBLIC hb_wire Threads::Threads PRIVATE PkgConfig::SYSTEMD hb_build)

add_library(hb_observe STATIC observe/log.cc)
target_include_directories(hb_observe PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hb_observe PRIVATE spdlog::spdlog PkgConfig::SYSTEMD hb_build)

add_library(hb_ipc STATIC
  ipc/connect_rate.cc ipc/doorbell.cc ipc/engine.cc ipc/far_receive.cc ipc/handle_store.cc ipc/in_flight.cc ipc/listener.cc ipc/method_table.cc ipc/outbox.cc ipc/server.cc
  ipc/session.cc ipc/session_requests.cc ipc/session_send.cc ipc/socket_path.cc
  ipc/translate_admin.cc ipc/translate_reply.cc ipc/translate_reply_life.cc ipc/translate_reply_share.cc ipc/translate_request.cc
  ipc/translate_request_events.cc ipc/translate_request_group.cc ipc/translate_request_life.cc
  ipc/translate_request_parts.cc ipc/unanswered.cc)
target_compile_definitions(hb_ipc PRIVATE HIPBROKER_VERSION="${PROJECT_VERSION}")
target_link_libraries(hb_ipc PUBLIC hb_core hb_os hb_observe Boost::headers PRIVATE hb_proto hb_build)

add_library(hb_app STATIC app/config_toml.cc app/daemon.cc app/fd_need.cc app/options.cc app/socket_rule.cc)
target_include_directories(hb_app SYSTEM PRIVATE ${TOMLPLUSPLUS_INCLUDE})
target_link_libraries(hb_app PUBLIC hb_ipc PRIVATE CLI11::CLI11 hb_build)

add_executable(hipbrokerd main.cc)
target_link_libraries(hipbrokerd PRIVATE hb_app hb_build)
install(TARGETS hipbrokerd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
