# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors

# GPU memory through HIP: part of the client library, and the helper executable that tries the runtime out.
# No ROCm is needed: the runtime is found when a program asks for GPU memory.
set(hb_hip_sources access device driver loaded_objects mapped_range quirks runtime topology vmm)
list(TRANSFORM hb_hip_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/src/providers/hip/)
list(TRANSFORM hb_hip_sources APPEND .cc)
target_sources(hb_client PRIVATE ${hb_hip_sources})
target_link_libraries(hb_client PUBLIC ${CMAKE_DL_LIBS})
