# The client's codec: a library of its own, so that the conformance test and the fuzzer link it without the
# rest of the client.
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
find_path(PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
add_library(hb_client_codec STATIC ${CMAKE_CURRENT_LIST_DIR}/src/messages.cc)
target_include_directories(hb_client_codec PUBLIC ${CMAKE_CURRENT_LIST_DIR}/src)
target_include_directories(hb_client_codec SYSTEM PRIVATE ${PROTOZERO_INCLUDE})
target_link_libraries(hb_client_codec PUBLIC hb_wire PRIVATE hb_build)
