# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors

# GPU memory through HIP: part of the client library, and the helper executable that tries the runtime out.
# No ROCm is needed: the runtime is found when a program asks for GPU memory.
set(hb_hip_sources access allocation classify device driver event external foreign foreign_pointer helper_path helper_process imported_range
  issues loaded_objects look mapped_range owned_handle peers probe probe_cache provider quirks runtime topology verdict vmm)
list(TRANSFORM hb_hip_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/src/providers/hip/)
list(TRANSFORM hb_hip_sources APPEND .cc)
target_sources(hb_client PRIVATE ${hb_hip_sources})
target_link_libraries(hb_client PUBLIC ${CMAKE_DL_LIBS})
file(RELATIVE_PATH hb_lib_to_probe ${CMAKE_INSTALL_FULL_LIBDIR}
  ${CMAKE_INSTALL_FULL_LIBEXECDIR}/hipbroker/hipbroker-probe)
target_compile_definitions(hb_client PRIVATE HIPBROKER_LIB_TO_PROBE="${hb_lib_to_probe}"
  HIPBROKER_PROBE_HELPER="${CMAKE_INSTALL_FULL_LIBEXECDIR}/hipbroker/hipbroker-probe")

add_executable(hipbroker-probe ${CMAKE_CURRENT_LIST_DIR}/probe/main.cc ${CMAKE_CURRENT_LIST_DIR}/probe/copy.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe/peers.cc ${CMAKE_CURRENT_LIST_DIR}/probe/report.cc ${CMAKE_CURRENT_LIST_DIR}/probe/trial.cc)
target_include_directories(hipbroker-probe PRIVATE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(hipbroker-probe PRIVATE hb_client hb_build)
install(TARGETS hipbroker-probe RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hipbroker COMPONENT runtime)
